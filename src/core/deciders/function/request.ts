// What code asked for and waits for, and how a settlement from history becomes what its promise gives.

import { AssertionFailure, unreachable } from '../../base/assert.ts'
import {
  ActivityError,
  CancelledError,
  PawlError,
  PermanentError,
  RunError,
} from '../../base/errors.ts'
import { errorOf, failureOf } from '../../base/failure.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import { TIMEOUT } from '../../definitions/context.ts'
import type { IfPast } from '../../definitions/options.ts'
import type { AttributeChanges } from '../../kernel/attributes.ts'
import type { Command, ContinueRun, EndRun } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import type { Sent } from '../../kernel/event.ts'
import { isWebhook, type WebhookAnswer } from '../../kernel/webhook.ts'
import { stepName } from '../step-name.ts'
import type { Recorded, Settlement } from './journal.ts'
import type { Wanted } from './matching.ts'
import type { Asked } from './nondeterminism.ts'
import type { Scope } from './scope.ts'

export interface Request {
  readonly wanted: Wanted
  readonly scope: Scope
  readonly promise: Promise<unknown>
  readonly after: number
  readonly ifPast: IfPast
  readonly plan?: StepPlan
  readonly check?: (payload: unknown) => void
  recorded?: Recorded
  asked?: Asked
  past: boolean
  /** It was cancelled, and its end is waited for. */
  stopped?: CancelledError
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Whether its end is waited for when it is cancelled. What was recorded counts, and not what newer code says. */
export function awaitsEnd({ recorded, wanted }: Request): boolean {
  const asked = recorded ?? wanted
  return 'onCancel' in asked && asked.onCancel === 'wait'
}

export function commandOf({ wanted, after, past }: Request): Command {
  return { ...wanted, after, ...(past && { past: true as const }) }
}

/** How the function ended. */
export type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown }
  /** It did not: it wants to begin again. */
  | { readonly ok: 'again'; readonly input: Payload }

export function settle(request: Request, settlement: Settlement): void {
  switch (settlement.type) {
    case 'StepCompleted':
    case 'ChildCompleted':
      return request.resolve(decode(settlement.value))
    case 'SignalReceived': {
      const said = decode(settlement.payload)
      return isWebhook(settlement.name)
        ? answer(request, said as WebhookAnswer)
        : request.resolve(said)
    }
    case 'TimerFired':
      return request.resolve(request.wanted.type === 'AwaitSignal' ? TIMEOUT : undefined)
    case 'StepFailed': {
      if (request.stopped) return request.reject(request.stopped)
      const { failure, attempt: attempts, reason } = settlement
      const activity = request.wanted.type === 'RunStep' ? request.wanted.name : settlement.key
      const cause = errorOf(failure)
      return request.reject(new ActivityError({ failure, activity, attempts, reason }, { cause }))
    }
    case 'ChildFailed': {
      if (request.stopped) return request.reject(request.stopped)
      const { failure, child } = settlement
      const what = `child '${childName(request.wanted)}'`
      return request.reject(
        new RunError({ failure, runId: child, what }, { cause: errorOf(failure) }),
      )
    }
    case 'MessageSent':
      return sent(request, settlement)
    case 'AttributesSet':
    case 'CompensationBegan':
    case 'CompensationEnded':
      return request.resolve(undefined)
    case 'UpdateReceived':
    case 'CancelRequested':
      throw new AssertionFailure(`${settlement.type} settles no request`)
    default:
      return unreachable(settlement)
  }
}

function childName(wanted: Wanted): string {
  const given = wanted.type === 'StartChild' ? wanted.workflowId : undefined
  return given ?? stepName(wanted.key)
}

function sent({ wanted, resolve, reject }: Request, { to, ended }: Sent): void {
  const given = wanted.type === 'SendMessage' ? wanted.to : ''
  const whom =
    typeof given === 'string' ? `run ${given}` : `the run of workflow id '${given.workflowId}'`
  if (to === undefined)
    return reject(new PawlError('RUN_NOT_FOUND', `there is no such run: ${whom}.`))
  if (ended)
    return reject(new PawlError('RUN_ENDED', `${whom} has ended; it takes no more signals.`))
  resolve(undefined)
}

function answer(request: Request, said: WebhookAnswer): void {
  if (!said.ok) return request.reject(new PermanentError(said.reason))
  const payload = decode(said.value)
  try {
    request.check?.(payload)
  } catch (error) {
    return request.reject(error)
  }
  request.resolve(payload)
}

/** What the run is found by from here on: what was recorded, whatever the code says now. */
export function changesOf({ wanted, recorded }: Request): AttributeChanges | undefined {
  if (recorded?.type === 'AttributesSet') return recorded.attributes
  return wanted.type === 'SetAttributes' ? wanted.attributes : undefined
}

/** A promise of code that is not to go on. */
export function never(): Promise<never> {
  return new Promise(() => {})
}

export function endingOf(
  workflow: string,
  outcome: Outcome,
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
    const { reason } = outcome.error
    return { type: 'CancelRun', ...(reason !== undefined && { reason }) }
  }
  return { type: 'FailRun', failure: failureOf(outcome.error) }
}
