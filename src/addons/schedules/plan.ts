// Converts the options of a schedule to its stored plan, and back. Everything is checked here, because no caller would
// see an error when a slot is due.

import { defined } from '../../core/base/defined.ts'
import { checkOptions } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { checkName } from '../../core/base/names.ts'
import type { Instant } from '../../core/base/time.ts'
import { milliseconds } from '../../core/base/time.ts'
import { type Startable, startedAs, storedAttributes, type WorkflowContract } from '../../core/index.ts'
import { type Change, checkPlanSize, merged, type SpecChange, type TimingChange } from './change.ts'
import { type AnyScheduleChange, type ScheduleOptions, scheduleChange, wholeSchedule } from './options.ts'
import { INSTANT_MAX, INSTANT_MIN, nextSlot, type ScheduleSpec, timingText, whenText } from './state.ts'
import { type Timing, timingOf } from './timing.ts'

/** The plan of a schedule: everything that `set` takes, so that it can be passed to `set` again. */
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
  const dateOf = (at?: Instant): Date | undefined => (at === undefined ? undefined : new Date(at))
  return {
    ...timing,
    ...defined({
      workflow: contractOf(spec),
      input,
      overlap,
      catchUp,
      catchUpWindow,
      jitter: jitter === 0 ? undefined : jitter,
      from: dateOf(from),
      until: dateOf(until),
      run: Object.keys(run).length > 0 ? run : undefined,
      paused: paused || undefined,
      note,
    }),
  }
}

/** A contract to start runs with, from what is stored of the workflow: its name, queue and priority. */
export function contractOf(spec: ScheduleSpec): WorkflowContract<unknown, unknown> {
  const { workflow: name, own: options } = spec
  const contract = defined({ is: 'workflow', name, options })
  return contract as WorkflowContract<unknown, unknown>
}

export function newSpec(id: string, given: object): ScheduleSpec {
  checkOptions(wholeSchedule, given, { of: 'a schedule' })
  const whole: AnyScheduleChange = given
  if (whole.workflow === undefined)
    throw new PawlError(
      'INPUT_INVALID',
      'the schedule has no workflow; expected a workflow or an activity: set(id, { workflow, … }).',
    )
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
  const spec = merged(blank, defined({ fields, input, run }))
  checkSpec(id, spec)
  return spec
}

/** Checks the fields of a change and their values, as far as that is possible without the plan. */
export function checkChange(given: AnyScheduleChange): void {
  checkOptions(scheduleChange, given, { of: 'a change of a schedule' })
}

/** The change to send to a schedule, and the plan that results from it. */
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
      ...(workflow && targetOf(workflow)),
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

function targetOf(definition: Startable<never, unknown>): Change<ScheduleSpec> {
  const { name, options: { queue, priority } = {} } = startedAs(definition)
  const own = defined({ queue, priority })
  return {
    workflow: checkName(name, 'the name of a workflow'),
    own: Object.keys(own).length > 0 ? own : null,
  }
}

function timingIn({ cron, timeZone, every, offset, timings }: AnyScheduleChange): TimingChange {
  return defined({ cron, timeZone, every, offset, timings })
}

// Fields given together must be compatible, and a field given alone must match the current timing.
function checkTimingChange(change: TimingChange, before: Timing, after: Timing): void {
  const { timeZone, offset, ...kinds } = change
  if (Object.keys(kinds).length > 0) timingOf({ ...after, ...kinds } as Timing)
  for (const [name, value, kind] of [
    ['timeZone', timeZone, 'cron'],
    ['offset', offset, 'every'],
  ] as const) {
    if (value === undefined || value === null || kind in after) continue
    const message = `${name} needs ${kind}, but the timing is ${JSON.stringify(before)}. Also give ${kind}, or give all \`timings\`.`
    throw new PawlError('INPUT_INVALID', message)
  }
}

/** Throws if a schedule is never due, unless its timing is unchanged: its last slot may have passed. */
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
  throw new PawlError('INPUT_INVALID', `${what} is not a valid date; expected a Date from year 0 to 9999.`)
}

function withoutCatchUp(): PawlError {
  const message =
    "`catchUpWindow` of a schedule has no effect with catchUp 'skip'. Set catchUp to 'all' or 'one', or remove the window (in a change, set it to null)."
  return new PawlError('INPUT_INVALID', message)
}

function tooLong(): PawlError {
  const message = `the timing has more than ${limits.attributeBytesMax} bytes as JSON. Split it into several schedules.`
  return new PawlError('INPUT_INVALID', message)
}

function neverDue({ timing, from, until }: ScheduleSpec): PawlError {
  const bound = (name: string, at?: Instant): string =>
    at === undefined ? '' : `, ${name} ${new Date(at).toISOString()}`
  const bounds = `${bound('from', from)}${bound('until', until)}`
  const message = `the schedule would never be due: ${JSON.stringify(timing)} has no slot in the coming years${bounds}. Correct the timing or the bounds.`
  return new PawlError('INPUT_INVALID', message)
}
