// The stored state of a schedule. All of it is data, so that any process can continue it.

import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import { type Duration, milliseconds } from '../../core/base/time.ts'
import { type Attributes } from '../../core/index.ts'
import { slotsBetween, type Timing, timingOf } from './timing.ts'

/** What to do when a slot is due and the run of the previous slot is still in progress. */
export type Overlap = 'allow' | 'skip' | 'bufferOne' | 'replace' | 'terminate'
/** What to do about slots that were due while no worker ran. */
export type CatchUp = 'skip' | 'one' | 'all'

export interface ScheduleSpec {
  readonly timing: Timing
  readonly workflow: string
  /** Queue and priority from the options of the workflow or activity; `run` overrides them. */
  readonly own?: Pick<ScheduledRun, 'queue' | 'priority'>
  readonly input: unknown
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  /** Missed slots that are longer ago are not made up. */
  readonly catchUpWindow?: Duration
  readonly jitterMs: number
  /** The jitter as the user wrote it. */
  readonly jitter?: Duration
  readonly from?: Instant
  readonly until?: Instant
  readonly run: ScheduledRun
}

/** How its runs are started. */
export interface ScheduledRun {
  readonly queue?: string
  readonly priority?: number
  readonly attributes?: Attributes
  readonly memo?: Readonly<Record<string, unknown>>
  readonly runTimeout?: Duration
}

export interface ScheduleState {
  readonly id: string
  readonly spec: ScheduleSpec
  readonly paused: boolean
  readonly note?: string
  /** Slots up to here are handled; absent before the first turn. */
  readonly after?: Instant
  readonly lastRunId?: string
  /** The slot whose run is started as soon as no other is in progress. */
  readonly buffered?: Instant
  readonly backfills?: readonly Backfill[]
  /** The number of slots that were missed and not made up, and the last of them. */
  readonly missed?: number
  readonly lastMissed?: Instant
}

/** A backfill in progress: start runs for the slots in (from, to], at most `left` of them. */
export interface Backfill {
  readonly from: Instant
  readonly to: Instant
  readonly left: number
}

/** The workflow id of a schedule's own run. */
export function scheduleRunId(id: string): string {
  return `pawl.schedule:${id}`
}

/** The workflow id of the run for a slot. */
export function slotRunId(id: string, slot: Instant): string {
  return `${id}@${new Date(slot).toISOString()}`
}

/** The first and the last millisecond whose year has four digits. */
export const INSTANT_MIN = -62_167_219_200_000
export const INSTANT_MAX = 253_402_300_799_999

const within = (instant: Instant): Instant => Math.min(Math.max(instant, INSTANT_MIN), INSTANT_MAX)

/** The first slot after an instant, within `from` and `until` of the schedule. */
export function nextSlot(spec: ScheduleSpec, after: Instant): Instant | undefined {
  const { from = INSTANT_MIN, until = INSTANT_MAX } = spec
  // The bounds are inclusive: a slot exactly at `from` counts.
  const slot = timingOf(spec.timing).next(within(Math.max(after, from - 1)))
  return slot !== undefined && slot <= until ? slot : undefined
}

/** The slots in (from, to], within the bounds of the schedule, at most `limit` of them. */
export function slotsOf(
  spec: ScheduleSpec,
  from: Instant,
  to: Instant,
  limit: number,
): { readonly slots: readonly Instant[]; readonly more: boolean } {
  const first = within(Math.max(from, (spec.from ?? INSTANT_MIN) - 1))
  return slotsBetween(timingOf(spec.timing), first, Math.min(to, spec.until ?? to), limit)
}

/** The last slot up to an instant, found by bisection from a known earlier slot. */
export function lastSlot(spec: ScheduleSpec, known: Instant, to: Instant): Instant {
  const timing = timingOf(spec.timing)
  const end = Math.min(to, spec.until ?? to)
  let last = known
  // No slot is later than `none`.
  let none = end
  while (none > last) {
    const middle = Math.floor((last + none) / 2)
    const slot = timing.next(middle)
    if (slot !== undefined && slot <= end) last = slot
    else none = middle
  }
  return last
}

/** The age in milliseconds up to which missed slots are made up. */
export function catchUpMs({ catchUpWindow }: ScheduleSpec): number {
  return catchUpWindow === undefined ? Number.POSITIVE_INFINITY : milliseconds(catchUpWindow, 'catchUpWindow')
}

/** The timing and its bounds as text, for comparison. */
export function whenText({ timing, from, until }: ScheduleSpec): string {
  return JSON.stringify([timing, from, until])
}

/** The note as it is stored: shortened, and without characters that a store refuses. */
export function shortNote(note: string): string {
  const sound = String(note).toWellFormed().replaceAll('\0', '')
  // Drop half of a surrogate pair.
  return sound.slice(0, limits.noteLengthMax).replace(/[\uD800-\uDBFF]$/, '')
}

/** The timing as an attribute; undefined if it is too long for one. */
export function timingText(timing: Timing): string | undefined {
  const text = JSON.stringify(timing)
  return Buffer.byteLength(text) <= limits.attributeBytesMax ? text : undefined
}

/** The attributes of the schedule's run, which show its state without code. */
export function attributesOf(state: ScheduleState, now: Instant): Attributes {
  const { id, spec, paused, note = '', after = now, lastRunId = '', missed = 0, lastMissed } = state
  const next = paused ? undefined : nextSlot(spec, after)
  const timing = timingText(spec.timing)
  return {
    schedule: id,
    workflow: spec.workflow,
    paused,
    note: shortNote(note),
    ...(timing !== undefined && { timing }),
    until: spec.until === undefined ? '' : new Date(spec.until),
    next: next === undefined ? '' : new Date(next),
    lastRunId,
    catchUp: spec.catchUp,
    catchUpWindow: String(spec.catchUpWindow ?? ''),
    missed,
    lastMissed: lastMissed === undefined ? '' : new Date(lastMissed),
  }
}
