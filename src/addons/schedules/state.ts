// What a schedule is, as it is kept: all of it is data, so that any process can go on with it.

import { type Duration, milliseconds } from '../../core/base/duration.ts'
import type { Instant } from '../../core/base/instant.ts'
import { limits } from '../../core/base/limits.ts'
import { type Attributes, slotsBetween, type Timing, timingOf } from '../../core/index.ts'

/** What to do when a slot comes and the run of the one before is still under way. */
export type Overlap = 'allow' | 'skip' | 'bufferOne' | 'replace' | 'terminate'
/** What to do about slots that came while no worker was there. */
export type CatchUp = 'skip' | 'one' | 'all'

export interface ScheduleSpec {
  readonly timing: Timing
  readonly workflow: string
  /** Where its runs wait by the options of the workflow or activity, unless `run` says otherwise. */
  readonly own?: Pick<ScheduledRun, 'queue' | 'priority'>
  readonly input: unknown
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  /** How long ago a missed slot may have been to be made up. */
  readonly catchUpWindow?: Duration
  readonly jitterMs: number
  /** As it was given. */
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
  /** Slots up to here are dealt with; none are if it is absent. */
  readonly after?: Instant
  readonly lastRunId?: string
  /** The slot whose run is started as soon as none is under way. */
  readonly buffered?: Instant
  readonly backfills?: readonly Backfill[]
  /** Slots that were missed and not made up, and the last of them. */
  readonly missed?: number
  readonly lastMissed?: Instant
}

/** Slots in (from, to] that are still to be filled in, and how many of them at most. */
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

/** The first slot after an instant that is within the bounds. */
export function nextSlot(spec: ScheduleSpec, after: Instant): Instant | undefined {
  const { from = INSTANT_MIN, until = INSTANT_MAX } = spec
  // The bounds are part of it: a slot at the very first instant counts.
  const slot = timingOf(spec.timing).next(within(Math.max(after, from - 1)))
  return slot !== undefined && slot <= until ? slot : undefined
}

/** Slots in (from, to], within the bounds, and at most so many. */
export function slotsOf(
  spec: ScheduleSpec,
  from: Instant,
  to: Instant,
  limit: number,
): { readonly slots: readonly Instant[]; readonly more: boolean } {
  const first = within(Math.max(from, (spec.from ?? INSTANT_MIN) - 1))
  return slotsBetween(timingOf(spec.timing), first, Math.min(to, spec.until ?? to), limit)
}

/** The last slot up to an instant, however many there are: it is closed in on from a slot that is not later. */
export function lastSlot(spec: ScheduleSpec, known: Instant, to: Instant): Instant {
  const timing = timingOf(spec.timing)
  const end = Math.min(to, spec.until ?? to)
  let last = known
  // Behind `none` there is no slot.
  let none = end
  while (none > last) {
    const middle = Math.floor((last + none) / 2)
    const slot = timing.next(middle)
    if (slot !== undefined && slot <= end) last = slot
    else none = middle
  }
  return last
}

/** How far back missed slots are made up, in milliseconds. */
export function catchUpMs({ catchUpWindow }: ScheduleSpec): number {
  return catchUpWindow === undefined
    ? Number.POSITIVE_INFINITY
    : milliseconds(catchUpWindow, 'catchUpWindow')
}

/** All that says when it is due, as text. */
export function whenText({ timing, from, until }: ScheduleSpec): string {
  return JSON.stringify([timing, from, until])
}

/** A note as it is kept: not too long, and nothing in it that a store refuses. */
export function shortNote(note: string): string {
  const sound = String(note).toWellFormed().replaceAll('\0', '')
  // Half of a character is none.
  return sound.slice(0, limits.noteLengthMax).replace(/[\uD800-\uDBFF]$/, '')
}

/** A timing as it is shown; undefined if it is too long for that. */
export function timingText(timing: Timing): string | undefined {
  const text = JSON.stringify(timing)
  return Buffer.byteLength(text) <= limits.attributeBytesMax ? text : undefined
}

/** What people see of a schedule without its code. */
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
