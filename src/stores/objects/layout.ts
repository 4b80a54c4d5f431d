// The keys of all objects in the bucket. Numbers are padded, so that keys sort in the order of their numbers.

import { deriveUuid } from '../../core/base/digest.ts'
import { limits } from '../../core/base/limits.ts'
import type { Bucket, Listing } from './bucket.ts'

const DIGITS = 12

/** Tells people what this prefix is, and tells pawl that the bucket passed the probe. */
export const ABOUT = 'pawl.json'
export const LOG = 'log/'
export const SNAPSHOTS = 'snapshots/'
export const PARTS = 'parts/'
export const ENDED = 'ended/'
export const RUNS = 'runs/'
export const NAMES = 'names/'

export function logKey(n: number): string {
  return `${LOG}${padded(n)}.jsonl`
}

export function snapshotKey(n: number): string {
  return `${SNAPSHOTS}${padded(n)}.jsonl`
}

export function partKey(n: number, index: number, writer: string): string {
  return `${PARTS}${padded(n)}-${writer}-${index}.jsonl`
}

/** Returns the number in the key of a log object or of a snapshot. */
export function numberIn(key: string): number {
  return Number(/(\d+)\.jsonl$/.exec(key)?.[1] ?? Number.NaN)
}

export function segmentKey(from: number, to: number, writer: string): string {
  return `${ENDED}${padded(from)}-${padded(to)}-${writer}.jsonl`
}

export function runKey(runId: string, rest: string): string {
  return `${RUNS}${keySegment(runId)}/${rest}`
}

export function stepKey(runId: string, step: string): string {
  return runKey(runId, `steps/${keySegment(step)}.json`)
}

export function nameKey(workflowId: string): string {
  return `${NAMES}${keySegment(workflowId)}.json`
}

const LENGTH_MAX = 200

/**
 * Encodes any text as one segment of a key. Different texts give different segments, and no segment leaves its folder.
 * A long text is cut and ends in `~` and a digest; no other segment has a `~` behind its first character. The escape
 * character is a full stop, because URLs decode %.
 */
export function keySegment(text: string): string {
  const safe = [...Buffer.from(text, 'utf8')].map(encoded).join('') || '~'
  return safe.length <= LENGTH_MAX ? safe : `${safe.slice(0, LENGTH_MAX / 2)}~${deriveUuid(text)}`
}

function encoded(byte: number): string {
  const character = String.fromCharCode(byte)
  if (/[A-Za-z0-9_-]/.test(character)) return character
  return `.${byte.toString(16).toUpperCase().padStart(2, '0')}`
}

function padded(n: number): string {
  return String(n).padStart(DIGITS, '0')
}

// Lists of any length, page by page.

/** Yields the pages of all objects whose keys begin with `prefix` and come after the key `after`. */
export async function* pages(bucket: Bucket, prefix: string, after?: string): AsyncGenerator<readonly Listing[]> {
  for (let last = after; ; ) {
    const page = await bucket.list(prefix, last === undefined ? {} : { after: last })
    if (page.length > 0) yield page
    if (page.length < limits.objectListPage) return
    last = page.at(-1)?.key
  }
}

export async function listAll(bucket: Bucket, prefix: string): Promise<Listing[]> {
  const found: Listing[] = []
  for await (const page of pages(bucket, prefix)) found.push(...page)
  return found
}
