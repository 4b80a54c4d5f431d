// Turns: whether a turn may be written, and what it changes.

import { limits } from '../../base/limits.ts'
import type { Instant } from '../../base/time.ts'
import type { Committed, Outbound, TurnCommit } from '../store.ts'
import { BY_HAND, NEVER } from '../values.ts'
import { beginGeneration, create, nextGeneration } from './create.ts'
import { post } from './post.ts'
import type { RunState } from './row.ts'
import type { RowsTx, Run, RunForTurn } from './rows-tx.ts'
import { isHolder, released } from './session.ts'
import { writeStreams } from './streams.ts'

/** Takes what a turn sends to other runs: delivers it at once, or keeps it for a later claim. */
export type Send = (tx: RowsTx, sender: string, outbox: readonly Outbound[]) => void

export function commit(tx: RowsTx, turn: TurnCommit, send: Send = deliver): Committed {
  const run = tx.runForTurn(turn.runId)
  const isCurrent = run?.generation === turn.generation
  const isNext = isCurrent && run.reached === turn.seq
  // This very turn was written before, and its answer was lost.
  if (!isNext && isStored(tx, turn)) return { outcome: 'duplicate' }
  if (!isCurrent || !isHolder(run, turn.lease)) return { outcome: 'fenced' }
  if (isAhead(tx, run, turn)) return { outcome: 'ahead', now: tx.now }
  if (!isNext) return { outcome: 'fenced' }
  const { next } = turn
  if (next.type === 'end' || next.type === 'pause') {
    const known = new Set([...turn.consumed, ...((next.type === 'pause' && next.left) || [])])
    const unread = tx.inbox(run).filter(({ id }) => !known.has(id))
    if (unread.length > 0) return { outcome: 'more', messages: unread }
  }
  applyTurn(tx, run, turn)
  if (turn.outbox.length > 0) send(tx, turn.runId, turn.outbox)
  return { outcome: 'applied' }
}

function isStored(tx: RowsTx, { runId, generation, seq, turnId }: TurnCommit): boolean {
  return tx.turnAt(runId, generation, seq) === turnId
}

function applyTurn(tx: RowsTx, run: RunForTurn, turn: TurnCommit): void {
  const { generation, seq, count, turnId, body, next } = turn
  const stored = { generation, seq, count, turnId, epoch: turn.lease.epoch, body }
  if (turn.consumed.length > 0) tx.take(run, turn.consumed)
  for (const task of turn.tasks) tx.insertTask(task, turn.runId)
  for (const id of turn.dropped) tx.dropTask(id)
  if (turn.attributes) tx.setAttributes(run, turn.attributes)
  if (turn.streams) writeStreams(tx, run, turn.streams)
  if (next.type === 'end') {
    const endedAt = Math.max(tx.now, turn.at)
    return tx.end(run, stored, { status: next.status, endedAt, pin: run.pin ?? turn.pin, reason: next.reason })
  }
  if (count > 0) tx.append(run, stored)
  if (next.type === 'hold') {
    const set = marks(run, turn)
    if (set) tx.change(run, set)
    return
  }
  tx.change(run, {
    ...released,
    deliveries: 0,
    seq: seq + count,
    turnId: count > 0 ? turnId : tx.lastTurn(run),
    updatedAt: Math.max(tx.now, turn.at),
    paused: undefined,
    ...marks(run, turn),
    ...moved(run, turn, tx.inbox(run).length > 0, tx.now),
  })
  if (next.type === 'continue') beginGeneration(tx, run, generation + 1, next.past)
}

/** A run is pinned once, and undoes what it did until a turn says that it no longer does. */
function marks(run: Run, { compensating, pin }: TurnCommit): Partial<RunState> | undefined {
  const isNew = compensating !== undefined && compensating !== (run.compensating ?? false)
  const isPinned = pin !== undefined && run.pin === undefined
  if (!isNew && !isPinned) return undefined
  return {
    ...(isNew && { compensating: compensating || undefined }),
    ...(isPinned && { pin }),
  }
}

/** Where a release leaves the run. */
function moved(run: Run, turn: TurnCommit, hasUnread: boolean, now: Instant): Partial<RunState> {
  const { next, generation } = turn
  switch (next.type) {
    case 'release': {
      const at = hasUnread ? now : Math.max(now, next.wakeAt ?? NEVER)
      return { status: next.status, at, reason: next.reason }
    }
    case 'pause': {
      const { build = BY_HAND, failure, uncounted } = next
      const deliveries = uncounted ? Math.max(0, run.deliveries - 1) : 0
      // A run whose holders died is looked for by when it is due, even if another build paused it.
      const at = deliveries > 0 && build !== BY_HAND ? now : NEVER
      return { status: 'paused', at, paused: { build, failure }, reason: next.reason, deliveries }
    }
    case 'continue':
      return { status: 'running', at: now, ...nextGeneration(generation + 1, next.past) }
    default:
      return {}
  }
}

// Stamped with a time that has not come: the writer's clock is wrong, or the store's clock was set back. A stamp that
// is not later than the run's own history, or than its holder's session was good for, was right when the turn was made.
function isAhead(tx: RowsTx, run: Run, { at }: TurnCommit): boolean {
  if (at <= tx.now + limits.clockAheadMsMax || at <= run.updatedAt) return false
  return at > (tx.session(run.session)?.latest ?? 0)
}

/** Delivers what a turn of `sender` sends to other runs. */
export function deliver(tx: RowsTx, sender: string, outbox: readonly Outbound[]): void {
  for (const item of outbox) {
    if (item.type === 'post') post(tx, item)
    else if (create(tx, item.run).outcome === 'refused') post(tx, { runId: sender, message: item.otherwise })
  }
}
