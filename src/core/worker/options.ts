// What users say of a worker.
import {
  type Described,
  duration,
  either,
  flag,
  nested,
  strings,
  text,
  whole,
} from '../base/described.ts'
import { formatDuration } from '../base/duration.ts'
import { limits } from '../base/limits.ts'

const AT_ONCE = 'How many runs it holds, and how many step bodies it runs, at once.'
const bounds = [1, limits.concurrencyMax] as const

export const workerOptions = {
  id: text('What it is called in logs and by `pawl why`.', { otherwise: 'a name made up' }),
  /** ['default'] */
  queues: strings(
    'The queues it serves; runs and activities of others are left alone.',
    'a list of names',
    { otherwise: "`['default']`" },
  ),
  /** Runs held, and step bodies run, at once. */
  concurrency: either(
    whole(AT_ONCE, bounds),
    nested(AT_ONCE, {
      workflows: whole('Runs it holds at once.', bounds),
      activities: whole('Step bodies it runs at once.', bounds),
    }),
    { otherwise: `${limits.workflowsPerWorker} and ${limits.activitiesPerWorker}` },
  ),
  /** How long after its last sign of life this worker's work is given to others. 30s */
  lease: duration("How long after its last sign of life this worker's work is given to others.", {
    otherwise: formatDuration(limits.leaseMs),
  }),
  /** How long `drain`, SIGTERM and SIGINT wait for steps under way. 30s */
  grace: duration('How long `drain`, SIGTERM and SIGINT wait for steps in progress.', {
    otherwise: formatDuration(limits.graceMs),
  }),
  /** Suspended runs kept in memory. */
  warm: whole('Suspended runs it keeps in memory.', [0, limits.warmExecutionsMax], {
    otherwise: String(limits.warmExecutions),
  }),
  /** Runs that it begins stay with its build, unless that is retired or their workflow has a `pin` of its own. false */
  pin: flag(
    'Runs that it begins stay with its build, unless their workflow has a `pin` of its own.',
    {
      otherwise: 'false',
    },
  ),
  /** Whether this worker keeps schedules going. true */
  schedules: flag('Keeps schedules going, whatever its queues.', { otherwise: 'true' }),
  /** Drain on SIGTERM and SIGINT, then let the process end. true */
  signals: flag('Drains on SIGTERM and SIGINT, then lets the process end.', { otherwise: 'true' }),
} as const
/** What a worker serves, and how much at once. */
export interface WorkerOptions extends Described<typeof workerOptions> {}
