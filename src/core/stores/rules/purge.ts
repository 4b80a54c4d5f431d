// Deleting runs that have ended.
import type { EndedRun, Purged } from '../store.ts'
import { hasEnded } from './row.ts'
import type { RowsTx } from './rows-tx.ts'

export function purge(tx: RowsTx, { runId, endedAt }: Pick<EndedRun, 'runId' | 'endedAt'>): Purged {
  const run = tx.run(runId)
  if (!run) return { outcome: 'missing' }
  // It may have been retried since it was read, and have ended again. The rest of an interrupted move needs the rows of
  // runs that have left.
  if (!hasEnded(run) || run.endedAt !== endedAt || run.status === 'moved') return { outcome: 'kept' }
  if (tx.isNeeded(run)) return { outcome: 'kept' }
  tx.delete(run)
  return { outcome: 'purged' }
}
