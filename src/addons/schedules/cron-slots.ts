// The slots of a cron expression in a time zone with daylight saving time. As in Vixie cron and most others:
//
// - An expression whose minute or hour begins with a star is an interval. It is due whenever local time matches: never
//   in an hour that is skipped, and twice in an hour that is repeated. An expression that is due every 15 minutes stays
//   so.
// - Any other expression names fixed times of day. Times that are skipped are due once, right after the gap. A time
//   that is repeated is due the first time.

import { assert } from '../../core/base/assert.ts'
import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import type { Cron } from './cron.ts'
import { changeGapMs, changeIn, type Zone } from './zone.ts'

const minuteMs = 60_000
const dayMinutes = 1_440
const dayMs = dayMinutes * minuteMs
const searchMs = limits.cronYearsMax * 366 * dayMs

/** Local time, written as the instant at which UTC shows the same. */
type Wall = number

/** The first slot after an instant; undefined if there is none within `cronYearsMax` years. */
export function nextSlot(cron: Cron, zone: Zone, after: Instant): Instant | undefined {
  let at = cron.fixed ? endOfRepeat(zone, after) : after
  while (true) {
    const offset = zone.offsetAt(at)
    const wall = nextWall(cron, at + offset)
    if (wall === undefined) return undefined
    const slot = wall - offset
    // Without this, the search for an interval whose times are all skipped would never end.
    if (slot - after > searchMs) return undefined
    const change = changeIn(zone, at, Math.min(slot, at + changeGapMs))
    if (change !== undefined) {
      const found = atChange(cron, zone, { change, wall, before: offset })
      if (found.due) return found.at
      at = found.at
    } else if (slot - at <= changeGapMs) {
      return slot
    } else {
      // Offsets differ by at most 26 hours, so no change can move the slot before this instant.
      at = slot - 2 * dayMs
    }
  }
}

interface Change {
  readonly change: Instant
  /** The next matching local time, with the offset before the change. */
  readonly wall: Wall
  readonly before: number
}

/** Whether a slot falls on the change itself; if not, the instant after which the search continues. */
function atChange(
  cron: Cron,
  zone: Zone,
  { change, wall, before }: Change,
): { readonly due: boolean; readonly at: Instant } {
  const offset = zone.offsetAt(change)
  if (!cron.fixed) {
    const shown = change + offset
    return { due: nextWall(cron, shown - 1) === shown, at: change }
  }
  if (offset > before) return { due: wall <= change + offset, at: change }
  return { due: false, at: change + before - offset - 1 }
}

/** The end of the repeated hour, if the instant lies in its repetition; else the instant itself. */
function endOfRepeat(zone: Zone, at: Instant): Instant {
  const offset = zone.offsetAt(at)
  const before = zone.offsetAt(at - changeGapMs)
  if (before <= offset) return at
  const change = changeIn(zone, at - changeGapMs, at)
  assert(change !== undefined, 'there is a change between two different offsets')
  return Math.max(at, change + before - offset - 1)
}

/** The first matching local time after this one, without regard to clock changes. */
function nextWall(cron: Cron, after: Wall): Wall | undefined {
  const from = Math.floor(after / minuteMs) + 1
  const today = Math.floor(from / dayMinutes)
  if (fitsDay(cron, dateOf(today))) {
    const time = nextTime(cron, from - today * dayMinutes)
    if (time !== undefined) return today * dayMs + time * minuteMs
  }
  const day = nextDay(cron, today + 1)
  return day === undefined ? undefined : day * dayMs + (nextTime(cron, 0) ?? 0) * minuteMs
}

/** The first matching minute of the day, from this one on. */
function nextTime(cron: Cron, from: number): number | undefined {
  const hour = Math.floor(from / 60)
  const minute = from - hour * 60
  const within = cron.minutes.find((each) => each >= minute)
  if (within !== undefined && cron.hours.includes(hour)) return hour * 60 + within
  const later = cron.hours.find((each) => each > hour)
  return later === undefined ? undefined : later * 60 + (cron.minutes[0] ?? 0)
}

interface CalendarDate {
  readonly year: number
  /** From 1. */
  readonly month: number
  readonly day: number
  readonly weekday: number
}

/** `days` are counted from the epoch. */
function dateOf(days: number): CalendarDate {
  const date = new Date(days * dayMs)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
  }
}

function fitsDay(cron: Cron, { month, day, weekday }: CalendarDate): boolean {
  if (!cron.months.includes(month)) return false
  const byDate = cron.days.includes(day)
  const byWeekday = cron.weekdays.includes(weekday)
  return cron.eitherDay ? byDate || byWeekday : byDate && byWeekday
}

/** The first matching day, from this one on. Months that do not match are skipped as a whole. */
function nextDay(cron: Cron, from: number): number | undefined {
  const end = from + limits.cronYearsMax * 366
  let days = from
  while (days < end) {
    const date = dateOf(days)
    const left = daysIn(date.year, date.month) - date.day
    for (let more = 0; more <= left && cron.months.includes(date.month); more++) {
      const weekday = (date.weekday + more) % 7
      if (fitsDay(cron, { ...date, day: date.day + more, weekday })) return days + more
    }
    days += left + 1
  }
  return undefined
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}
