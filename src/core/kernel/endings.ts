// The ends of steps, children, updates and runs, as events and as messages.
import { unreachable } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/time.ts'
import type { AnswerUpdate, EndRun, StartChild } from './command.ts'
import { type Ending, type EventBody, type HistoryEvent, hasTrait, isEnding, type LeftUndone } from './event.ts'
import type { ChildOutcome, Message, StepOutcome, Stop } from './message.ts'
import type { OpenStep } from './requests.ts'
import type { Head } from './run.ts'

/** What leaves the run with the commit: other runs to create, messages to other runs. */
export type Outgoing =
  | { readonly type: 'start'; readonly command: StartChild; readonly runId: string }
  | { readonly type: 'post'; readonly runId: string; readonly message: Message }

// A step that started or ended too late. It is not tried again.
export function lateStep(
  key: string,
  open: OpenStep,
  now: Instant,
): { until: Instant; body: EventBody; queued?: true } | undefined {
  const { startBy, closeBy, name, queued } = open
  const [until, code, what] =
    startBy !== undefined && startBy <= (closeBy ?? startBy)
      ? [startBy, 'SCHEDULE_TO_START', 'was not begun in time']
      : [closeBy, 'SCHEDULE_TO_CLOSE', 'did not end in time']
  if (until === undefined || until > now) return undefined
  const message = `step '${name}' ${what}`
  const failure = { type: 'Timeout', message, code, retryable: false }
  const attempt = open.left ? Math.max(1, open.failed) : open.failed + 1
  const body = { type: 'StepFailed', key, attempt, failure, reason: 'timeout' } as const
  return { until, body, ...(queued && { queued: true }) }
}

export function stopChild(
  head: Pick<Head, 'runId' | 'generation'>,
  runId: string,
  type: Stop['type'],
  reason: string,
): Extract<Outgoing, { type: 'post' }> {
  // A cancelled child may be terminated later, so the ids differ.
  const again = type === 'terminate' ? ':terminate' : ''
  const id = `parent:${head.runId}:${head.generation}${again}`
  return { type: 'post', runId, message: { type, id, reason } }
}

/** Why a run stops its requests. */
export type Stopped = 'cancelled' | 'unneeded' | 'ended'

export function becauseOf(why: Stopped, { runId }: Head): string {
  if (why === 'unneeded') return 'its parent no longer waits for it'
  return `its parent ${runId} ${why === 'ended' ? 'ended' : 'was cancelled'}`
}

export function answered({ id, answer }: AnswerUpdate): EventBody {
  if (answer.ok) return { type: 'UpdateCompleted', id, value: answer.value }
  const { failure, rejected } = answer
  return { type: 'UpdateFailed', id, failure, ...(rejected && { rejected }) }
}

export function stepEnded(key: string, outcome: StepOutcome): EventBody {
  if (outcome.ok) return { type: 'StepCompleted', key, attempt: outcome.attempt, value: outcome.value }
  const { attempt, failure, reason } = outcome
  return { type: 'StepFailed', key, attempt, failure, reason }
}

/** A cancelled step is not tried again, whatever its retry policy says. */
export function lastAttempt(result: {
  readonly key: string
  readonly attempt: number
  readonly failure: Failure
}): EventBody {
  const { key, attempt, failure } = result
  return { type: 'StepFailed', key, attempt, failure, reason: 'non-retryable' }
}

export function childEvent(message: Extract<Message, { type: 'childEnded' }>): EventBody {
  const { key, child, outcome } = message
  return outcome.ok
    ? { type: 'ChildCompleted', key, value: outcome.value }
    : { type: 'ChildFailed', key, child, failure: outcome.failure }
}

const ENDED_BY = { CompleteRun: 'RunCompleted', FailRun: 'RunFailed', CancelRun: 'RunCancelled' } as const

/** A command to end the run, and the event it becomes, have the same fields. */
export function endingOf({ type, ...fields }: EndRun): Ending {
  return { type: ENDED_BY[type], ...fields } as Ending
}

/** What a run left undone when it completed, for people. */
export function leftUndone({ notBegun, cutOff }: LeftUndone): string | undefined {
  const parts = [
    ...(notBegun ? [`without ${notBegun.join(', ')}: its code did not await them, so they were never begun`] : []),
    ...(cutOff
      ? [
          `while handlers were at work (${cutOff.join(', ')}), which were cut off: wait for them with ctx.wait(ctx.allHandlersFinished)`,
        ]
      : []),
  ]
  return parts.length === 0 ? undefined : `it completed ${parts.join('; and ')}`
}

/** The ending in strict mode: leaving something undone is a failure. */
export function strictly(ending: Ending | undefined): Ending | undefined {
  const left = ending?.type === 'RunCompleted' ? leftUndone(ending) : undefined
  if (left === undefined) return ending
  const failure = { type: 'LeftUndone', message: left, code: 'LEFT_UNDONE', retryable: false }
  return { type: 'RunFailed', failure }
}

export function childEnded(head: Head, parent: NonNullable<Head['parent']>, ending: Ending): Outgoing {
  const { generation, key } = parent
  const message: Message = {
    type: 'childEnded',
    id: `child:${head.runId}`,
    generation,
    key,
    child: head.runId,
    outcome: outcomeOf(ending),
  }
  return { type: 'post', runId: parent.runId, message }
}

function outcomeOf(ending: Ending): ChildOutcome {
  switch (ending.type) {
    case 'RunCompleted':
      return { ok: true, value: ending.value }
    case 'RunFailed':
      return { ok: false, failure: ending.failure }
    case 'RunCancelled': {
      const message = ending.reason ?? 'the run was cancelled'
      return { ok: false, failure: { type: 'CancelledError', message, retryable: false } }
    }
    default:
      return unreachable(ending)
  }
}

/**
 * The end of a run that was cancelled before it began, so that a replay ends the same way. Messages alone do not begin a
 * run, and a run that has not begun has no code that could clean up.
 */
export function endedUnbegun(events: readonly HistoryEvent[]): EndRun | undefined {
  if (events[0]?.seq !== 1) return undefined
  let cancel: Extract<HistoryEvent, { type: 'CancelRequested' }> | undefined
  for (const event of events) {
    if (event.type === 'CancelRequested') cancel ??= event
    else if (!hasTrait(event, 'message') && !isEnding(event)) return undefined
  }
  return cancel && { type: 'CancelRun', ...(cancel.reason !== undefined && { reason: cancel.reason }) }
}
