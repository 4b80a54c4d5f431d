// What a planted bug is: patches to the source, and the simulation that must catch it.
import type { StoreKind } from './simulate-seed.ts'

export interface Patch {
  readonly file: string
  readonly find: string
  readonly replace: string
}

export interface Mutant {
  readonly name: string
  /** The store that has the code it is planted in. */
  readonly store: StoreKind
  /** Where to begin, for what few seeds meet. */
  readonly first?: number
  /** Caught by random programs, by random graphs, or by runs that write streams. */
  readonly program?: 'sink' | 'graph' | 'streams'
  readonly patches: readonly Patch[]
}

export const patch = (file: string, find: string, replace: string): Patch => ({
  file,
  find,
  replace,
})
export const mutant = (name: string, ...patches: Patch[]): Mutant => ({
  name,
  store: 'memory',
  patches,
})

/** Begins shortly before the first seed that meets it: what few seeds meet would take most of the time of all. */
export const from = (first: number, planted: Mutant): Mutant => ({ ...planted, first })
