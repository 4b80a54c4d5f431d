// The options of a worker. Users see their types, so this file imports nothing of the engine's own.
import { type Described, duration, either, flag, nested, strings, text, whole } from '../base/described.ts'
import { limits } from '../base/limits.ts'
import { formatDuration } from '../base/time.ts'

const AT_ONCE = 'How many runs it holds, and how many step bodies it runs, at once.'
const bounds = [1, limits.concurrencyMax] as const

export const workerOptions = {
  id: text('The name of the worker in logs and in `pawl why`.', { otherwise: 'a generated name' }),
  /** ['default'] */
  queues: strings('The queues it serves. It leaves runs and activities of other queues alone.', 'a list of names', {
    otherwise: "`['default']`",
  }),
  /** Runs held, and step bodies run, at once. */
  concurrency: either(
    whole(AT_ONCE, bounds),
    nested(AT_ONCE, {
      workflows: whole('Runs it holds at once.', bounds),
      activities: whole('Step bodies it runs at once.', bounds),
    }),
    { otherwise: `${limits.workflowsPerWorker} and ${limits.activitiesPerWorker}` },
  ),
  /** How long after the last renewal of its session other workers take over its work. */
  lease: duration('How long after the last renewal of its session other workers take over its work.', {
    otherwise: formatDuration(limits.leaseMs),
  }),
  /** How long `drain`, SIGTERM and SIGINT wait for running steps. */
  grace: duration('How long `drain`, SIGTERM and SIGINT wait for running steps.', {
    otherwise: formatDuration(limits.graceMs),
  }),
  /** Suspended runs kept in memory. */
  warm: whole('How many suspended runs it keeps in memory.', [0, limits.warmExecutionsMax], {
    otherwise: String(limits.warmExecutions),
  }),
  /** Pins the runs it starts to its build, unless their workflow has a `pin` of its own. false */
  pin: flag('Pins the runs it starts to its build, unless their workflow has a `pin` of its own.', {
    otherwise: 'false',
  }),
  /** Whether this worker runs schedules. true */
  schedules: flag('Runs schedules, whatever its queues.', { otherwise: 'true' }),
  /** Drain on SIGTERM and SIGINT, then let the process end. true */
  signals: flag('Drains on SIGTERM and SIGINT, then lets the process end.', { otherwise: 'true' }),
} as const
/** What a worker serves, and how much it does at once. */
export interface WorkerOptions extends Described<typeof workerOptions> {}
