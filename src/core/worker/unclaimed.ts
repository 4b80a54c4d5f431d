// Ends a run that no worker holds: one that is terminated, or cancelled before it began. That needs no workflow code.
// The empty lease fits until a worker claims the run; then that worker ends it.
import type { HistoryEvent } from '../kernel/event.ts'
import { endingBy, type Stop } from '../kernel/message.ts'
import { Turn } from '../kernel/turn.ts'
import type { RunSnapshot, Store, StoredTurn } from '../stores/store.ts'
import { announceEvents, type Listeners } from './announce.ts'
import { sentBy, turnBody } from './commit.ts'
import { decodeHistory, headOf, headSince } from './history.ts'
import { Inbox } from './inbox.ts'
import { endBy } from './turn-writer.ts'

/** If more messages than this arrive meanwhile, the run is left to the worker that sees to it. */
const TRIES_MAX = 10

export interface UnclaimedRun {
  readonly run: RunSnapshot
  readonly turns: readonly StoredTurn[]
  readonly stop: Stop
}

/** Returns whether the run has ended. */
export async function endUnclaimed(
  { run, turns, stop }: UnclaimedRun,
  { store, turnId, ...listeners }: Listeners & { readonly store: Pick<Store, 'commit'>; readonly turnId: number },
): Promise<boolean> {
  // A worker holds the run, or has consumed the stop.
  if (run.session !== undefined || run.unread === 0) return false
  const { state, events } = decodeHistory(turns)
  const head = headSince(headOf(run), events)
  const { seq, begun } = state
  if (begun && stop.type === 'cancel') return false
  const turn = new Turn(head, state, Math.max(run.now, head.createdAt))
  const inbox = new Inbox()
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    turn.ending ??= endingBy(stop)
    const closing = turn.close()
    const written: readonly HistoryEvent[] = [...turn.events, closing.event]
    const [committed] = await store.commit([
      {
        runId: head.runId,
        lease: { session: 0, nonce: 0, epoch: run.epoch },
        generation: head.generation,
        turnId,
        seq,
        count: written.length,
        at: closing.event.at,
        body: turnBody('by hand', written),
        ...sentBy(head, turn, closing),
        next: endBy(turn.ending),
      },
    ])
    // The first try returns all messages in order, the stop among them.
    if (committed?.outcome === 'applied') announceEvents(listeners, { head, state }, written)
    if (committed?.outcome !== 'more') return committed?.outcome === 'applied'
    // A fail-over may have taken the stop back: then the run was never asked to end.
    if (tries === 0 && !committed.messages.some(({ id }) => id === stop.id)) return false
    inbox.receive(committed.messages)
    // They are received as if they had come before the end.
    turn.ending = undefined
    turn.receive(inbox.take())
    // A message that cannot be read came too late to change anything.
    turn.consumed.push(...inbox.left.splice(0))
  }
  return false
}
