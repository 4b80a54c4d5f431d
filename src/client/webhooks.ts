// Settling a wait from outside, by nothing but a token.
import { digestPayload } from '../kernel/digest.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Event } from '../kernel/event.ts'
import { limits } from '../kernel/limits.ts'
import { encode } from '../kernel/value.ts'
import { runOfToken, type WebhookAnswer, webhookSignal } from '../kernel/webhook.ts'
import { generationsOf } from './history.ts'
import type { HandleHost } from './run-handle.ts'

export async function settleWebhook(
  host: HandleHost,
  token: string,
  answer: WebhookAnswer,
): Promise<void> {
  const runId = typeof token === 'string' ? runOfToken(token) : undefined
  if (runId === undefined) throw invalid()
  const payload = encode(answer, 'the answer to a webhook')
  let pauseMs: number = limits.updatePollMsMin
  let waitedMs = 0
  for (let told: 'not yet' | 'duplicate' | 'closed' = 'not yet'; ; ) {
    const events = await allEvents(host, runId)
    const made = events.all.find((event) => event.type === 'TokenMade' && event.token === token)
    if (made?.type !== 'TokenMade') throw invalid()
    const name = webhookSignal(made.key, token)
    const id = `webhook:${token}`
    const said = events.all.find((event) => event.type === 'SignalReceived' && event.id === id)
    if (said?.type === 'SignalReceived') {
      if (digestPayload(said.payload) === digestPayload(payload)) return
      throw invalid('was settled before with another answer')
    }
    if (!events.newest.includes(made)) throw invalid('belongs to a part of the run that is over')
    // The history would have it, if it was this one that the run has taken before it ended.
    if (told === 'closed') throw invalid('belongs to a run that has ended')
    // Another answer stands in line before this one: which of them it is, the history will tell.
    if (told === 'duplicate') {
      if ((waitedMs += pauseMs) > limits.storePatienceMs) throw unheard()
      await host.pause(pauseMs)
      pauseMs = Math.min(pauseMs * 2, limits.resultPollMsMax)
      continue
    }
    const { outcome } = await host.post(runId, { type: 'signal', id, name, payload }, {})
    if (outcome === 'accepted') return
    told = outcome === 'duplicate' ? 'duplicate' : 'closed'
  }
}

// Of all generations: whoever was answered before the run continued as new may ask again.
async function allEvents(
  host: HandleHost,
  runId: string,
): Promise<{ readonly all: readonly Event[]; readonly newest: readonly Event[] }> {
  const generations: Event[][] = []
  for await (const events of generationsOf((asks) => host.load(asks), runId)) {
    generations.push(events)
  }
  return { all: generations.flat(), newest: generations[0] ?? [] }
}

function unheard(): PawlError {
  return new PawlError(
    'TRY_LATER',
    'an answer for this token is durable already, and no worker has taken it yet, so it cannot be said whether it is this one.',
  )
}

function invalid(why = 'is not one of this store'): PawlError {
  return new PawlError('TOKEN_INVALID', `the token ${why}.`)
}
