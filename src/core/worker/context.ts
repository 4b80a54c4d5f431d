// What the parts of one worker share: a plain object, made once by the worker.
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { ActivityClient } from '../definitions/contract.ts'
import type { AroundActivity } from '../definitions/interceptor.ts'
import type { Registry } from '../definitions/registry.ts'
import type { World } from '../kernel/decider.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { Store } from '../stores/store.ts'
import type { Bus } from '../telemetry/announcement.ts'
import type { Deciders } from './deciders.ts'
import type { Session } from './session.ts'
import type { Slots } from './slots.ts'
import type { StoreClock } from './store-clock.ts'
import type { StoreLine } from './store-line.ts'
import type { WorkerSettings } from './worker-settings.ts'

/** What an engine gives to each of its workers. */
export interface EngineParts {
  readonly store: Store
  readonly catalogue: Catalogue
  readonly deciders: Deciders
  readonly registry: Registry
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly bus: Bus
  /** The client of a step body, under the idempotency key of its step. */
  readonly clientFor: (key: string) => ActivityClient
  /** Interceptors around each attempt at a step body. */
  readonly aroundBodies: readonly AroundActivity[]
  /** Callers in this process that wait for runs: told when a run ends here, or is released without having ended. */
  readonly results: {
    ended(runId: string, body: string): void
    released(runId: string): void
  }
}

export interface WorkerContext extends EngineParts {
  readonly settings: WorkerSettings
  /** What workflow code may have of the world. */
  readonly world: World
  /** Calls to the store that are repeated until it answers. */
  readonly line: StoreLine
  /** The store's time, as far as this process can tell. */
  readonly storeClock: StoreClock
  /** Bounds how many step bodies run at once. */
  readonly slots: Slots
  /** The session that everything is held under. A new one replaces it when it is dead. */
  session: Session
  /** Tasks held by this worker, by their ids. */
  readonly tasks: ReadonlyMap<string, { cancel(): void }>
  /** Activities whose missing code was logged. */
  readonly missingActivities: Set<string>
}
