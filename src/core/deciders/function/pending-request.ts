// A request whose promise the code holds, and how the event that settles it settles that promise.

import { AssertionFailure, unreachable } from '../../base/assert.ts'
import { defined } from '../../base/defined.ts'
import { CancelledError, PawlError, PermanentError } from '../../base/errors.ts'
import { failureOf } from '../../base/failure.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import { TIMEOUT } from '../../definitions/context.ts'
import type { IfPast } from '../../definitions/options.ts'
import type { AttributeChanges } from '../../kernel/attributes.ts'
import type { Command, ContinueRun, EndRun, Request } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import { isWebhook, type WebhookAnswer } from '../../kernel/tokens.ts'
import { requestError } from '../errors.ts'
import { stepName, type Unplaced } from '../requests.ts'
import type { RecordedRequest, Settlement } from './journal.ts'
import type { RequestDescription } from './nondeterminism.ts'
import type { Scope } from './scope.ts'

export interface PendingRequest {
  readonly request: Unplaced<Request>
  readonly scope: Scope
  readonly promise: Promise<unknown>
  readonly after: number
  readonly ifPast: IfPast
  readonly plan?: StepPlan
  readonly check?: (payload: unknown) => void
  recorded?: RecordedRequest
  description?: RequestDescription
  past: boolean
  /** The request was cancelled, and the code waits for its end. */
  stopped?: CancelledError
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Whether a cancelled request stays open until it ends. The recorded option counts, not that of newer code. */
export function awaitsEnd({ recorded, request }: PendingRequest): boolean {
  const made = recorded ?? request
  return 'onCancel' in made && made.onCancel === 'wait'
}

export function commandOf({ request, after, past }: PendingRequest): Command {
  return { ...request, after, ...(past && { past: true as const }) }
}

/** How the workflow function ended. */
export type FunctionOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown }
  /** It called `ctx.continueAsNew`. */
  | { readonly ok: 'again'; readonly input: Payload }

export function settle(pending: PendingRequest, settlement: Settlement): void {
  switch (settlement.type) {
    case 'StepCompleted':
    case 'ChildCompleted':
      return pending.resolve(decode(settlement.value))
    case 'SignalReceived': {
      const payload = decode(settlement.payload)
      return isWebhook(settlement.name) ? settleWebhook(pending, payload as WebhookAnswer) : pending.resolve(payload)
    }
    case 'TimerFired':
      return pending.resolve(pending.request.type === 'AwaitSignal' ? TIMEOUT : undefined)
    case 'StepFailed':
    case 'ChildFailed':
      return pending.reject(pending.stopped ?? requestError(nameOf(pending.request), settlement))
    case 'MessageSent':
      return settleMessage(pending, settlement)
    case 'AttributesSet':
    case 'StreamWritten':
    case 'CompensationBegan':
    case 'CompensationEnded':
      return pending.resolve(undefined)
    case 'UpdateReceived':
    case 'CancelRequested':
      throw new AssertionFailure(`${settlement.type} settles no request`)
    default:
      return unreachable(settlement)
  }
}

function nameOf(request: Unplaced<Request>): string {
  if (request.type === 'RunStep') return request.name
  const given = request.type === 'StartChild' ? request.workflowId : undefined
  return given ?? stepName(request.key)
}

function settleMessage(
  { request, resolve, reject }: PendingRequest,
  { to, ended }: Extract<Settlement, { type: 'MessageSent' }>,
): void {
  const given = request.type === 'SendMessage' ? request.to : ''
  const run = typeof given === 'string' ? `run ${given}` : `the run of workflow id '${given.workflowId}'`
  if (to === undefined) {
    const message = `${run} does not exist. Check the id, or start the run first (ctx.start, ctx.signalWithStart).`
    return reject(new PawlError('RUN_NOT_FOUND', message))
  }
  if (ended) {
    const message = `${run} has ended and receives no more signals. Start another run (ctx.start, ctx.signalWithStart).`
    return reject(new PawlError('RUN_ENDED', message))
  }
  resolve(undefined)
}

function settleWebhook(pending: PendingRequest, answer: WebhookAnswer): void {
  if (!answer.ok) return pending.reject(new PermanentError(answer.reason))
  const payload = decode(answer.value)
  try {
    pending.check?.(payload)
  } catch (error) {
    return pending.reject(error)
  }
  pending.resolve(payload)
}

/** The attributes that the request changes. What was recorded counts, not what newer code says. */
export function changesOf({ request, recorded }: PendingRequest): AttributeChanges | undefined {
  if (recorded?.type === 'AttributesSet') return recorded.attributes
  return request.type === 'SetAttributes' ? request.attributes : undefined
}

/** The promise of code that must not continue. */
export function never(): Promise<never> {
  return new Promise(() => {})
}

export function endingOf(
  workflow: string,
  outcome: FunctionOutcome,
  root: Scope,
  unread: ContinueRun['carried'],
): EndRun | ContinueRun {
  if (outcome.ok === 'again') {
    return { type: 'ContinueRun', input: outcome.input, carried: unread }
  }
  if (outcome.ok) {
    try {
      const value = encode(outcome.value, `the result of workflow '${workflow}'`)
      return { type: 'CompleteRun', value }
    } catch (error) {
      return { type: 'FailRun', failure: failureOf(error) }
    }
  }
  if (outcome.error instanceof CancelledError && root.cancelled) {
    return defined({ type: 'CancelRun', reason: outcome.error.reason })
  }
  return { type: 'FailRun', failure: failureOf(outcome.error) }
}
