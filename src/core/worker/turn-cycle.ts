// One turn of a held run: receive messages, settle steps, fire what is due, decide, commit, begin steps.

import { limits } from '../base/limits.ts'
import type { Instant } from '../base/time.ts'
import type { OpenStep } from '../kernel/requests.ts'
import { Turn } from '../kernel/turn.ts'
import { announceHeld } from './announce.ts'
import { canWait, sentBy } from './commit.ts'
import { endRun, failRun } from './ending.ts'
import { timedOut, tooLong } from './errors.ts'
import type { HeldOutcome, HeldRun } from './held-run.ts'
import { needsReload, waitsForTrigger } from './history.ts'
import { pauseByRequest, pauseForCode, pauseForMessage, releasedWarm, releaseForReload, releasing } from './pausing.ts'
import { begunInTime, cancelledTasks, cancelTasks, overdueSteps, tasksOf } from './queued-steps.ts'
import { NoAnswer } from './store-line.ts'
import { HOLD } from './turn-writer.ts'

type ReadySteps = readonly [key: string, step: OpenStep][]

/** Returns how the run was released, paused or ended; `undefined` while it is held. */
export async function runTurn(held: HeldRun): Promise<HeldOutcome | undefined> {
  const { context, head, state, inbox } = held
  if (inbox.unreadable !== undefined) return pauseForMessage(held, inbox.unreadable)
  // The store's time is an estimate; nothing happens to a run before it was created.
  const now = Math.max(context.storeClock.now(), head.createdAt)
  const turn = new Turn(head, state, now)
  turn.receive(inbox.take())
  turn.settle(held.steps.takeResults())
  const overdue = overdueSteps(state, now)
  turn.fireDue(overdue && (await begunInTime(context, head, overdue)))
  if (turn.ending) return endRun(held, turn)
  if (needsReload(turn.events) || waitsForTrigger(head, state)) return releaseForReload(held, turn)
  try {
    await held.code.decide(turn, state, held.writer.deaths, now)
    held.writer.deaths = 0
  } catch (error) {
    if (held.isAbandoned || error instanceof NoAnswer) throw error
    return pauseForCode(held, error, turn)
  }
  // The lease was lost while the code decided: this turn must not be written, even if the store would accept it.
  if (held.isAbandoned) return held.lose()
  turn.ending ??= tooLong(state.seq, held.writer.bytes) ?? timedOut(head, state, now)
  if (turn.ending || turn.continuation) return endRun(held, turn)
  return continueRun(held, turn, now)
}

// Holds the run while there is something to do here, and releases or pauses it otherwise.
async function continueRun(held: HeldRun, turn: Turn, now: Instant): Promise<HeldOutcome | undefined> {
  const { context, state, steps, code, uncommitted, inbox } = held
  steps.stopCancelled(turn, state)
  const isPausing = state.pausing !== undefined
  const mayBegin = held.phase === 'working' && !isPausing
  const ready = mayBegin ? code.takeReady(turn, state, steps, now) : []
  uncommitted.events.push(...turn.events)
  const isBusy = steps.size > 0 || steps.hasResults || ready.length > 0
  if (isPausing && !isBusy) {
    // Events are committed first, so that a message that arrives meanwhile still wakes the run.
    const outcome = await commitTurn(held, turn, true, [])
    return outcome || inbox.size > 0 ? outcome : pauseByRequest(held)
  }
  // By the store's clock: the run's own time is ahead of it if the clock was set back.
  const isDueSoon = (held.nextDue ?? Infinity) - context.storeClock.now() <= limits.holdForTimerMs
  const cancelled = cancelledTasks(state, held.toldTasks)
  const stays = isBusy || (isDueSoon && held.phase === 'working') || inbox.size > 0
  const mustCommit = cancelled.length > 0 || uncommitted.isAwaited
  if (stays && !mustCommit && canWait(uncommitted.events, turn, code.current, now)) {
    beginSteps(held, ready)
    return undefined
  }
  const outcome = await commitTurn(held, turn, stays || cancelled.length > 0, ready)
  if (!outcome && cancelled.length > 0) await tellTasks(held, cancelled)
  return outcome
}

async function commitTurn(
  held: HeldRun,
  turn: Turn,
  holds: boolean,
  ready: ReadySteps,
): Promise<HeldOutcome | undefined> {
  const { context, head, state, code, uncommitted } = held
  const committed = await held.writer.write(uncommitted.events, {
    ...sentBy(head, turn),
    tasks: tasksOf(head, state, turn, (key) => code.planOf(key)),
    next: holds ? HOLD : releasing(held),
  })
  if (held.isAbandoned || committed.outcome === 'fenced') return held.lose()
  if (committed.outcome === 'rejected') return failRun(held, committed.reason)
  held.committed(uncommitted.events.splice(0), turn.consumed)
  if (!holds) {
    announceHeld(context, head, 'run.suspended')
    return releasedWarm(held)
  }
  beginSteps(held, ready)
  return undefined
}

function beginSteps({ head, steps, code }: HeldRun, ready: ReadySteps): void {
  for (const [key, step] of ready) steps.begin(head, key, step, code.planOf(key))
}

// A queued step that no worker has begun is over. The end of any other comes as a message.
async function tellTasks(held: HeldRun, keys: readonly string[]): Promise<void> {
  const { context, head, state, steps } = held
  for (const key of keys) held.toldTasks.add(key)
  for (const key of await cancelTasks(context, head, keys)) {
    const step = state.open.get(key)
    if (step?.type === 'step') steps.endCancelled(key, step)
  }
  held.hasToldTasks = true
}
