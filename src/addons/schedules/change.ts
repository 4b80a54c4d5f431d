// Control messages of a schedule, and how a change replaces some fields of its plan and keeps the others. The schedule
// and its readers apply changes in the order they were sent, so that changes from several processes are all kept.

import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Duration, Instant } from '../../core/base/time.ts'
import { encode } from '../../core/base/value.ts'
import type { ScheduledRun, ScheduleSpec } from './state.ts'
import type { OneTiming, Timing } from './timing.ts'

export type Control =
  /** Without `paused` the schedule stays paused or active. */
  | {
      readonly do: 'set'
      readonly spec: ScheduleSpec
      readonly paused?: boolean
      readonly note?: string
      /** A new timing starts here. Absent in messages of older versions, where it starts at the last slot. */
      readonly asOf?: Instant
    }
  /** Absent fields stay unchanged; a null note is removed. */
  | {
      readonly do: 'change'
      readonly change: SpecChange
      readonly paused?: boolean
      readonly note?: string | null
      readonly asOf: Instant
    }
  | { readonly do: 'pause'; readonly note?: string }
  | { readonly do: 'resume' }
  | { readonly do: 'backfill'; readonly from: Instant; readonly to: Instant }
  | { readonly do: 'delete' }

/** The fields to change; null removes a field, and absent fields stay unchanged. */
export type Change<T> = { readonly [K in keyof T]?: T[K] | null | undefined }

export interface TimingChange {
  readonly cron?: string | readonly string[] | undefined
  readonly timeZone?: string | null | undefined
  readonly every?: Duration | undefined
  readonly offset?: Duration | null | undefined
  readonly timings?: readonly OneTiming[] | undefined
}

export interface SpecChange {
  readonly timing?: TimingChange
  readonly fields: Change<Omit<ScheduleSpec, 'timing' | 'input' | 'run'>>
  /** Separate from the fields, because null is a valid input. */
  readonly input?: { readonly is: unknown }
  readonly run?: Change<ScheduledRun>
}

/**
 * Applies a change. Two changes that are valid alone may not be so together: a plan that would be too large stays
 * unchanged, and a catch-up window without a catch-up policy is dropped.
 */
export function changed(spec: ScheduleSpec, change: SpecChange): ScheduleSpec {
  const { catchUpWindow, ...others } = merged(spec, change)
  const isIdle = catchUpWindow === undefined || others.catchUp === 'skip'
  const next = isIdle ? others : { ...others, catchUpWindow }
  return fits(next) ? next : spec
}

export function merged(spec: ScheduleSpec, change: SpecChange): ScheduleSpec {
  const { timing, fields, input, run } = change
  return {
    ...patched<ScheduleSpec>(spec, fields),
    ...(timing && { timing: changedTiming(spec.timing, timing) }),
    ...(input && { input: input.is }),
    ...(run && { run: patched(spec.run, run) }),
  }
}

const companions = { cron: 'timeZone', every: 'offset' } as const

/** A time zone or an offset alone changes the timing; a cron expression, an interval or a list replaces it. */
function changedTiming(timing: Timing, change: TimingChange): Timing {
  if (change.timings !== undefined) return { timings: change.timings }
  const kind = kindOf(change) ?? kindOf(timing)
  if (kind === undefined) return timing
  const other = companions[kind]
  const before = kind in timing ? timing : {}
  return patched(before, { [kind]: change[kind], [other]: change[other] }) as Timing
}

function kindOf(timing: TimingChange): 'cron' | 'every' | undefined {
  if (timing.cron !== undefined) return 'cron'
  return timing.every === undefined ? undefined : 'every'
}

function patched<T extends object>(before: T, change: Change<T>): T {
  const given = Object.entries(change).filter(([, value]) => value !== undefined)
  const merged = { ...before, ...Object.fromEntries(given) }
  return Object.fromEntries(Object.entries(merged).filter(([name, value]) => value !== null || name === 'input')) as T
}

/** Whether a new generation can begin with the plan, with room for the rest of the schedule's state. */
function fits(spec: ScheduleSpec): boolean {
  try {
    checkPlanSize(spec)
    return true
  } catch (error) {
    if (error instanceof PawlError) return false
    throw error
  }
}

export function checkPlanSize(plan: object): void {
  const room = ' '.repeat(limits.scheduleStateBytes)
  encode({ plan, room }, 'a schedule, with its input and memo,')
}
