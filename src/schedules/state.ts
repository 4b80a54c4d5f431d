// What a schedule is, as it is kept: all of it is data, so that any process can go on with it.
import type { Attributes } from '../definitions/attributes.ts'
import type { Instant } from '../kernel/event.ts'
import { slotsBetween, type Timing, timingOf } from '../policies/timing.ts'

/** What to do when a slot comes and the run of the one before is still under way. */
export type Overlap = 'allow' | 'skip' | 'bufferOne' | 'replace' | 'terminate'
/** What to do about slots that came while no worker was there. */
export type CatchUp = 'skip' | 'one' | 'all'

export interface ScheduleSpec {
  readonly timing: Timing
  readonly workflow: string
  readonly input: unknown
  readonly overlap: Overlap
  readonly catchUp: CatchUp
  readonly jitterMs: number
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
  readonly runTimeout?: number
}

export interface ScheduleState {
  readonly id: string
  readonly spec: ScheduleSpec
  readonly paused: boolean
  readonly note?: string
  /** Slots up to here are dealt with; none are if it is absent. */
  readonly after?: Instant
  readonly lastRunId?: string
}

export type Control =
  /** Whether it is paused stays as it is, unless that is said. */
  | {
      readonly do: 'set'
      readonly spec: ScheduleSpec
      readonly paused?: boolean
      readonly note?: string
    }
  | { readonly do: 'pause'; readonly note?: string }
  | { readonly do: 'resume' }
  | { readonly do: 'backfill'; readonly from: Instant; readonly to: Instant }
  | { readonly do: 'delete' }

/** The workflow id of a schedule's own run. */
export function scheduleRunId(id: string): string {
  return `pawl.schedule:${id}`
}

/** The workflow id of the run for a slot. */
export function slotRunId(id: string, slot: Instant): string {
  return `${id}@${new Date(slot).toISOString()}`
}

/** The first slot after an instant that is within the bounds. */
export function nextSlot(spec: ScheduleSpec, after: Instant): Instant | undefined {
  const { from = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = spec
  // The bounds are part of it: a slot at the very first instant counts.
  const slot = timingOf(spec.timing).next(Math.max(after, from - 1))
  return slot !== undefined && slot <= until ? slot : undefined
}

/** Slots in (from, to], within the bounds, and at most so many. */
export function slotsOf(
  spec: ScheduleSpec,
  from: Instant,
  to: Instant,
  limit: number,
): { readonly slots: readonly Instant[]; readonly more: boolean } {
  const first = Math.max(from, (spec.from ?? Number.NEGATIVE_INFINITY) - 1)
  return slotsBetween(timingOf(spec.timing), first, Math.min(to, spec.until ?? to), limit)
}

const NOTE_LENGTH = 500

/** What people see of a schedule without its code. */
export function attributesOf(state: ScheduleState, now: Instant): Attributes {
  const { id, spec, paused, note = '', after = now, lastRunId = '' } = state
  const next = paused ? undefined : nextSlot(spec, after)
  return {
    schedule: id,
    workflow: spec.workflow,
    paused,
    note: note.slice(0, NOTE_LENGTH),
    timing: JSON.stringify(spec.timing),
    until: spec.until === undefined ? '' : new Date(spec.until),
    next: next === undefined ? '' : new Date(next),
    lastRunId,
  }
}
