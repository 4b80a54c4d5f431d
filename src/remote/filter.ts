// Filters as a server takes them.
import { runNameOf } from '../core/browser.ts'
import type { RunFilter } from '../core/index.ts'

/** The filter, with its workflow by name. */
export function named({
  workflow,
  ...filter
}: RunFilter): Omit<RunFilter, 'workflow'> & { readonly workflow?: string } {
  if (workflow === undefined) return filter
  return { ...filter, workflow: typeof workflow === 'string' ? workflow : runNameOf(workflow) }
}
