// Ends a run that no worker holds and none could claim: one that is terminated, or cancelled before it began. No code need be
// asked for that. The lease of nobody fits until a worker claims the run; then that worker ends it.
import type { HistoryEvent } from '../kernel/event.ts'
import { endingBy, type Stop } from '../kernel/message.ts'
import { statusOf } from '../kernel/run.ts'
import { Turn } from '../kernel/turn.ts'
import type { RunSnapshot, Store, StoredTurn } from '../stores/store.ts'
import { sentBy, turnBody } from './commit.ts'
import { Inbox } from './inbox.ts'
import { headOf, headSince, pastOf } from './past.ts'

/** More messages than this came in meanwhile: somebody is there, and it is theirs. */
const TRIES_MAX = 10

export interface UnclaimedRun {
  readonly run: RunSnapshot
  readonly turns: readonly StoredTurn[]
  readonly stop: Stop
}

/** Answers whether it has ended. */
export async function endUnclaimed(
  { run, turns, stop }: UnclaimedRun,
  commit: Store['commit'],
  turnId: number,
): Promise<boolean> {
  // Somebody has it, or has taken what it was told.
  if (run.session !== undefined || run.unread === 0) return false
  const { state, events } = pastOf(turns)
  const head = headSince(headOf(run), events)
  const { seq, begun } = state
  if (begun && stop.type === 'cancel') return false
  const turn = new Turn(head, state, Math.max(run.now, head.createdAt))
  const inbox = new Inbox()
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    turn.ending ??= endingBy(stop)
    const closing = turn.close()
    const written: readonly HistoryEvent[] = [...turn.events, closing.event]
    const [committed] = await commit([
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
        next: { type: 'end', status: statusOf(turn.ending) },
      },
    ])
    // The first try brings what it was told, in order, the stop among it.
    if (committed?.outcome !== 'more') return committed?.outcome === 'applied'
    inbox.receive(committed.messages)
    // As if all of it had come before the end.
    turn.ending = undefined
    turn.receive(inbox.take())
    // What cannot be read came too late to change anything.
    turn.consumed.push(...inbox.left.splice(0))
  }
  return false
}
