// The ways in which a worker releases or pauses a run that has not ended.
import { type Failure, failureOf } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Instant } from '../base/time.ts'
import { endingBy } from '../kernel/message.ts'
import { pauseReason, waitReason } from '../kernel/reason.ts'
import { Turn } from '../kernel/turn.ts'
import type { Next } from '../stores/store.ts'
import { announceEvents, announcePaused } from './announce.ts'
import { outbound, sentBy } from './commit.ts'
import { endWithoutCode, failRun } from './ending.ts'
import { pauseRequested } from './errors.ts'
import type { HeldOutcome, HeldRun } from './held-run.ts'
import { needsReload, waitsForTrigger } from './history.ts'
import { isCommitted, NOTHING } from './turn-writer.ts'

/** How a run is released that waits for something; or, while draining, for another worker to continue it at once. */
export function releasing(held: HeldRun): Next {
  const isDraining = held.phase === 'draining'
  const wakeAt = isDraining ? held.context.storeClock.now() : held.nextDue
  const due = wakeAt === undefined ? {} : { wakeAt }
  if (isDraining) return { type: 'release', status: 'running', ...due }
  return { type: 'release', status: 'waiting', reason: waitReason(held.state.open.values()), ...due }
}

/** The run was released, and its execution stays warm. */
export function releasedWarm(held: HeldRun): HeldOutcome {
  const wakeAt = held.nextDue
  if (held.context.settings.alwaysReplay) return releasedCold(held, wakeAt)
  const { state, head } = held
  const { turnId, bytes } = held.writer
  const warm = { execution: held.code.current, state, head, turnId, bytes }
  return { type: 'released', warm, ...(wakeAt !== undefined && { wakeAt }) }
}

function releasedCold(held: HeldRun, wakeAt?: Instant): HeldOutcome {
  held.code.dispose()
  return { type: 'released', ...(wakeAt !== undefined && { wakeAt }) }
}

/** A pause was requested, and everything that happened before is committed. A message that arrives now resumes it. */
export async function pauseByRequest(held: HeldRun): Promise<HeldOutcome | undefined> {
  const failure = pauseRequested(held.state.pausing?.note)
  const next: Next = { type: 'pause', failure: JSON.stringify(failure), reason: pauseReason(failure) }
  const committed = await held.writer.write([], { ...NOTHING, next })
  if (committed.outcome === 'more') {
    held.receive(committed.messages)
    return undefined
  }
  if (committed.outcome !== 'applied') return held.lose()
  announcePaused(held.context, held.head, failure)
  return releasedWarm(held)
}

/**
 * Releases a run whose code must not begin yet, or must be opened again: the next holder reads the run from its
 * beginning.
 */
export async function releaseForReload(held: HeldRun, turn: Turn): Promise<HeldOutcome> {
  await runningStepsEnd(held)
  const now = held.context.storeClock.now()
  held.steps.cutOff('the run has another definition now')
  turn.settle(held.steps.takeResults())
  const wakeAt = waitsForTrigger(held.head, held.state) ? undefined : now
  const events = [...held.uncommitted.events, ...turn.events]
  const next: Next = {
    type: 'release',
    status: 'waiting',
    ...(wakeAt !== undefined && { wakeAt }),
  }
  const committed = await held.writer.write(events, { ...sentBy(held.head, turn), next })
  if (committed.outcome === 'rejected') return failRun(held, committed.reason)
  if (!isCommitted(committed)) return held.lose()
  held.committed(events, turn.consumed)
  return releasedCold(held, wakeAt)
}

/**
 * Pauses a run whose code does not fit its history, or waits for something that pawl cannot see. The run has not
 * failed, and the same code must not try again. What happened is committed, including attempts that are cut off now;
 * what the code decided is not. A stop or a migration needs no code, and takes effect instead.
 */
export async function pauseForCode(held: HeldRun, error: unknown, given?: Turn): Promise<HeldOutcome> {
  const { context, head, inbox, writer } = held
  const turn = given ?? new Turn(head, held.state, context.storeClock.now())
  if (!given) turn.receive(inbox.take())
  held.steps.cutOff('the run was paused')
  turn.settle(held.steps.takeResults())
  if (inbox.stop) return endWithoutCode(held, endingBy(inbox.stop), turn)
  if (needsReload(turn.events)) return releaseForReload(held, turn)
  const facts = [...held.uncommitted.events, ...turn.events]
  const failure = failureOf(error)
  if (facts.length === 0 && failure.code === 'VERSION_MISMATCH') await backOff(held)
  const committed = await writer.write(facts, {
    ...NOTHING,
    consumed: [...turn.consumed],
    outbox: outbound(head, turn.outgoing),
    next: writer.pausedBy(failure, inbox.left),
  })
  if (committed.outcome === 'more') {
    // If none of the messages is new, a turn took them and was never committed: the next holder reads them again.
    if (!inbox.receive(committed.messages)) return held.lose()
    turn.receive(inbox.take())
    return pauseForCode(held, error, turn)
  }
  if (!isCommitted(committed)) return held.lose()
  announceEvents(context, held, facts)
  return paused(held, failure)
}

/** Pauses a run that has a message which cannot be read, because nothing may be decided without it. */
export async function pauseForMessage(held: HeldRun, error: unknown): Promise<HeldOutcome> {
  await runningStepsEnd(held)
  await backOff(held)
  return held.isAbandoned ? held.lose() : pauseForCode(held, error)
}

/**
 * Pauses a run whose history cannot be read here. It consumes nothing, so that a worker that can read it starts from
 * the same state.
 */
export async function pauseUnread(held: HeldRun, error: unknown): Promise<HeldOutcome> {
  await backOff(held)
  if (held.isAbandoned) return held.lose()
  const failure = failureOf(error)
  const outcome = await held.writer.pauseUnread(failure, held.inbox)
  if (outcome === 'applied') return paused(held, failure)
  const { stop } = held.inbox
  return stop && outcome === 'stopped' ? endWithoutCode(held, endingBy(stop)) : held.lose()
}

function paused(held: HeldRun, failure: Failure): HeldOutcome {
  announcePaused(held.context, held.head, failure)
  return releasedCold(held)
}

/** Resolves when no step is running any more, or when a stop arrives. */
async function runningStepsEnd(held: HeldRun): Promise<void> {
  while (held.steps.areRunning && !held.inbox.stop && !held.isAbandoned)
    await held.waker.sleep(Number.POSITIVE_INFINITY)
}

// Two builds that cannot continue the run would otherwise claim it from each other as fast as they can.
async function backOff(held: HeldRun): Promise<void> {
  const { storeClock } = held.context
  const { unreadableRetryMsMin: min, unreadableRetryMsMax: max } = limits
  const pauseMs = held.fruitless <= 0 ? 0 : Math.min(max, min * 2 ** (held.fruitless - 1))
  const until = storeClock.now() + pauseMs
  while (held.phase === 'working' && !held.inbox.isPressing && storeClock.now() < until)
    await held.waker.sleep(until - storeClock.now())
}
