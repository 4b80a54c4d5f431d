// The shape of the suite: cases are values, so that any runner can run them against any store.
import type { Store } from '../../core/stores/store.ts'
import type { VirtualClock } from '../virtual-clock.ts'

export interface Case {
  /** States the behaviour, and cites what it guards against. */
  readonly name: string
  run(fixture: Fixture): Promise<void>
}

/** An empty store. It takes its time from the clock, and nothing else in a case measures any. */
export interface Fixture {
  readonly store: Store
  readonly clock: VirtualClock
  /** A second store on the same data, as another process would have. The fixture closes it. */
  readonly other: () => Promise<Store>
  /** Does the work, and loses what it wrote: as a fail-over to a copy that was made before. */
  readonly losing?: ((work: () => Promise<void>) => Promise<void>) | undefined
}

export interface OpenFixture extends Fixture {
  close(): Promise<void>
}
