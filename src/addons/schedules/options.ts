// What users say of a schedule.

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
import type { Duration } from '../../core/base/duration.ts'
import { type OneTiming, type Startable, startOptions } from '../../core/index.ts'
import type { CatchUp, Overlap } from './state.ts'

/** How its runs are started. */
const runOptions = {
  attributes: startOptions.attributes,
  memo: startOptions.memo,
  priority: startOptions.priority,
  queue: startOptions.queue,
  runTimeout: startOptions.runTimeout,
} as const

/** Which slots of the past are filled in. */
export const backfillOptions = {
  from: required(moment('No slot before this is filled in.')),
  to: required(moment('No slot after this is filled in.')),
} as const

export const scheduleOptions = {
  /** What to do when the run of the slot before is still under way. 'allow' */
  overlap: choice<Overlap>(
    'What to do when the run of the slot before is still in progress.',
    ['allow', 'skip', 'bufferOne', 'replace', 'terminate'],
    { otherwise: "'allow'" },
  ),
  /** What to do about slots that came while no worker was there. 'skip' */
  catchUp: choice<CatchUp>(
    'What to do about slots that came while no worker was there.',
    ['skip', 'one', 'all'],
    { otherwise: "'skip'" },
  ),
  /** Missed slots that are longer ago are not made up. */
  catchUpWindow: duration(
    "How far back missed slots are made up, with `catchUp: 'one'` or `'all'`.",
    { otherwise: 'without end' },
  ),
  /** Each slot is taken up to this much later, at random. */
  jitter: duration('Each slot is taken up to this much later, at random.'),
  from: moment('No slot before this is taken.'),
  until: moment('No slot after this is taken.'),
  /** As it was, when absent; a new one is not. */
  paused: flag('No slot is taken until it is resumed.', {
    otherwise: 'as it was; a new one is not',
  }),
  note: text('Why, for people.'),
  /** How its runs are started. */
  run: nested('How its runs are started.', runOptions),
} as const
export interface ScheduleOptions extends Described<typeof scheduleOptions> {}

/** Those that say when it is due are looked at together, and what to start is not an option. */
const others = {
  cron: given<string | readonly string[]>('When it is due.', 'a cron expression, or several'),
  timeZone: given<string>('The time zone of `cron`.', 'a time zone'),
  every: given<Duration>('How often it is due.', 'a duration'),
  offset: given<Duration>('How long after the hour, the day and so on.', 'a duration'),
  timings: given<readonly OneTiming[]>(
    'When it is due: whenever one of them is.',
    'a list of objects with `cron` and `timeZone`, or `every` and `offset`',
  ),
  workflow: option<Startable<never, unknown>>(
    'What it starts.',
    'a workflow or an activity',
    (value) => ['workflow', 'activity'].includes(String((value as { is?: unknown } | null)?.is)),
  ),
  input: given<unknown>('What it starts it with.', 'the input of the workflow'),
} as const

export const wholeSchedule = { ...scheduleOptions, ...others } as const

/** What is absent stays as it is. */
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
  run: nested('How its runs are started; what is absent in it stays, too.', {
    attributes: removable(runOptions.attributes),
    memo: removable(runOptions.memo),
    priority: removable(runOptions.priority),
    queue: removable(runOptions.queue),
    runTimeout: removable(runOptions.runTimeout),
  }),
} as const

/** A change, whatever the types of its workflow and input are. */
export type AnyScheduleChange = Described<typeof scheduleChange>

/** What to change of a schedule. What is absent stays as it is; null removes what may be absent. */
export interface ScheduleChange<In = unknown>
  extends Omit<AnyScheduleChange, 'workflow' | 'input'> {
  readonly workflow?: Startable<In, unknown>
  readonly input?: NoInfer<In>
}
