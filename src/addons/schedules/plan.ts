// From what users say of a schedule to its plan as it is kept, and back. Nobody is there to be told when a slot comes:
// whatever would be wrong then is found here.

import { checkOptions } from '../../core/base/described.ts'
import { milliseconds } from '../../core/base/duration.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/instant.ts'
import { limits } from '../../core/base/limits.ts'
import { checkName } from '../../core/base/names.ts'
import {
  type Startable,
  startedAs,
  storedAttributes,
  type Timing,
  timingOf,
  type WorkflowContract,
} from '../../core/index.ts'
import { type Change, checkPlanSize, merged, type SpecChange, type TimingChange } from './change.ts'
import {
  type AnyScheduleChange,
  type ScheduleOptions,
  scheduleChange,
  wholeSchedule,
} from './options.ts'
import {
  INSTANT_MAX,
  INSTANT_MIN,
  nextSlot,
  type ScheduleSpec,
  timingText,
  whenText,
} from './state.ts'

/** All that `set` takes: it can be given to `set` again. */
export type SchedulePlan = Timing &
  ScheduleOptions & {
    readonly workflow: WorkflowContract<unknown, unknown>
    readonly input?: unknown
  }

export function planOf(
  spec: ScheduleSpec,
  { paused, note }: { readonly paused: boolean; readonly note?: string },
): SchedulePlan {
  const { timing, input, overlap, catchUp, catchUpWindow, run } = spec
  const { jitterMs, jitter = jitterMs, from, until } = spec
  return {
    ...timing,
    workflow: contractOf(spec),
    ...(input !== undefined && { input }),
    overlap,
    catchUp,
    ...(catchUpWindow !== undefined && { catchUpWindow }),
    ...(jitter !== 0 && { jitter }),
    ...(from !== undefined && { from: new Date(from) }),
    ...(until !== undefined && { until: new Date(until) }),
    ...(Object.keys(run).length > 0 && { run }),
    ...(paused && { paused }),
    ...(note !== undefined && { note }),
  }
}

/** What a run can be started by, of what is kept of a workflow: its name, and where its runs wait. */
export function contractOf(spec: ScheduleSpec): WorkflowContract<unknown, unknown> {
  const { workflow: name, own: options } = spec
  const contract = { is: 'workflow', name, ...(options && { options }) } as const
  return contract as WorkflowContract<unknown, unknown>
}

export function newSpec(id: string, given: object): ScheduleSpec {
  checkOptions(wholeSchedule, given, { of: 'a schedule' })
  const whole: AnyScheduleChange = given
  if (whole.workflow === undefined)
    throw new PawlError('INPUT_INVALID', 'a schedule needs a workflow: set(id, { workflow, … }).')
  const timing = timingIn(whole) as Timing
  timingOf(timing)
  const blank: ScheduleSpec = {
    timing,
    workflow: whole.workflow.name,
    input: undefined,
    overlap: 'allow',
    catchUp: 'skip',
    jitterMs: 0,
    run: {},
  }
  const { fields, input, run } = changeOf(whole)
  const spec = merged(blank, { fields, ...(input && { input }), ...(run && { run }) })
  checkSpec(id, spec)
  return spec
}

/** Whether these are fields of a schedule, and values they can have, whatever its plan is. */
export function checkChange(given: AnyScheduleChange): void {
  checkOptions(scheduleChange, given, { of: 'a change of a schedule' })
}

/** What to tell a schedule to change, and the plan it leads to. */
export function changedSpec(
  id: string,
  before: ScheduleSpec,
  given: AnyScheduleChange,
  now: Instant,
): { readonly change: SpecChange; readonly spec: ScheduleSpec } {
  const change = changeOf(given)
  const spec = merged(before, change)
  if (change.timing) checkTimingChange(change.timing, before.timing, spec.timing)
  checkDue(spec, now, before)
  checkSpec(id, spec)
  return { change, spec }
}

function changeOf(given: AnyScheduleChange): SpecChange {
  const { workflow, input, overlap, catchUp, catchUpWindow, jitter, from, until, run } = given
  const timing = timingIn(given)
  return {
    ...(Object.keys(timing).length > 0 && { timing }),
    fields: {
      ...(workflow && whatStarts(workflow)),
      ...(overlap !== undefined && { overlap: overlap ?? 'allow' }),
      ...(catchUp !== undefined && { catchUp: catchUp ?? 'skip' }),
      ...(catchUpWindow !== undefined && { catchUpWindow }),
      ...(jitter !== undefined && { jitter, jitterMs: milliseconds(jitter ?? 0, 'jitter') }),
      ...(from !== undefined && { from: from && instant(from, 'from') }),
      ...(until !== undefined && { until: until && instant(until, 'until') }),
    },
    ...(input !== undefined && { input: { is: input } }),
    ...(run && { run }),
  }
}

function whatStarts(definition: Startable<never, unknown>): Change<ScheduleSpec> {
  const { name, options: { queue, priority } = {} } = startedAs(definition)
  const own = { ...(queue !== undefined && { queue }), ...(priority !== undefined && { priority }) }
  return {
    workflow: checkName(name, 'the name of a workflow'),
    own: Object.keys(own).length > 0 ? own : null,
  }
}

function timingIn({ cron, timeZone, every, offset, timings }: AnyScheduleChange): TimingChange {
  return {
    ...(cron !== undefined && { cron }),
    ...(timeZone !== undefined && { timeZone }),
    ...(every !== undefined && { every }),
    ...(offset !== undefined && { offset }),
    ...(timings !== undefined && { timings }),
  }
}

// What is given together must go together, and what is given alone must have something to go with.
function checkTimingChange(change: TimingChange, before: Timing, after: Timing): void {
  const { timeZone, offset, ...kinds } = change
  if (Object.keys(kinds).length > 0) timingOf({ ...after, ...kinds } as Timing)
  for (const [name, value, kind] of [
    ['timeZone', timeZone, 'cron'],
    ['offset', offset, 'every'],
  ] as const) {
    if (value === undefined || value === null || kind in after) continue
    const message = `${name} goes with ${kind}, and the timing is ${JSON.stringify(before)}. Give ${kind} too, or all \`timings\`.`
    throw new PawlError('INPUT_INVALID', message)
  }
}

/** Refuses one that is never due, unless it was due at the same times before: those may have passed by now. */
export function checkDue(spec: ScheduleSpec, now: Instant, before?: ScheduleSpec): void {
  if (nextSlot(spec, now) !== undefined) return
  if (before === undefined || whenText(before) !== whenText(spec)) throw neverDue(spec)
}

function checkSpec(id: string, spec: ScheduleSpec): void {
  const { timing, catchUp, catchUpWindow, run } = spec
  if (timingText(timing) === undefined) throw tooLong()
  if (catchUp === 'skip' && catchUpWindow !== undefined) throw withoutCatchUp()
  storedAttributes({ ...run.attributes, schedule: id, slot: new Date(0) })
  checkPlanSize(spec)
}

export function instant(date: Date, what: string): Instant {
  const time = Number(date)
  if (time >= INSTANT_MIN && time <= INSTANT_MAX) return time
  throw new PawlError('INPUT_INVALID', `${what} is not a valid Date from year 0 to 9999.`)
}

function withoutCatchUp(): PawlError {
  const message =
    "`catchUpWindow` of a schedule has no effect with catchUp 'skip'. Give catchUp: 'all' or 'one', or no window (in a change, null)."
  return new PawlError('INPUT_INVALID', message)
}

function tooLong(): PawlError {
  const message = `the timing takes more than ${limits.attributeBytesMax} bytes as JSON. Make several schedules of it.`
  return new PawlError('INPUT_INVALID', message)
}

function neverDue({ timing, from, until }: ScheduleSpec): PawlError {
  const bound = (name: string, at?: Instant): string =>
    at === undefined ? '' : `, ${name} ${new Date(at).toISOString()}`
  const bounds = `${bound('from', from)}${bound('until', until)}`
  const message = `the schedule would never start anything: ${JSON.stringify(timing)} has no slot in the years to come${bounds}.`
  return new PawlError('INPUT_INVALID', message)
}
