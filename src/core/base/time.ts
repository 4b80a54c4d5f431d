// Durations and points in time: parsed as users write them, and formatted for people. Durations have no years and
// months, because their length depends on the date. The parser reads each character once.

import { PawlError } from './assert.ts'
import { limits } from './limits.ts'

type Unit = 'ms' | 's' | 'm' | 'h' | 'd' | 'w'

/**
 * A duration: milliseconds as a number, a number and a unit (`'250ms'`, `'10s'`, `'1.5h'`, `'2d'`, `'1w'`; `m` is
 * minutes), or ISO 8601 without years and months (`'PT1H30M'`, `'P2DT6H'`). Fractions of a millisecond are rounded up.
 */
export type Duration = number | `${number}${Unit}` | `PT${string}` | `P${number}${'D' | 'W'}` | `P${number}DT${string}`

/** The duration in whole milliseconds, rounded up. `what` names the duration in the error. */
export function milliseconds(duration: Duration, what = 'duration'): number {
  const ms = typeof duration === 'number' ? ofNumber(duration) : ofText(duration)
  if (typeof ms === 'string') throw refusal(duration, what, ms)
  if (ms > limits.durationMsMax) {
    const days = Math.floor(limits.durationMsMax / day)
    throw refusal(duration, what, `it is longer than ${days} days`)
  }
  return ms
}

/** The same for a duration that may be absent. */
export function optionalMs(duration: Duration | undefined, what: string): number | undefined {
  return duration === undefined ? undefined : milliseconds(duration, what)
}

/** A duration for people: '250 ms', '1.5 s', '10 min', '2 d'. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return `${ms} ms`
  if (ms < 0) return `-${formatDuration(-ms)}`
  for (const [size, name, end] of readable) {
    const amount = Math.round((ms / size) * 10) / 10
    if (amount < end) return `${amount} ${name}`
  }
  return `${Math.round(ms / day)} d`
}

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour
const week = 7 * day

const readable = [
  [1, 'ms', 1000],
  [second, 's', 60],
  [minute, 'min', 60],
  [hour, 'h', 24],
  [day, 'd', 100],
] as const

const units = new Map([
  ['ms', 1],
  ['s', second],
  ['m', minute],
  ['h', hour],
  ['d', day],
  ['w', week],
])

/** The milliseconds, or what is wrong with the duration. */
type Parsed = number | string

function ofNumber(ms: number): Parsed {
  if (!Number.isFinite(ms)) return 'it is not a finite number'
  if (ms < 0) return 'it is negative'
  return Math.ceil(ms) + 0 // + 0 turns -0 into 0
}

function ofText(text: unknown): Parsed {
  if (typeof text !== 'string') return 'it is neither a number nor a string'
  if (text === '') return 'it is empty'
  if (text.length > lengthMax) return `it has ${text.length} characters`
  if (text.startsWith('-') || text.startsWith('+')) return 'it has a sign'
  return text.startsWith('P') ? ofIso(text) : ofShort(text)
}

// No valid duration is longer, and the limit bounds the work of the parser.
const lengthMax = 64

function ofShort(text: string): Parsed {
  const end = amountEnd(text, 0)
  if (end === 0) return 'it does not begin with a number'
  const unit = text.slice(end)
  if (unit === '') return 'it has no unit'
  const size = units.get(unit)
  if (size !== undefined) return times(text.slice(0, end), size)
  return units.has(unit.trim()) ? 'it has a space in it' : `unknown unit '${unit.trim()}'`
}

const dateParts = [['D', day]] as const
const weekParts = [['W', week]] as const
const timeParts = [
  ['H', hour],
  ['M', minute],
  ['S', second],
] as const

function ofIso(text: string): Parsed {
  const [date = '', time, ...more] = text.slice(1).split('T')
  if (more.length > 0) return "it has more than one 'T'"
  if (date === '' && time === undefined) return 'it is empty'
  if (time === '') return "nothing follows its 'T'"
  if (date.endsWith('W') && time !== undefined) return 'weeks cannot be combined with a time'
  if (time !== undefined && date.includes('.')) return 'only its last number may have a fraction'
  const dateMs = ofParts(date, date.endsWith('W') ? weekParts : dateParts)
  if (typeof dateMs === 'string') return dateMs
  const timeMs = ofParts(time ?? '', timeParts)
  return typeof timeMs === 'string' ? timeMs : dateMs + timeMs
}

function ofParts(text: string, parts: readonly (readonly [string, number])[]): Parsed {
  let total = 0
  let at = 0
  let next = 0
  while (at < text.length) {
    const end = amountEnd(text, at)
    if (end === at) return `a number is missing before '${text.slice(at, at + 1)}'`
    const letter = text.charAt(end)
    const found = parts.findIndex(([unit], index) => index >= next && unit === letter)
    const size = parts[found]?.[1]
    if (size === undefined) return isoProblem(letter, parts === timeParts)
    if (end + 1 < text.length && text.slice(at, end).includes('.')) {
      return 'only its last number may have a fraction'
    }
    total += times(text.slice(at, end), size)
    at = end + 1
    next = found + 1
  }
  return total
}

function isoProblem(letter: string, inTime: boolean): string {
  if (letter === '') return 'its last number has no unit'
  if (letter === 'Y') return 'years differ in length'
  if (letter === 'M' && !inTime) return "months differ in length (minutes follow a 'T')"
  return `'${letter}' is unknown or out of place`
}

/** The end of the number that begins at `start`: digits, perhaps a point and more digits. */
function amountEnd(text: string, start: number): number {
  const whole = digitsEnd(text, start)
  if (whole === start || text.charAt(whole) !== '.') return whole
  const fraction = digitsEnd(text, whole + 1)
  return fraction === whole + 1 ? whole : fraction
}

function digitsEnd(text: string, start: number): number {
  let at = start
  while (isDigit(text.charCodeAt(at))) at++
  return at
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57
}

// In integers, because in floating point 0.07 minutes are 4200.000000000001 ms, which would round up to 4201.
function times(amount: string, size: number): number {
  const [whole = '', fraction] = amount.split('.')
  const ms = Number(whole) * size
  if (fraction === undefined) return ms
  const scale = 10n ** BigInt(fraction.length)
  return ms + Number((BigInt(fraction) * BigInt(size) + scale - 1n) / scale)
}

function refusal(given: unknown, what: string, problem: string): PawlError {
  const expected = "milliseconds, or text such as '10m', '1.5h', 'PT1H30M', 'P2DT6H' or 'P2W'"
  const message = `invalid ${what} ${show(given)}: ${problem}; expected ${expected}.`
  return new PawlError('INPUT_INVALID', message)
}

function show(given: unknown): string {
  if (typeof given === 'string') {
    return JSON.stringify(given.length > 40 ? `${given.slice(0, 40)}…` : given)
  }
  return typeof given === 'number' || given == null ? String(given) : `(${typeof given})`
}

// Points in time, as users pass them to pawl.

/** Milliseconds since 1970 on the store's clock. */
export type Instant = number

/** The last instant that a Date can hold; the first is its negative. */
const INSTANT_MAX = 8_640_000_000_000_000

/** The time in whole milliseconds, rounded up. `what` names the time in the error. */
export function instantOf(time: Date | number, what: string): Instant {
  const ms = Math.ceil(Number(time)) + 0 // + 0 turns -0 into 0
  if (Math.abs(ms) <= INSTANT_MAX) return ms
  const problem = typeof time === 'number' ? time : 'not a valid Date'
  const expected = `a Date, or milliseconds since 1970 that a Date can hold (at most ${INSTANT_MAX})`
  throw new PawlError('INPUT_INVALID', `${what} is ${problem}; expected ${expected}.`)
}

/** A time that never comes: the last instant a Date can hold, so that it sorts after all others. */
export const NEVER = INSTANT_MAX
