// Messages: how they reach a run, and which runs they wake.

import type { Post, Posted } from '../store.ts'
import type { RowsTx } from './rows-tx.ts'

export function post(tx: RowsTx, { runId, message, urgent, resumes }: Post): Posted {
  const run = tx.runInProgress(runId)
  if (!run) return { outcome: tx.digest(runId) === undefined ? 'missing' : 'closed' }
  if (!tx.post(run, message)) return { outcome: 'duplicate' }
  if (run.session === 0 && (!run.paused || urgent || resumes)) {
    // A start that lies ahead holds back only a run that has not started.
    const earliest = urgent || run.status !== 'pending' ? 0 : run.startAt
    const at = Math.min(run.at, Math.max(tx.now, earliest))
    if (run.paused || at !== run.at) tx.change(run, { paused: undefined, at })
  }
  return { outcome: 'accepted' }
}
