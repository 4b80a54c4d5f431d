import type { RunRecord, Timeline } from 'pawl/client'
import { hasBody } from './bars.ts'

/** The status of a run at the moment that its timeline is of: from what was open then. */
export function statusThen(
  { rows }: Timeline,
  { status }: RunRecord,
  { at = 0, last }: { readonly at: number | undefined; readonly last: number },
): string {
  if (at >= last) return status
  const open = rows.filter(({ outcome }) => outcome === 'open')
  if (open.some(({ kind }) => kind === 'undo')) return 'compensating'
  const isBackingOff = open.some(({ retries, to }) => to === undefined && retries.length > 0)
  if (open.some((row) => hasBody(row))) return isBackingOff && open.length === 1 ? 'waiting' : 'running'
  return open.length > 0 ? 'waiting' : 'running'
}
