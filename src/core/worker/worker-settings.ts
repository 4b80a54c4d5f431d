// The settings of a worker: its options with every default filled in.
import { checkOptions } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { checkId, checkName } from '../base/names.ts'
import { milliseconds } from '../base/time.ts'
import type { Registry } from '../definitions/registry.ts'
import { type WorkerOptions, workerOptions } from './options.ts'

export interface WorkerSettings {
  readonly id: string
  readonly build: string
  /** The build as users name it: without the fingerprint of its codecs. Runs are pinned to this. */
  readonly code: string
  readonly queues: readonly string[]
  /** Runs held at once. */
  readonly workflows: number
  /** Step bodies run at once. */
  readonly activities: number
  readonly leaseMs: number
  readonly graceMs: number
  /** How often the worker claims although nothing woke it. */
  readonly pollMs: number
  /** Suspended executions kept in memory. */
  readonly warm: number
  /** Whether runs that this worker starts are pinned to its build, unless their workflow says so itself. */
  readonly pin: boolean
  /** Replays every turn from the start, as if no execution were warm. */
  readonly alwaysReplay: boolean
  /** A run that leaves something undone when it completes has failed. */
  readonly strict: boolean
}

/** What the engine decides; everything else is an option of the worker. */
type OfEngine = Pick<WorkerSettings, 'build' | 'code' | 'pollMs' | 'alwaysReplay' | 'strict'> & {
  /** The id of a worker that was given none. */
  readonly newId: () => string
  /** Served whatever the queues of the worker are, unless it has `schedules: false`. */
  readonly schedulesQueue: string
}

export function workerSettings(
  options: WorkerOptions,
  { newId, schedulesQueue, ...ofEngine }: OfEngine,
): WorkerSettings {
  checkOptions(workerOptions, options, { of: 'work' })
  const { concurrency, id, queues = ['default'], schedules = true } = options
  const isOneNumber = typeof concurrency === 'number'
  const { workflows, activities } = isOneNumber
    ? { workflows: concurrency, activities: concurrency }
    : { ...concurrency }
  if (queues.length === 0) throw new PawlError('INPUT_INVALID', 'queues is empty: the worker would do nothing.')
  const leaseMs = milliseconds(options.lease ?? limits.leaseMs, 'lease')
  const { leaseMsMin, leaseMsMax } = limits
  if (!Number.isInteger(leaseMs) || leaseMs < leaseMsMin || leaseMs > leaseMsMax)
    throw new PawlError(
      'INPUT_INVALID',
      `lease is ${leaseMs}; expected a whole number from ${leaseMsMin} to ${leaseMsMax}.`,
    )
  return {
    id: id === undefined ? newId() : checkId(id, 'the id of a worker'),
    queues: [...queues.map((queue) => checkName(queue, 'the name of a queue')), ...(schedules ? [schedulesQueue] : [])],
    workflows: workflows ?? limits.workflowsPerWorker,
    activities: activities ?? limits.activitiesPerWorker,
    leaseMs,
    graceMs: milliseconds(options.grace ?? limits.graceMs, 'grace'),
    warm: options.warm ?? limits.warmExecutions,
    pin: options.pin ?? false,
    ...ofEngine,
  }
}

/** Whether a run of this workflow that the worker starts is pinned to its build. */
export function pins({ pin }: Pick<WorkerSettings, 'pin'>, registry: Registry, name: string): boolean {
  return registry.workflow(name)?.options.pin ?? pin
}

/**
 * Whether the worker takes part in roll-outs: it does if it pins runs of any workflow. A store cannot tell a run that
 * has not begun from one in progress that is not pinned, so such a worker takes only its share of both. That also
 * routes the latter to the build that is rolled out.
 */
export function takesShare({ pin }: Pick<WorkerSettings, 'pin'>, { workflows }: Registry): boolean {
  return pin || [...workflows.values()].some(({ options }) => options.pin === true)
}

/** What a worker can do, as its session tells the store. */
export function aboutWorker(settings: WorkerSettings, registry: Registry, workflows: readonly string[] | null): string {
  const { queues, build, code } = settings
  return JSON.stringify({
    queues,
    build,
    code,
    ...(takesShare(settings, registry) && { pin: true }),
    workflows,
    activities: registry.activityNames,
  })
}
