// Drives a held run: turn after turn, until it is released, ends, or the lease is lost. Turns are strictly one after
// another; what happens meanwhile is collected for the next one. A step begins after the turn that asked for it is
// committed, unless the same turn would be decided again if this process died now.
import { assert } from '../base/assert.ts'
import { limits } from '../base/limits.ts'
import { poisoned } from './errors.ts'
import type { HeldOutcome, HeldRun } from './held-run.ts'
import { decodeHistory, headSince, loadHistory } from './history.ts'
import { pauseForCode, pauseUnread } from './pausing.ts'
import { NoAnswer } from './store-line.ts'
import { runTurn } from './turn-cycle.ts'

export async function drive(held: HeldRun): Promise<HeldOutcome> {
  try {
    if (!held.code.hasBegun) await readHistory(held)
    held.isRead = true
    for (;;) {
      const outcome = await runTurn(held)
      if (outcome) return outcome
      const pause = untilNextTurn(held)
      if (pause) await pause
      if (held.isAbandoned) return held.lose()
    }
  } catch (error) {
    if (held.isAbandoned) return held.lose()
    if (error instanceof NoAnswer) throw error
    return await (held.isRead ? pauseForCode(held, error) : pauseUnread(held, error))
  } finally {
    held.uncommitted.close()
  }
}

async function readHistory(held: HeldRun): Promise<void> {
  const { context, claimed, writer } = held
  const stored = await loadHistory(context.line, claimed, held.earlier)
  // Before the turns are decoded: even if that fails, the run can be paused after the last of them.
  writer.continueAfter(stored)
  held.fruitless = stored.fruitless
  const history = decodeHistory(stored.turns)
  if (held.headError !== undefined) throw held.headError
  held.isRead = true
  held.state = history.state
  held.head = headSince(held.head, history.events)
  assert(history.state.seq >= claimed.seq, 'history reaches as far as at the last release')
  writer.historyRead(history)
  if (stored.deaths >= limits.poisonDeliveries) {
    // The next holder counts from zero.
    writer.deaths = 0
    throw poisoned(stored.deaths)
  }
  await held.code.open(held.head, history.events)
}

/**
 * Resolves when there is a reason for another turn: a message, a result, a timer, or a change of phase. `undefined` if
 * there is one now.
 */
function untilNextTurn(held: HeldRun): Promise<void> | undefined {
  const { inbox, steps, uncommitted, context, hasToldTasks } = held
  held.hasToldTasks = false
  if (inbox.size > 0 || inbox.unreadable !== undefined || steps.hasResults) return undefined
  if (held.isAbandoned || hasToldTasks || uncommitted.isAwaited) return undefined
  const commitBy = (uncommitted.events[0]?.at ?? Number.POSITIVE_INFINITY) + limits.carryMsMax
  const due = Math.min(held.nextDue ?? Number.POSITIVE_INFINITY, commitBy)
  return held.waker.sleep(Math.max(0, due - context.storeClock.now()))
}
