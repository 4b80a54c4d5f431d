// What a worker is made of, and how it is set.
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { ActivityClient } from '../definitions/contract.ts'
import type { AroundActivity } from '../definitions/interceptor.ts'
import type { Registry } from '../definitions/registry.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { Store } from '../stores/store.ts'
import type { Bus } from '../telemetry/bus.ts'
import type { Deciders } from './deciders.ts'

export interface WorkerSettings {
  readonly id: string
  readonly build: string
  /** The build as people name it: without what its codecs add. Runs are pinned to this. */
  readonly code: string
  readonly queues: readonly string[]
  /** Runs held at once. */
  readonly workflows: number
  /** Step bodies run at once. */
  readonly activities: number
  readonly leaseMs: number
  readonly graceMs: number
  /** How often it asks the store although nothing woke it. */
  readonly pollMs: number
  /** Suspended executions kept in memory. */
  readonly warm: number
  /** Whether runs that it begins are pinned to its build, unless their workflow says so itself. */
  readonly pin: boolean
  /** Replays every turn from the start, as if nothing were ever warm. */
  readonly alwaysReplay: boolean
  /** A run that leaves something undone when it completes has failed. */
  readonly strict: boolean
}

export interface WorkerPorts {
  readonly store: Store
  readonly catalogue: Catalogue
  readonly deciders: Deciders
  readonly registry: Registry
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly bus: Bus
  /** What a body does with other runs, under the idempotency key of its step. */
  readonly clientFor: (key: string) => ActivityClient
  /** Stand around each attempt at a step body. */
  readonly aroundBodies: readonly AroundActivity[]
  /** A run that was held here has ended, durably. */
  readonly onEnded: (runId: string, body: string) => void
  /** A run that was held here is held no more, and has not ended here. */
  readonly onLetGo: (runId: string) => void
}

/** Whether a run of this workflow that the worker begins is pinned to its build. */
export function pins(
  { pin }: Pick<WorkerSettings, 'pin'>,
  registry: Registry,
  name: string,
): boolean {
  return registry.workflow(name)?.options.pin ?? pin
}

/**
 * Whether the worker takes part in roll-outs: it does if it pins runs of any workflow. A store cannot tell a run that
 * has not begun from one in progress that is not pinned, so such a worker takes only its share of both. That also routes
 * the latter to the build that is rolled out.
 */
export function takesShare({ pin }: Pick<WorkerSettings, 'pin'>, { workflows }: Registry): boolean {
  return pin || [...workflows.values()].some(({ options }) => options.pin === true)
}

/** What a worker can do, as its session says it. */
export function aboutWorker(
  settings: WorkerSettings,
  registry: Registry,
  workflows: readonly string[] | null,
): string {
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
