// The shape of a case. Cases are values, so that any test runner can run them on any store.
import type { Store } from '../../core/stores/store.ts'
import type { VirtualClock } from '../virtual-clock.ts'

export interface Case {
  /** States the behaviour; a prefix names the invariant or hazard that it guards. */
  readonly name: string
  run(fixture: Fixture): Promise<void>
}

/** An empty store that takes its time from the clock, which only the case moves. */
export interface Fixture {
  readonly store: Store
  readonly clock: VirtualClock
  /** Opens a second store on the same data, as another process would. The fixture closes it. */
  readonly other: () => Promise<Store>
  /** Runs the work and then loses its writes, as a fail-over to an older copy does. */
  readonly losing?: ((work: () => Promise<void>) => Promise<void>) | undefined
}

export interface OpenFixture extends Fixture {
  close(): Promise<void>
}
