// Timings: when a schedule is due, by cron expressions in a time zone, at an even interval, or by several of these. A
// timing is data, and its slots are the same in every process.

import { assert, PawlError } from '../../core/base/assert.ts'
import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import { type Duration, milliseconds } from '../../core/base/time.ts'
import { type Cron, parseCron } from './cron.ts'
import { nextSlot } from './cron-slots.ts'
import { zoneOf } from './zone.ts'

/**
 * When a schedule is due: by a cron expression with five fields (minute, hour, day of month, month, day of week), or at
 * an interval. Several expressions are due whenever one of them is. The time zone is an IANA name; default `'UTC'`.
 * `every` counts from 1970-01-01T00:00Z, plus the offset.
 *
 * ```ts
 * { cron: '30 9 * * MON-FRI', timeZone: 'Europe/Berlin' }
 * { every: '15m' }
 * ```
 */
export type OneTiming =
  | { readonly cron: string | readonly string[]; readonly timeZone?: string }
  | { readonly every: Duration; readonly offset?: Duration }

/** One timing, or several, which are due whenever one of them is, and once where they coincide. */
export type Timing = OneTiming | { readonly timings: readonly OneTiming[] }

export interface Slots {
  /** The first slot after this instant; undefined if there is none, as with 30 February. */
  next(after: Instant): Instant | undefined
}

/** The slots of a timing. Throws INPUT_INVALID if the timing is wrong. */
export function timingOf(timing: Timing): Slots {
  const { timings, ...others }: Given = isObject(timing) ? timing : {}
  if (timings === undefined) return oneTimingOf(timing)
  const other = Object.keys(others).find((name) => others[name] !== undefined)
  if (other !== undefined) throw refusal(`'${other}' is beside timings; move it into one of them`)
  if (!Array.isArray(timings) || timings.length === 0 || timings.length > limits.timingsMax) {
    const has = Array.isArray(timings) ? `a list of ${timings.length}` : show(timings)
    throw refusal(`timings is ${has}; expected a list of 1 to ${limits.timingsMax} timings`)
  }
  const all = timings.map((each, index) => oneTimingOf(each, `timings[${index}].`))
  return slotsFrom((after) => earliest(all.map((each) => each.next(after))))
}

function oneTimingOf(timing: unknown, place = ''): Slots {
  const given = fieldsOf(timing, place)
  const kind = given['cron'] === undefined ? 'every' : 'cron'
  const [known, other] = settings[kind]
  for (const name of Object.keys(given)) {
    if (name === known || name === other || given[name] === undefined) continue
    if (name === 'every') throw refusal(`${place}cron and every are both given; use timings: [{ cron }, { every }]`)
    throw refusal(`'${place}${name}' is not known; expected only ${known} and ${other}. Remove it`)
  }
  return kind === 'cron' ? cronSlots(given, place) : everySlots(given, place)
}

/** The first `limit` slots in (from, to], and whether there are more. */
export function slotsBetween(
  slots: Slots,
  from: Instant,
  to: Instant,
  limit: number,
): { readonly slots: readonly Instant[]; readonly more: boolean } {
  const found: Instant[] = []
  let next = slots.next(from)
  while (next !== undefined && next <= to) {
    if (found.length >= limit) return { slots: found, more: true }
    found.push(next)
    next = slots.next(next)
  }
  return { slots: found, more: false }
}

const settings = { cron: ['cron', 'timeZone'], every: ['every', 'offset'] } as const

type Given = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Given => typeof value === 'object' && value !== null

function fieldsOf(timing: unknown, place: string): Given {
  // Only own properties, because an array inherits `every`.
  const given: Given = isObject(timing) ? { ...timing } : {}
  if (given['cron'] !== undefined || given['every'] !== undefined) return given
  const has = place === '' ? show(timing) : `${place.slice(0, -1)} ${show(timing)}`
  throw refusal(`${has} has neither cron nor every; expected one of them`)
}

function cronSlots({ cron, timeZone = 'UTC' }: Given, place: string): Slots {
  const crons = cronsOf(cron, `${place}cron`)
  const zone = typeof timeZone === 'string' ? zoneOf(timeZone) : undefined
  if (zone === undefined) {
    throw refusal(
      `${place}timeZone ${show(timeZone)} is not known; expected an IANA name such as 'Europe/Berlin' or 'UTC'`,
    )
  }
  return slotsFrom((after) => {
    return earliest(crons.map((each) => nextSlot(each, zone, after)))
  })
}

function cronsOf(cron: unknown, what: string): readonly Cron[] {
  if (!Array.isArray(cron)) return [cronOf(cron, what)]
  if (cron.length === 0) throw refusal(`${what} is an empty list; expected at least one expression`)
  if (cron.length > limits.cronExpressionsMax) {
    throw refusal(`${what} has ${cron.length} expressions; expected at most ${limits.cronExpressionsMax}`)
  }
  return cron.map((each, index) => cronOf(each, `${what}[${index}]`))
}

function cronOf(text: unknown, what: string): Cron {
  if (typeof text !== 'string') {
    throw refusal(`${what} is ${show(text)}; expected text such as '30 9 * * MON-FRI' or '@daily'`)
  }
  const long = text.length > limits.cronLengthMax
  const cron = long ? `it has ${text.length} characters; expected at most ${limits.cronLengthMax}` : parseCron(text)
  if (typeof cron === 'string') throw refusal(`${what} ${show(text)} cannot be read: ${cron}`)
  return cron
}

function everySlots({ every, offset = 0 }: Given, place: string): Slots {
  if (Array.isArray(every)) throw refusal(`${place}every is a list; for several intervals, use timings: [{ every }, …]`)
  const everyMs = milliseconds(every as Duration, `${place}every`)
  if (everyMs < limits.everyMsMin) {
    throw refusal(`${place}every is ${everyMs} ms; expected at least ${limits.everyMsMin} ms`)
  }
  const offsetMs = milliseconds(offset as Duration, `${place}offset`) % everyMs
  return slotsFrom((after) => (Math.floor((after - offsetMs) / everyMs) + 1) * everyMs + offsetMs)
}

/** The end of the year 9999: many parsers of dates cannot read five-digit years. */
const instantMax = 253_402_300_799_999

/** Slots are whole milliseconds, so `after` can be rounded down. */
function slotsFrom(find: (after: Instant) => Instant | undefined): Slots {
  return {
    next: (after) => {
      assert(Math.abs(after) <= instantMax, `${after} is an instant`)
      const slot = find(Math.floor(after))
      return slot === undefined || slot > instantMax ? undefined : slot
    },
  }
}

function earliest(instants: readonly (Instant | undefined)[]): Instant | undefined {
  const known = instants.filter((each) => each !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

function refusal(problem: string): PawlError {
  return new PawlError('INPUT_INVALID', `invalid timing: ${problem}.`)
}

function show(given: unknown): string {
  if (typeof given === 'string') {
    return JSON.stringify(given.length > 100 ? `${given.slice(0, 100)}…` : given)
  }
  return typeof given === 'number' || given == null ? String(given) : `(${typeof given})`
}
