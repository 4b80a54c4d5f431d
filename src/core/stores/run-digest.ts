// By which a copy of a run is compared with the run.
import { digest } from '../base/digest.ts'
import type { WholeRun } from './moving.ts'

/** The same run has the same digest in every store. Messages that only one of the stores has can be left out. */
export function digestOfRun(run: WholeRun, only?: ReadonlySet<string>): string {
  const inbox = only ? run.inbox.filter(({ id }) => only.has(id)) : run.inbox
  return digest(JSON.stringify({ ...run, inbox }, sortedKeys))
}

// Stores keep properties in different orders.
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
