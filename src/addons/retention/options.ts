// How long runs are kept after they have ended, as users write it.
import { byName, type Described, flag, nested, option, whole } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { type Duration, milliseconds } from '../../core/base/time.ts'
import type { EndedStatus } from '../../core/stores/driver.ts'

/** For how long a run is kept after its end. */
export type Keep = Duration | 'forever'

function keep(about: string) {
  const accepts = (value: unknown): boolean => value === 'forever' || milliseconds(value as Duration, 'keep') >= 0
  const anyOf = [{ type: 'string' }, { type: 'number', minimum: 0, maximum: limits.durationMsMax }]
  const schema = { anyOf, examples: ['30d', 'forever'] }
  return option<Keep>(about, "a duration such as '30d', or 'forever'", accepts, { schema })
}

const rule = {
  keep: keep('For how long runs are kept after they ended.'),
  completed: keep('The same for runs that completed.'),
  failed: keep('The same for runs that failed.'),
  cancelled: keep('The same for runs that were cancelled.'),
  newest: whole('Of each workflow, keep at most so many runs that have ended: those that were created last.', [
    0,
    Number.MAX_SAFE_INTEGER,
  ]),
} as const

export const retentionPolicy = {
  ...rule,
  workflows: byName(
    'Other rules for runs of single workflows; what one leaves out is as above.',
    'an object of rules, by the names of workflows',
    nested('The rule for one workflow.', rule),
  ),
} as const
/** Which runs are deleted after they have ended. Runs in progress are never deleted. */
export interface RetentionPolicy extends Described<typeof retentionPolicy> {}

export const purgeOptions = {
  /** Count what would be deleted, and delete nothing. */
  dryRun: flag('Count what would be deleted, and delete nothing.', { otherwise: 'false' }),
  /** Delete at most so many runs. */
  limit: whole('Delete at most so many runs.', [1, Number.MAX_SAFE_INTEGER], { otherwise: 'no limit' }),
} as const
/** How runs are purged. */
export interface PurgeOptions extends Described<typeof purgeOptions> {}

/** A policy with durations in milliseconds, to be asked about runs. */
export class Expiry {
  readonly #policy: RetentionPolicy

  constructor(policy: RetentionPolicy) {
    this.#policy = policy
  }

  /** How long ago a run must have ended; infinite if it is kept forever. */
  afterMs(name: string, status: EndedStatus): number {
    const own = this.#ruleOf(name)
    const { keep: general = 'forever' } = this.#policy
    // Stores keep what has moved, because the rest of an interrupted move may need it.
    if (status === 'moved') return Number.POSITIVE_INFINITY
    return millisecondsOf(own?.[status] ?? own?.keep ?? this.#policy[status] ?? general)
  }

  /** How many ended runs of the workflow are kept at most. */
  newest(name: string): number | undefined {
    return this.#ruleOf(name)?.newest ?? this.#policy.newest
  }

  /** Workflows whose ended runs must be counted; all of them if the general rule has a number. */
  get counted(): 'none' | 'all' | readonly string[] {
    if (this.#policy.newest !== undefined) return 'all'
    const rules = Object.entries(this.#policy.workflows ?? {})
    const names = rules.flatMap(([name, { newest }]) => (newest === undefined ? [] : [name]))
    return names.length === 0 ? 'none' : names
  }

  /** No run is deleted that was created less long ago. */
  get minAgeMs(): number {
    return this.counted === 'none' ? Math.min(...this.#ages()) : 0
  }

  /** Pause between two passes: a tenth of the shortest time that a run is kept. */
  get everyMs(): number {
    const shortest = Math.min(...this.#ages(), this.counted === 'none' ? Number.POSITIVE_INFINITY : COUNTED_MS)
    return Math.min(limits.retentionMsMax, Math.max(limits.retentionMsMin, shortest / 10))
  }

  #ruleOf(name: string) {
    const { workflows = {} } = this.#policy
    return Object.hasOwn(workflows, name) ? workflows[name] : undefined
  }

  #ages(): number[] {
    const rules = [this.#policy, ...Object.values(this.#policy.workflows ?? {})]
    return rules.flatMap(({ keep: all, completed, failed, cancelled }) =>
      [all, completed, failed, cancelled].flatMap((each) => (each === undefined ? [] : [millisecondsOf(each)])),
    )
  }
}

/** Counting takes longer than looking at dates, so it is done as often as for runs that are kept for this time. */
const COUNTED_MS = 6_000_000

function millisecondsOf(value: Keep): number {
  return value === 'forever' ? Number.POSITIVE_INFINITY : milliseconds(value, 'keep')
}

/** Throws unless the policy deletes something. */
export function refuseEmpty(policy: RetentionPolicy): void {
  const { counted, minAgeMs } = new Expiry(policy)
  if (counted !== 'none' || minAgeMs < Number.POSITIVE_INFINITY) return
  throw new PawlError(
    'INPUT_INVALID',
    "the retention deletes nothing. Say for how long runs are kept, such as { keep: '30d' }, or how many: " +
      '{ newest: 10_000 }. `remove` ends a retention.',
  )
}
