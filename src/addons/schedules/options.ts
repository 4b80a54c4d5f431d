// The options of schedules.
import {
  choice,
  type Described,
  duration,
  flag,
  given,
  moment,
  nested,
  option,
  removable,
  required,
  text,
} from '../../core/base/described.ts'
import type { Duration } from '../../core/base/time.ts'
import { type Startable, startOptions } from '../../core/index.ts'
import type { CatchUp, Overlap } from './state.ts'
import { type OneTiming } from './timing.ts'

/** Options of the runs that a schedule starts. */
const runOptions = {
  attributes: startOptions.attributes,
  memo: startOptions.memo,
  priority: startOptions.priority,
  queue: startOptions.queue,
  runTimeout: startOptions.runTimeout,
} as const

/** The range of slots to backfill. */
export const backfillOptions = {
  from: required(moment('The first instant of the range.')),
  to: required(moment('The last instant of the range.')),
} as const

export const scheduleOptions = {
  /** What to do when the run of the previous slot is still in progress. Default: 'allow'. */
  overlap: choice<Overlap>(
    'What to do when the run of the previous slot is still in progress.',
    ['allow', 'skip', 'bufferOne', 'replace', 'terminate'],
    { otherwise: "'allow'" },
  ),
  /** What to do about slots that were due while no worker ran. Default: 'skip'. */
  catchUp: choice<CatchUp>('What to do about slots that were due while no worker ran.', ['skip', 'one', 'all'], {
    otherwise: "'skip'",
  }),
  /** How far back missed slots are made up, with `catchUp: 'one'` or `'all'`. */
  catchUpWindow: duration("How far back missed slots are made up, with `catchUp: 'one'` or `'all'`.", {
    otherwise: 'without limit',
  }),
  /** Delays each slot by a random time up to this long. */
  jitter: duration('Delays each slot by a random time up to this long.'),
  from: moment('Slots before this instant are not taken.'),
  until: moment('Slots after this instant are not taken.'),
  /** Takes no slots until the schedule is resumed. Default: unchanged; a new schedule is active. */
  paused: flag('Takes no slots until the schedule is resumed.', {
    otherwise: 'unchanged; a new schedule is active',
  }),
  note: text('The reason for the pause, for people.'),
  /** Options of the runs it starts. */
  run: nested('Options of the runs it starts.', runOptions),
} as const
export interface ScheduleOptions extends Described<typeof scheduleOptions> {}

/** The timing fields are checked together; `workflow` and `input` are not options of their own. */
const others = {
  cron: given<string | readonly string[]>('When it is due.', 'a cron expression, or a list of them'),
  timeZone: given<string>('The time zone of `cron`.', 'a time zone'),
  every: given<Duration>('How often it is due.', 'a duration'),
  offset: given<Duration>('How long after each multiple of `every` it is due.', 'a duration'),
  timings: given<readonly OneTiming[]>(
    'When it is due: whenever one of the timings is.',
    'a list of objects with `cron` and `timeZone`, or `every` and `offset`',
  ),
  workflow: option<Startable<never, unknown>>(
    'The workflow or activity it starts.',
    'a workflow or an activity',
    (value) => ['workflow', 'activity'].includes(String((value as { is?: unknown } | null)?.is)),
  ),
  input: given<unknown>('The input of its runs.', 'the input of the workflow'),
} as const

export const wholeSchedule = { ...scheduleOptions, ...others } as const

/** The options of a change: absent fields stay unchanged, null removes a field. */
export const scheduleChange = {
  ...wholeSchedule,
  timeZone: removable(others.timeZone),
  offset: removable(others.offset),
  overlap: removable(scheduleOptions.overlap),
  catchUp: removable(scheduleOptions.catchUp),
  catchUpWindow: removable(scheduleOptions.catchUpWindow),
  jitter: removable(scheduleOptions.jitter),
  from: removable(scheduleOptions.from),
  until: removable(scheduleOptions.until),
  note: removable(scheduleOptions.note),
  run: nested('Options of the runs it starts; absent fields stay unchanged.', {
    attributes: removable(runOptions.attributes),
    memo: removable(runOptions.memo),
    priority: removable(runOptions.priority),
    queue: removable(runOptions.queue),
    runTimeout: removable(runOptions.runTimeout),
  }),
} as const

/** A change with any types of workflow and input. */
export type AnyScheduleChange = Described<typeof scheduleChange>

/** The fields to change in a schedule. Absent fields stay unchanged; null removes an optional field. */
export interface ScheduleChange<In = unknown> extends Omit<AnyScheduleChange, 'workflow' | 'input'> {
  readonly workflow?: Startable<In, unknown>
  readonly input?: NoInfer<In>
}
