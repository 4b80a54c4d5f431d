// The ways in which a held run ends: by its own code, by a stop, or because it cannot go on. The last turn of a
// generation is one of them.
import type { Ending, HistoryEvent } from '../kernel/event.ts'
import { Turn } from '../kernel/turn.ts'
import { sentBy } from './commit.ts'
import { unstorable } from './errors.ts'
import type { HeldOutcome, HeldRun } from './held-run.ts'
import { endBy } from './turn-writer.ts'

/** Commits the end of the run, or of its generation. Messages that arrive meanwhile are consumed with it. */
export async function endRun(held: HeldRun, turn: Turn): Promise<HeldOutcome> {
  const { inbox, writer } = held
  const uncommitted = held.uncommitted.events
  uncommitted.push(...turn.events)
  for (;;) {
    const closing = turn.close()
    const events = [...uncommitted, closing.event]
    const next = writer.after(turn, closing)
    if (typeof next === 'string') return failRun(held, next)
    const committed = await writer.write(events, { ...sentBy(held.head, turn, closing), next })
    if (held.isAbandoned || committed.outcome === 'fenced') return held.lose()
    if (committed.outcome === 'rejected') return failRun(held, committed.reason)
    if (committed.outcome !== 'more') return over(held, events, closing.beginning ? 'continued' : 'ended')
    const before = turn.events.length
    inbox.receive(committed.messages)
    turn.receive(inbox.take())
    // A message that cannot be read came too late to change anything, like every message that comes now.
    turn.consumed.push(...inbox.left.splice(0))
    uncommitted.push(...turn.events.slice(before))
  }
}

/** A turn that the store can never accept must not be tried for ever: the run fails, and its failure says why. */
export function failRun(held: HeldRun, reason: string): Promise<HeldOutcome> {
  return endWithoutCode(held, unstorable(reason))
}

/** Ends the run whatever its code would decide: after its committed history, or after `turn` if that is given. */
export async function endWithoutCode(held: HeldRun, ending: Ending, given?: Turn): Promise<HeldOutcome> {
  const { head, writer } = held
  const turn = given ?? new Turn(head, held.state, held.context.storeClock.now())
  turn.continuation = undefined
  turn.ending = ending
  const closing = turn.close()
  const facts = given ? [...held.uncommitted.events, ...given.events] : []
  const events = [...facts, { ...closing.event, seq: writer.seq + facts.length + 1 }]
  const rest = { ...sentBy(head, turn, closing), next: endBy(ending) }
  const outcome = await writer.insist(events, rest, held.inbox.ids)
  return outcome === 'applied' ? over(held, events, 'ended') : held.lose()
}

// The next generation is due at once, for the first worker that claims it.
function over(held: HeldRun, events: readonly HistoryEvent[], how: 'ended' | 'continued'): HeldOutcome {
  held.steps.stop(how === 'ended' ? 'the run ended' : 'the run continues as new')
  held.committed(events, [])
  held.code.dispose()
  if (how === 'ended') return { type: 'ended', body: held.writer.lastBody }
  return { type: 'released', wakeAt: held.context.storeClock.now() }
}
