// A run's row within a transaction, and what came of it as a change.
import type { StoredMessage } from '../store.ts'
import type { RowState, RowTurn, RunChange, RunRow } from './row.ts'

export interface Draft {
  readonly before: RunRow | undefined
  row: RunRow
  readonly turns: RowTurn[]
  forgotten?: number
  isDeleted?: true
  /** It came from another store, and the newest run of its workflow id was created later. */
  readonly older?: true
  /** Messages that arrived and were not taken again. */
  posted: StoredMessage[]
  /** Ids of messages that were there before. One that is taken and then posted again is in both. */
  readonly taken: string[]
}

export function changeOf(runId: string, draft: Draft): RunChange {
  if (draft.isDeleted) return { runId, isDeleted: true }
  const { before, row, turns, posted, taken } = draft
  const { head, digest, startAt } = row
  const set = difference(before, row)
  const noted = newNotes(before?.notes, row.notes, set)
  return {
    runId,
    ...(!before && { born: { head, digest, startAt } }),
    ...(draft.older && { older: draft.older }),
    ...(Object.keys(set).length > 0 && { set }),
    ...(noted && { noted }),
    ...(turns.length > 0 && { turns }),
    ...(draft.forgotten !== undefined && { forgotten: draft.forgotten }),
    ...(posted.length > 0 && { posted }),
    ...(taken.length > 0 && { taken }),
    ...(row.outbox !== (before?.outbox ?? row.outbox) && { outbox: row.outbox }),
    ...(!before && row.outbox.length > 0 && { outbox: row.outbox }),
  }
}

export function isSomething(change: RunChange): boolean {
  return Object.keys(change).length > 1
}

const STATE: readonly Exclude<keyof RowState, 'notes'>[] = [
  ...(['status', 'at', 'updatedAt', 'endedAt', 'session', 'epoch', 'nonce', 'deliveries'] as const),
  ...(['generation', 'seq', 'reached', 'turnId', 'paused', 'attributes'] as const),
  ...(['compensating', 'pin', 'reason'] as const),
]

/** What differs between two states of a run. Of its notes, only whether those of before are gone. */
function difference(before: RunRow | undefined, after: RunRow): NonNullable<RunChange['set']> {
  const set: Record<string, unknown> = {}
  for (const key of STATE) {
    const [old, now] = [before?.[key], after[key]]
    if (old !== now) set[key] = now ?? null
  }
  const notes = before?.notes
  if (notes && Object.keys(notes).some((id) => after.notes?.[id] === undefined)) set['notes'] = null
  return set
}

/** The notes of `after` that are not among those left of `before`. Each may be large, and there may be many. */
function newNotes(
  before: RowState['notes'],
  after: RowState['notes'],
  set: NonNullable<RunChange['set']>,
): RunChange['noted'] {
  if (!after || after === before) return undefined
  const left = set.notes === null ? {} : before
  const fresh = Object.entries(after).filter(([id, body]) => left?.[id] !== body)
  return fresh.length > 0 ? Object.fromEntries(fresh) : undefined
}
