// What users say of a schedule.
import { choice, type Described, duration, flag, given, nested, text } from '../kernel/described.ts'
import type { CatchUp, Overlap } from '../schedules/state.ts'
import { startOptions } from './start-options.ts'

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
  /** Each slot is taken up to this much later, at random. */
  jitter: duration('Each slot is taken up to this much later, at random.'),
  from: given<Date>('No slot before this is taken.', 'a Date'),
  until: given<Date>('No slot after this is taken.', 'a Date'),
  /** As it was, when absent; a new one is not. */
  paused: flag('No slot is taken until it is resumed.', {
    otherwise: 'as it was; a new one is not',
  }),
  note: text('Why, for people.'),
  /** How its runs are started. */
  run: nested('How its runs are started.', {
    attributes: startOptions.attributes,
    memo: startOptions.memo,
    priority: startOptions.priority,
    queue: startOptions.queue,
    runTimeout: startOptions.runTimeout,
  }),
} as const
export interface ScheduleOptions extends Described<typeof scheduleOptions> {}

/** Those that say when it is due are looked at together, and what to start is not an option. */
export const wholeSchedule = {
  ...scheduleOptions,
  cron: given('When it is due.', 'a cron expression, or several'),
  timeZone: given('The time zone of `cron`.', 'a time zone'),
  every: given('How often it is due.', 'a duration'),
  offset: given('How long after the hour, the day and so on.', 'a duration'),
  workflow: given('What it starts.', 'a workflow'),
  input: given('What it starts it with.', 'the input of the workflow'),
} as const
