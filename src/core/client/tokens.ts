// Resolves webhooks and completes steps from outside, by their token alone.

import { digest, digestPayload } from '../base/digest.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { decode, encode } from '../base/value.ts'
import { decodePayload } from '../kernel/codec.ts'
import type { Event } from '../kernel/event.ts'
import type { ChildOutcome, Message } from '../kernel/message.ts'
import { RunState } from '../kernel/run.ts'
import {
  runOfToken,
  STEP_SECRET,
  type StepToken,
  stepOfToken,
  type WebhookAnswer,
  webhookSignal,
} from '../kernel/tokens.ts'
import { refuseMoved } from './errors.ts'
import { generationsOf } from './history.ts'
import type { HandleHost } from './run-handle.ts'

/** What the store said to the last message: nothing was sent yet, it was a duplicate, or the run had ended. */
type Sent = 'not yet' | 'duplicate' | 'closed'

/** The message to send by the current history; 'done' if the run has consumed it before, 'wait' if it is too early. */
type Decide = (sent: Sent, events: Events) => Next | Promise<Next>
type Next = Message | 'done' | 'wait'

export async function settleByToken(host: HandleHost, token: string, answer: WebhookAnswer): Promise<void> {
  if (!token) throw invalid('is empty. Pass the token of the webhook or step')
  const step = typeof token === 'string' ? stepOfToken(token) : undefined
  if (step) return send(host, step.runId, completion(host, step, answer))
  const runId = typeof token === 'string' ? runOfToken(token) : undefined
  if (runId === undefined) throw invalid()
  return send(host, runId, webhook(token, answer))
}

async function send(host: HandleHost, runId: string, decide: Decide): Promise<void> {
  let pauseMs: number = limits.updatePollMsMin
  let waitedMs = 0
  for (let sent: Sent = 'not yet'; ; ) {
    const message = await decide(sent, await allEvents(host, runId))
    if (message === 'done') return
    // An answer with this id is in the inbox. The history will show whether it was the same one.
    if (message === 'wait' || sent === 'duplicate') {
      if ((waitedMs += pauseMs) > limits.storePatienceMs) throw answerUnread()
      await host.pause(pauseMs)
      pauseMs = Math.min(pauseMs * 2, limits.resultPollMsMax)
      continue
    }
    const { outcome } = await host.post(runId, message, {})
    if (outcome === 'accepted') return
    if (outcome === 'closed') await refuseAnswer(host, runId)
    sent = outcome === 'duplicate' ? 'duplicate' : 'closed'
  }
}

/** Throws if the run has left this store, so that the answer must go to another one. */
async function refuseAnswer(host: HandleHost, runId: string): Promise<void> {
  const [loaded] = await host.load([{ type: 'run', runId }])
  if (loaded?.type === 'run') refuseMoved(loaded.run)
}

function webhook(token: string, answer: WebhookAnswer): Decide {
  const payload = encode(answer, 'the answer to a webhook')
  return (sent, { all, newest }) => {
    const made = all.find((event) => event.type === 'TokenMade' && event.token === token)
    if (made?.type !== 'TokenMade') throw invalid()
    const name = webhookSignal(made.key, token)
    const id = `webhook:${token}`
    const first = all.find((event) => event.type === 'SignalReceived' && event.id === id)
    if (first?.type === 'SignalReceived') {
      if (digestPayload(first.payload) === digestPayload(payload)) return 'done'
      throw anotherAnswer()
    }
    if (!newest.includes(made)) throw invalid('belongs to an earlier generation of the run')
    // Had the run consumed this answer before it ended, the history would have it.
    if (sent === 'closed') throw invalid('belongs to a run that has ended')
    return { type: 'signal', id, name, payload }
  }
}

function completion(host: HandleHost, token: StepToken, answer: WebhookAnswer): Decide {
  const { generation, key, secret } = token
  const outcome = outcomeOf(answer)
  // The history shows this id. It is a digest, because the secret itself would let any reader complete the step.
  const id = `complete:${digest(secret)}`
  let isProven = false
  return async (sent, { all, newest, generation: current }) => {
    const first = all.find((event) => 'id' in event && event.id === id)
    if (first) return sameOutcome(first, outcome)
    const { ending, open } = RunState.of(newest)
    if (sent === 'closed' || ending) throw invalid('belongs to a run that has ended')
    if (generation < current) throw invalid('belongs to an earlier generation of the run')
    isProven ||= await isSecret(host, token)
    if (!isProven) throw invalid()
    // A body may run before its start is recorded. A completion sent now would be lost if its worker died.
    if (!newest.some((event) => event.type === 'StepStarted' && event.key === key)) return 'wait'
    const step = open.get(key)
    if (step?.type !== 'step') throw invalid('is for a step that has ended')
    if (step.stopping) throw invalid('is for a step that was cancelled')
    return { type: 'complete', id, generation, key, outcome }
  }
}

async function isSecret(host: HandleHost, { runId, generation, key, secret }: StepToken): Promise<boolean> {
  const [loaded] = await host.load([{ type: 'notes', runId, generation, key }])
  const kept = loaded?.type === 'notes' ? loaded.notes[STEP_SECRET] : undefined
  return kept !== undefined && decode(decodePayload(kept)) === secret
}

function outcomeOf(answer: WebhookAnswer): ChildOutcome {
  if (answer.ok) return answer
  return { ok: false, failure: { type: 'Rejected', message: answer.reason, retryable: false } }
}

function sameOutcome(first: Event, outcome: ChildOutcome): 'done' {
  const isSame = outcome.ok
    ? first.type === 'StepCompleted' && digestPayload(first.value) === digestPayload(outcome.value)
    : first.type === 'StepFailed' && first.failure.message === outcome.failure.message
  if (isSame) return 'done'
  throw anotherAnswer()
}

interface Events {
  readonly all: readonly Event[]
  readonly newest: readonly Event[]
  readonly generation: number
}

// The events of all generations, because a caller may repeat an answer after the run has continued as new.
async function allEvents(host: HandleHost, runId: string): Promise<Events> {
  const [loaded] = await host.load([{ type: 'run', runId }])
  const generation = loaded?.type === 'run' ? (loaded.run?.head.generation ?? 0) : 0
  const generations: Event[][] = []
  for await (const events of generationsOf((asks) => host.load(asks), runId)) {
    generations.push(events)
  }
  return { all: generations.flat(), newest: generations[0] ?? [], generation }
}

function answerUnread(): PawlError {
  const problem = 'an answer for this token is durable, but no worker has read it yet'
  const message = `${problem}, so whether it is the same as this one is unknown. Try again later.`
  return new PawlError('TRY_LATER', message)
}

function anotherAnswer(): PawlError {
  return invalid('was used before with another answer')
}

function invalid(why = 'does not belong to this store'): PawlError {
  return new PawlError('TOKEN_INVALID', `the token ${why}.`)
}
