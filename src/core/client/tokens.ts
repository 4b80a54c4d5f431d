// Settling a wait, or completing a step, from outside, by nothing but a token.

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
} from '../kernel/webhook.ts'
import { generationsOf } from './history.ts'
import type { HandleHost } from './run-handle.ts'

type Told = 'not yet' | 'duplicate' | 'closed'

/** What to tell the run, as its history stands; nothing if it has taken the same before, or cannot be told yet. */
type Look = (told: Told, events: Events) => Next | Promise<Next>
type Next = Message | 'told' | 'wait'

export async function settleByToken(
  host: HandleHost,
  token: string,
  answer: WebhookAnswer,
): Promise<void> {
  const step = typeof token === 'string' ? stepOfToken(token) : undefined
  if (step) return tell(host, step.runId, completion(host, step, answer))
  const runId = typeof token === 'string' ? runOfToken(token) : undefined
  if (runId === undefined) throw invalid()
  return tell(host, runId, webhook(token, answer))
}

async function tell(host: HandleHost, runId: string, look: Look): Promise<void> {
  let pauseMs: number = limits.updatePollMsMin
  let waitedMs = 0
  for (let told: Told = 'not yet'; ; ) {
    const message = await look(told, await allEvents(host, runId))
    if (message === 'told') return
    // Another answer stands in line before this one: which of them it is, the history will tell.
    if (message === 'wait' || told === 'duplicate') {
      if ((waitedMs += pauseMs) > limits.storePatienceMs) throw unheard()
      await host.pause(pauseMs)
      pauseMs = Math.min(pauseMs * 2, limits.resultPollMsMax)
      continue
    }
    const { outcome } = await host.post(runId, message, {})
    if (outcome === 'accepted') return
    told = outcome === 'duplicate' ? 'duplicate' : 'closed'
  }
}

function webhook(token: string, answer: WebhookAnswer): Look {
  const payload = encode(answer, 'the answer to a webhook')
  return (told, { all, newest }) => {
    const made = all.find((event) => event.type === 'TokenMade' && event.token === token)
    if (made?.type !== 'TokenMade') throw invalid()
    const name = webhookSignal(made.key, token)
    const id = `webhook:${token}`
    const said = all.find((event) => event.type === 'SignalReceived' && event.id === id)
    if (said?.type === 'SignalReceived') {
      if (digestPayload(said.payload) === digestPayload(payload)) return 'told'
      throw another()
    }
    if (!newest.includes(made)) throw invalid('belongs to a part of the run that is over')
    // The history would have it, if it was this one that the run has taken before it ended.
    if (told === 'closed') throw invalid('belongs to a run that has ended')
    return { type: 'signal', id, name, payload }
  }
}

function completion(host: HandleHost, token: StepToken, answer: WebhookAnswer): Look {
  const { generation, key, secret } = token
  const outcome = outcomeOf(answer)
  // The history says who completed a step, and not what would let others complete it.
  const id = `complete:${digest(secret)}`
  let isProven = false
  return async (told, { all, newest, generation: current }) => {
    const said = all.find((event) => 'id' in event && event.id === id)
    if (said) return sameOutcome(said, outcome)
    const { ending, open } = RunState.of(newest)
    if (told === 'closed' || ending) throw invalid('belongs to a run that has ended')
    if (generation < current) throw invalid('belongs to a part of the run that is over')
    isProven ||= await isSecret(host, token)
    if (!isProven) throw invalid()
    // A body may run a moment before it is recorded that it began. What it is told then would be lost with its worker.
    if (!newest.some((event) => event.type === 'StepStarted' && event.key === key)) return 'wait'
    const step = open.get(key)
    if (step?.type !== 'step') throw invalid('is for a step that has ended')
    if (step.stopping) throw invalid('is for a step that was cancelled')
    return { type: 'complete', id, generation, key, outcome }
  }
}

async function isSecret(
  host: HandleHost,
  { runId, generation, key, secret }: StepToken,
): Promise<boolean> {
  const [loaded] = await host.load([{ type: 'notes', runId, generation, key }])
  const kept = loaded?.type === 'notes' ? loaded.notes[STEP_SECRET] : undefined
  return kept !== undefined && decode(decodePayload(kept)) === secret
}

function outcomeOf(answer: WebhookAnswer): ChildOutcome {
  if (answer.ok) return answer
  return { ok: false, failure: { type: 'Rejected', message: answer.reason, retryable: false } }
}

function sameOutcome(said: Event, outcome: ChildOutcome): 'told' {
  const isSame = outcome.ok
    ? said.type === 'StepCompleted' && digestPayload(said.value) === digestPayload(outcome.value)
    : said.type === 'StepFailed' && said.failure.message === outcome.failure.message
  if (isSame) return 'told'
  throw another()
}

interface Events {
  readonly all: readonly Event[]
  readonly newest: readonly Event[]
  readonly generation: number
}

// Of all generations: whoever was answered before the run continued as new may ask again.
async function allEvents(host: HandleHost, runId: string): Promise<Events> {
  const [loaded] = await host.load([{ type: 'run', runId }])
  const generation = loaded?.type === 'run' ? (loaded.run?.head.generation ?? 0) : 0
  const generations: Event[][] = []
  for await (const events of generationsOf((asks) => host.load(asks), runId)) {
    generations.push(events)
  }
  return { all: generations.flat(), newest: generations[0] ?? [], generation }
}

function unheard(): PawlError {
  return new PawlError(
    'TRY_LATER',
    'an answer for this token is durable already, and no worker has taken it yet, so it cannot be said whether it is this one.',
  )
}

function another(): PawlError {
  return invalid('was settled before with another answer')
}

function invalid(why = 'is not one of this store'): PawlError {
  return new PawlError('TOKEN_INVALID', `the token ${why}.`)
}
