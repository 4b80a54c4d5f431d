// Clocks that are changed, and a second opinion on random expressions: a cron that looks at every
// minute, as the real ones do.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Instant } from '../../core/base/time.ts'
import { slotsBetween, timingOf } from './timing.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** The slots of some hours after an instant in UTC, as 'day hour:minute' in UTC. */
function due(cron: string, timeZone: string, from: string, hours: number): string[] {
  const start = Date.parse(`${from}:00Z`)
  const end = start + hours * hourMs
  const { slots } = slotsBetween(timingOf({ cron, timeZone }), start, end, 2_000)
  return slots.map((slot) => new Date(slot).toISOString().slice(8, 16).replace('T', ' '))
}

/** Each hour and half hour. */
function halves(...hours: string[]): string[] {
  return hours.flatMap((hour) => [`${hour}:00`, `${hour}:30`])
}

describe('T3: Europe/Berlin, 30 March 2025, 02:00 becomes 03:00 at 01:00 UTC', () => {
  test.each<[string, string[]]>([
    ['30 2 * * *', ['30 01:00']],
    ['0 2 * * *', ['30 01:00']],
    ['59 1 * * *', ['30 00:59']],
    ['0 3 * * *', ['30 01:00']],
    ['30 3 * * *', ['30 01:30']],
    // What is left out is due once, however much it is, and also if something is due then anyway.
    ['0,15,30 2 * * *', ['30 01:00']],
    ['0-59 2 * * *', ['30 01:00']],
    ['0,30 2-3 * * *', ['30 01:00', '30 01:30']],
    ['30 1-3 * * *', ['30 00:30', '30 01:00', '30 01:30']],
    ['15 2,4 * * *', ['30 01:00', '30 02:15']],
    ['30 2 30 3 *', ['30 01:00']],
    ['30 2 31 3 *', []],
    // Intervals follow the clock.
    ['30 * * * *', ['29 23:30', '30 00:30', '30 01:30', '30 02:30']],
    ['*/30 1-3 * * *', halves('30 00', '30 01')],
    ['*/15 2 * * *', []],
    ['0 */2 * * *', ['30 02:00']],
  ])('%s', (cron, expected) => {
    expect(due(cron, 'Europe/Berlin', '2025-03-29T23:00', 4)).toEqual(expected)
  })
})

describe('T3: Europe/Berlin, 26 October 2025, 03:00 becomes 02:00 at 01:00 UTC', () => {
  test.each<[string, string[]]>([
    ['30 2 * * *', ['26 00:30']],
    ['0 2 * * *', ['26 00:00']],
    ['59 2 * * *', ['26 00:59']],
    ['0 3 * * *', ['26 02:00']],
    ['15,45 2 * * *', ['26 00:15', '26 00:45']],
    ['30 1-3 * * *', ['25 23:30', '26 00:30', '26 02:30']],
    ['*/30 2 * * *', halves('26 00', '26 01')],
    ['*/30 1-3 * * *', halves('25 23', '26 00', '26 01', '26 02')],
    ['0 */2 * * *', ['25 22:00', '26 00:00', '26 01:00']],
    // The next after the first 02:30 is near, although the next by the clock is a year away.
    ['*/30 2 26 10 *', halves('26 00', '26 01')],
    ['45 * 26 10 *', ['25 22:45', '25 23:45', '26 00:45', '26 01:45', '26 02:45']],
  ])('%s', (cron, expected) => {
    expect(due(cron, 'Europe/Berlin', '2025-10-25T21:59', 5)).toEqual(expected)
  })

  test('every 15 minutes stays so', () => {
    const from = Date.UTC(2025, 9, 25, 20)
    const slots = timingOf({ cron: '*/15 * * * *', timeZone: 'Europe/Berlin' })
    const found = slotsBetween(slots, from, from + dayMs, 1_000).slots
    expect(found).toEqual(Array.from({ length: 96 }, (_, n) => from + (n + 1) * 15 * minuteMs))
  })

  test.each([0, 1, 59, 60, 90, 119, 120])('asked %d minutes after 02:00, 02:30 comes once', (later) => {
    const slots = timingOf({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' })
    const after = Date.UTC(2025, 9, 26, 0, later)
    const expected = later < 30 ? Date.UTC(2025, 9, 26, 0, 30) : Date.UTC(2025, 9, 27, 1, 30)
    expect(slots.next(after)).toBe(expected)
  })
})

describe('T3: other zones', () => {
  test.each<[string, string, string, string[]]>([
    // 9 March 2025, 02:00 becomes 03:00 at 07:00 UTC; 2 November, 02:00 becomes 01:00 at 06:00 UTC.
    ['30 2 * * *', 'America/New_York', '2025-03-09T00:00', ['09 07:00']],
    ['30 1 * * *', 'America/New_York', '2025-11-02T00:00', ['02 05:30']],
    ['30 0-2 * * *', 'America/New_York', '2025-11-02T00:00', ['02 04:30', '02 05:30', '02 07:30']],
    ['*/30 1 * * *', 'America/New_York', '2025-11-02T00:00', halves('02 05', '02 06')],
    // 5 October 2025, 02:00 becomes 02:30 at 15:30 UTC; 6 April, 02:00 becomes 01:30 at 15:00 UTC.
    ['15 2 * * *', 'Australia/Lord_Howe', '2025-10-04T10:00', ['04 15:30']],
    ['0,30 2 * * *', 'Australia/Lord_Howe', '2025-10-04T10:00', ['04 15:30']],
    ['45 2 * * *', 'Australia/Lord_Howe', '2025-10-04T10:00', ['04 15:45']],
    ['*/15 2 * * *', 'Australia/Lord_Howe', '2025-10-04T10:00', ['04 15:30', '04 15:45']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2025-04-05T10:00', ['05 14:45']],
    ['0 2 * * *', 'Australia/Lord_Howe', '2025-04-05T10:00', ['05 15:30']],
    ['*/30 1 * * *', 'Australia/Lord_Howe', '2025-04-05T10:00', ['05 14:00', '05 14:30', '05 15:00']],
    // 5 hours and 45 minutes, all the year.
    ['0 0 * * *', 'Asia/Kathmandu', '2025-03-30T00:00', ['30 18:15']],
    ['15 */8 * * *', 'Asia/Kathmandu', '2025-03-30T00:00', ['30 02:30', '30 10:30', '30 18:30']],
    // Midnight itself is left out, at 04:00 UTC.
    ['0 0 * * *', 'America/Santiago', '2025-09-06T12:00', ['07 04:00']],
    // 30 December 2011 was left out whole; what was due on it is due when it is over.
    ['0 9 * * *', 'Pacific/Apia', '2011-12-30T00:00', ['30 10:00', '30 19:00']],
    ['0 9 30 12 *', 'Pacific/Apia', '2011-12-30T00:00', ['30 10:00']],
    // -44:30 until 7 January 1972.
    ['0 12 * * *', 'Africa/Monrovia', '1971-06-01T00:00', ['01 12:44']],
    ['0 12 * * *', '+02:00', '2025-01-01T00:00', ['01 10:00']],
    ['0 12 * * *', 'europe/berlin', '2025-01-01T00:00', ['01 11:00']],
  ])('%s in %s after %s', (cron, timeZone, from, expected) => {
    expect(due(cron, timeZone, from, 24)).toEqual(expected)
  })

  test.each([
    ['0 9 31 7 *', 'Europe/Berlin', '2025-01-01T00:00Z', '2025-07-31T07:00Z'],
    ['0 9 31 1 *', 'Europe/Berlin', '2025-07-01T00:00Z', '2026-01-31T08:00Z'],
    ['*/5 9 31 7 *', 'America/New_York', '2025-01-01T00:00Z', '2025-07-31T13:00Z'],
    ['*/5 9 31 1 *', 'America/New_York', '2025-07-01T00:00Z', '2026-01-31T14:00Z'],
    // On the days of the changes themselves.
    ['30 2 30 3 *', 'Europe/Berlin', '2024-08-01T00:00Z', '2025-03-30T01:00Z'],
    ['30 2 26 10 *', 'Europe/Berlin', '2025-01-01T00:00Z', '2025-10-26T00:30Z'],
    ['*/5 2 26 10 *', 'Europe/Berlin', '2025-01-01T00:00Z', '2025-10-26T00:00Z'],
    ['0 9 31 12 *', 'Pacific/Apia', '2011-06-01T00:00Z', '2011-12-30T19:00Z'],
  ])('%s in %s, with changes on the way there', (cron, timeZone, after, expected) => {
    expect(timingOf({ cron, timeZone }).next(Date.parse(after))).toBe(Date.parse(expected))
  })

  test('more zones than are kept', () => {
    for (const timeZone of Intl.supportedValuesOf('timeZone')) {
      expect(timingOf({ cron: '* * * * *', timeZone }).next(Date.UTC(2025, 0, 1))).toBeDefined()
    }
  })
})

interface Expression {
  readonly text: string
  readonly fields: readonly Field[]
}
interface Field {
  readonly text: string
  readonly star: boolean
  readonly values: ReadonlySet<number>
}

describe('T3: random expressions', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu']
  const moreZones = [...zones, 'Africa/Casablanca', 'Asia/Beirut', 'America/Havana', 'Pacific/Apia']
  // Around changes of these clocks, and anywhere.
  const changes = ['2025-03-30', '2025-10-26', '2025-03-09', '2025-11-02', '2025-10-05', '2025-04-06']
  const starts = fc.oneof(
    fc.tuple(fc.constantFrom(...changes), fc.integer({ min: -2_160, max: 720 })),
    fc.tuple(fc.constantFrom('2011-12-30', '2028-02-29'), fc.integer({ min: -2_160, max: 720 })),
    fc.tuple(fc.constant('2020-01-01'), fc.integer({ min: 0, max: 10 * 366 * 1_440 })),
  )
  const windows = starts.map(([date, minutes]) => Date.parse(date) + minutes * minuteMs)

  test('no slot too many and none too few', () => {
    fc.assert(
      fc.property(expressions(), fc.constantFrom(...moreZones), windows, (each, timeZone, from) => {
        const slots = timingOf({ cron: each.text, timeZone })
        const to = from + dayMs
        expect(slotsBetween(slots, from, to, 5_000).slots).toEqual(naive(each, timeZone, from, to))
      }),
      { numRuns: 150 },
    )
  })

  test('the next slot is later, and the same from anywhere before it', () => {
    const fractions = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(
        expressions(),
        fc.constantFrom(...moreZones),
        windows,
        fractions,
        (each, timeZone, from, fraction) => {
          const slots = timingOf({ cron: each.text, timeZone })
          const next = slots.next(from)
          if (next === undefined) return
          expect(next).toBeGreaterThan(from)
          expect(slots.next(from + Math.floor((next - from) * fraction))).toBe(next)
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test('several together are the union of each', () => {
    const several = fc.array(expressions(), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(several, fc.constantFrom(...zones), windows, (each, timeZone, from) => {
        const texts = each.map(({ text }) => text)
        const between = (cron: string | string[]): readonly Instant[] =>
          slotsBetween(timingOf({ cron, timeZone }), from, from + dayMs / 4, 5_000).slots
        const union = new Set(texts.flatMap((text) => between(text)))
        expect(between(texts)).toEqual([...union].toSorted((a, b) => a - b))
      }),
      { numRuns: 100 },
    )
  })

  test('every: multiples of the interval, and none is missed', () => {
    const sizes = fc.integer({ min: 1_000, max: 40 * dayMs })
    const anyInstant = fc.integer({ min: -1e12, max: 1e13 })
    fc.assert(
      fc.property(sizes, fc.nat(100 * dayMs), anyInstant, (every, offset, after) => {
        const next = timingOf({ every, offset }).next(after) ?? Number.NaN
        expect(next).toBeGreaterThan(after)
        expect(next - every).toBeLessThanOrEqual(after)
        expect(Math.abs((next - offset) % every)).toBe(0)
      }),
    )
  })
})

/** Half of them about the hours in which clocks are changed, and most on any day. */
function expressions(): fc.Arbitrary<Expression> {
  const minutes = field({ low: 0, high: 59, size: 60, stars: 1 })
  const hours = field({ low: 0, high: 23, size: 24, stars: 1 })
  const changes = list(0, 3, 24)
  const days = field({ low: 1, high: 31, size: 31, stars: 4 })
  const months = field({ low: 1, high: 12, size: 12, stars: 8 })
  const weekdays = field({ low: 0, high: 7, size: 7, stars: 4 })
  return fc
    .tuple(minutes, fc.oneof(hours, changes), days, months, weekdays)
    .map((fields) => ({ text: fields.map(({ text }) => text).join(' '), fields }))
}

interface Kind {
  readonly low: number
  readonly high: number
  readonly size: number
  /** How many stars to one of each other form. */
  readonly stars: number
}

function field({ low, high, size, stars }: Kind): fc.Arbitrary<Field> {
  const open = fc.constant({ text: '*', star: true, values: steps(low, high, 1) })
  const stepped = fc.integer({ min: 1, max: size }).map((step) => ({
    text: `*/${step}`,
    star: true,
    // The seventh weekday is the Sunday that the week began with.
    values: steps(low, low + size - 1, step),
  }))
  return fc.oneof({ weight: stars, arbitrary: open }, stepped, list(low, high, size))
}

function list(low: number, high: number, size: number): fc.Arbitrary<Field> {
  const value = fc.integer({ min: low, max: high })
  const range = fc.tuple(value, value, fc.integer({ min: 1, max: size })).map(([a, b, step]) => ({
    text: `${Math.min(a, b)}-${Math.max(a, b)}/${step}`,
    values: steps(Math.min(a, b), Math.max(a, b), step),
  }))
  const one = value.map((each) => ({ text: `${each}`, values: new Set([each]) }))
  return fc.array(fc.oneof(one, range), { minLength: 1, maxLength: 3 }).map((items) => ({
    text: items.map(({ text }) => text).join(','),
    star: false,
    values: new Set(items.flatMap(({ values }) => [...values])),
  }))
}

function steps(from: number, to: number, step: number): Set<number> {
  const found = new Set<number>()
  for (let at = from; at <= to; at += step) found.add(at)
  return found
}

/** A cron that wakes up every minute, looks at the clock, and sees what it has not seen before. */
function naive({ fields }: Expression, timeZone: string, from: Instant, to: Instant): Instant[] {
  const clock = clockIn(timeZone)
  const [minute, hour] = fields
  const fixed = minute?.star === false && hour?.star === false
  const found: Instant[] = []
  let seen = -Infinity
  // Two days before, so that it knows what the clock has already shown.
  for (let at = from - 2 * dayMs; at <= to; at += minuteMs) {
    const shown = clock(at)
    let due = !fixed && fits(fields, shown)
    if (fixed) {
      const missed = seen === -Infinity ? shown : seen + minuteMs
      for (let wall = missed; wall <= shown; wall += minuteMs) due ||= fits(fields, wall)
    }
    seen = Math.max(seen, shown)
    if (due && at > from) found.push(at)
  }
  return found
}

function fits(fields: readonly Field[], wall: number): boolean {
  const date = new Date(wall)
  const has = (index: number, value: number): boolean => fields[index]?.values.has(value) === true
  const byDate = has(2, date.getUTCDate())
  const byWeekday = has(4, date.getUTCDay()) || (date.getUTCDay() === 0 && has(4, 7))
  const either = fields[2]?.star === false && fields[4]?.star === false
  return (
    has(0, date.getUTCMinutes()) &&
    has(1, date.getUTCHours()) &&
    has(3, date.getUTCMonth() + 1) &&
    (either ? byDate || byWeekday : byDate && byWeekday)
  )
}

/** What the clock on the wall shows, by its digits and not by the offset. */
function clockIn(timeZone: string): (at: Instant) => number {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  return (at) => Date.parse(`${format.format(at).replace(' ', 'T')}Z`)
}
