// The language of the filter bar: `status:failed,paused attr.cents:>=10000 started:<24h order-1*`. What the store cannot
// answer is refused at its part, with the reason, and never answered half.
import type { RunFilter } from 'pawl/client'

/** One part of a query, as it was written. */
export interface Part {
  readonly text: string
  readonly key: string
  readonly value: string
  readonly isNot: boolean
}

export interface Read {
  readonly filter: RunFilter
  /** What is wrong with a part, by its text. */
  readonly problems: ReadonlyMap<string, string>
}

export const STATUSES = [
  'pending',
  'running',
  'waiting',
  'paused',
  'compensating',
  'completed',
  'failed',
  'cancelled',
  'moved',
]
export const KEYS = ['status', 'workflow', 'id', 'why', 'started', 'failure', 'build', 'parent', 'attr.'] as const

export function partsOf(query: string): readonly Part[] {
  const words = query.match(/(?:"[^"]*"?|[^\s"])+/g) ?? []
  return words.map((text) => {
    const isNot = text.startsWith('-') && text.length > 1
    const word = isNot ? text.slice(1) : text
    const at = word.startsWith('"') ? -1 : word.indexOf(':')
    return at < 1
      ? { text, key: 'id', value: word, isNot }
      : { text, key: word.slice(0, at), value: word.slice(at + 1), isNot }
  })
}

export function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => text).join(' ')
}

/** The filter of a query. Ages count from `now`. */
export function readQuery(query: string, now: number): Read {
  const problems = new Map<string, string>()
  let filter: RunFilter = {}
  for (const part of partsOf(query)) {
    const read = readPart(part, filter, now)
    if (typeof read === 'string') problems.set(part.text, read)
    else filter = { ...filter, ...read }
  }
  return { filter, problems }
}

type OfPart = (value: string, before: RunFilter, now: number, isBare: boolean) => RunFilter | string

const readers: Readonly<Record<string, OfPart>> = {
  status: (value) => {
    const statuses = valuesOf(value) as RunFilter['status'] & string[]
    const unknown = statuses.find((each) => !STATUSES.includes(each))
    return unknown === undefined ? { status: statuses } : `'${unknown}' is no status; use ${STATUSES.join(', ')}`
  },
  workflow: (value) => (isPrefix(value) ? 'a workflow is named whole' : { workflow: valuesOf(value) }),
  id: (value, _, __, isBare) => {
    const id = plain(value)
    if (id.endsWith('*')) return { workflowIdPrefix: id.slice(0, -1) }
    return isBare ? { workflowIdPrefix: id } : { workflowId: id }
  },
  why: (value) => ({ waitingFor: plain(value) }),
  failure: (value) => ({ failure: plain(value) }),
  build: (value) => ({ build: plain(value) }),
  parent: (value) => ({ parentRunId: plain(value) }),
  started: (value, before, now) => startedOf(value, before, now),
}

function readPart(part: Part, before: RunFilter, now: number): RunFilter | string {
  const { key, value, isNot, text } = part
  if (isNot) return 'the store has no index for "not": name what you want instead'
  if (value === '') return `${key}: has no value`
  if (key.startsWith('attr.') && key.length > 5) return attributeOf(key.slice(5), value, before)
  const reader = readers[key]
  if (reader === undefined) return `'${key}' is no key; use ${KEYS.join(', ')}`
  return reader(value, before, now, !text.includes(':'))
}

function plain(value: string): string {
  return value.replace(/^"(.*?)"?$/, '$1')
}

function valuesOf(value: string): string[] {
  return value
    .split(',')
    .map(plain)
    .filter((each) => each !== '')
}

function isPrefix(value: string): boolean {
  return value.endsWith('*')
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** A time, or an age: `24h` is the time one day ago. */
function timeOf(text: string, now: number): { readonly at: Date; readonly isAge: boolean } | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(text) ?? []
  if (amount !== undefined) return { at: new Date(now - Number(amount) * (UNITS[unit] ?? 0)), isAge: true }
  const at = new Date(text)
  return /^\d{4}-/.test(text) && !Number.isNaN(at.getTime()) ? { at, isAge: false } : undefined
}

function startedOf(value: string, before: RunFilter, now: number): RunFilter | string {
  const expected = 'use <24h, >7d, a date such as >2026-01-31, or a span such as 2026-01-01..2026-02-01'
  const span = value.split('..')
  if (span.length === 2) {
    const [from, to] = span.map((each) => timeOf(each, now))
    return from && to ? { startedAfter: from.at, startedBefore: to.at } : expected
  }
  const [, sign, rest = ''] = /^([<>])=?(.+)$/.exec(value) ?? []
  const time = timeOf(rest, now)
  if (sign === undefined || !time) return expected
  // `<24h` is younger, so later; `<2026-01-31` is earlier.
  const isAfter = (sign === '>') !== time.isAge
  return isAfter ? { ...before, startedAfter: time.at } : { ...before, startedBefore: time.at }
}

type Scalar = string | number | boolean | Date

function scalarOf(text: string): Scalar {
  if (/^".*"$/.test(text)) return text.slice(1, -1)
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text)
  if (text === 'true' || text === 'false') return text === 'true'
  return /^\d{4}-\d{2}-\d{2}T/.test(text) ? new Date(text) : text
}

const BOUNDS: Readonly<Record<string, string>> = { '>': 'gt', '>=': 'gte', '<': 'lt', '<=': 'lte' }

function attributeOf(name: string, value: string, before: RunFilter): RunFilter | string {
  if (isPrefix(value)) return 'attributes are compared whole'
  const span = value.split('..')
  const [, sign, rest = ''] = /^([<>]=?)(.+)$/.exec(value) ?? []
  const [low = '', high = ''] = span
  const known = before.attributes?.[name]
  const bounds = typeof known === 'object' && !(known instanceof Date) ? known : {}
  const compare =
    span.length === 2
      ? { gte: scalarOf(low), lte: scalarOf(high) }
      : sign === undefined
        ? scalarOf(value)
        : { ...bounds, [BOUNDS[sign] ?? 'gte']: scalarOf(rest) }
  return { attributes: { ...before.attributes, [name]: compare } }
}
