// Filters as a server takes them.
import { runNameOf } from '../core/browser.ts'
import type { RunFilter } from '../core/index.ts'

/** The filter, with its workflows by name. */
export function named({
  workflow,
  ...filter
}: RunFilter): Omit<RunFilter, 'workflow'> & { readonly workflow?: string | readonly string[] } {
  if (workflow === undefined) return filter
  const names = [workflow].flat().map((each) => (typeof each === 'string' ? each : runNameOf(each)))
  const [only = ''] = names
  return { ...filter, workflow: names.length === 1 ? only : names }
}
