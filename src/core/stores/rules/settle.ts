// Tasks that end, and what steps leave behind for their next attempt.
import type { Note, Noted, TaskOutcome, TaskSettled } from '../store.ts'
import { post } from './post.ts'
import type { RowsTx } from './rows-tx.ts'
import { isHolder, released } from './session.ts'

export function settle(tx: RowsTx, { taskId, lease, result }: TaskOutcome): TaskSettled {
  const task = tx.task(taskId)
  if (!task || !isHolder(task, lease)) return { outcome: 'fenced' }
  if (result.type === 'done') {
    tx.dropTask(taskId)
    post(tx, { runId: task.runId, message: result.message })
  } else if (result.type === 'return') {
    tx.changeTask(task, { ...released, at: tx.now, deliveries: task.deliveries - 1 })
  } else {
    const { failed, failure, delayMs } = result
    tx.changeTask(task, { ...released, at: tx.now + delayMs, failed, failure, deliveries: 0 })
  }
  return { outcome: 'applied' }
}

export function note(tx: RowsTx, note: Note): Noted {
  const run = tx.runInProgress(note.runId)
  if (run?.generation !== note.generation) return {}
  const there = note.once ? tx.note(note) : undefined
  if (there !== undefined) return { body: there }
  tx.putNote(run, note)
  return { body: note.body }
}
