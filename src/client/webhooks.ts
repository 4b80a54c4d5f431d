// Settling a wait from outside, by nothing but a token.
import { decodeTurn } from '../kernel/codec.ts'
import { digestPayload } from '../kernel/digest.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Event } from '../kernel/event.ts'
import { limits } from '../kernel/limits.ts'
import { encode } from '../kernel/value.ts'
import { runOfToken, type WebhookAnswer, webhookSignal } from '../kernel/webhook.ts'
import type { HandleHost } from './handle.ts'

export async function settleWebhook(
  host: HandleHost,
  token: string,
  answer: WebhookAnswer,
): Promise<void> {
  const runId = typeof token === 'string' ? runOfToken(token) : undefined
  if (runId === undefined) throw invalid()
  const payload = encode(answer, 'the answer to a webhook')
  let pauseMs: number = limits.updatePollMsMin
  for (let isTold = false; ; ) {
    const events = await eventsOf(host, runId)
    const key = events.find((event) => event.type === 'TokenMade' && event.token === token)
    if (key?.type !== 'TokenMade') throw invalid()
    const name = webhookSignal(key.key)
    const id = `webhook:${token}`
    const said = events.find((event) => event.type === 'SignalReceived' && event.id === id)
    if (said?.type === 'SignalReceived') {
      if (digestPayload(said.payload) === digestPayload(payload)) return
      throw invalid('was settled before with another answer')
    }
    // Another answer stands in line before this one: which of them it is, the history will tell.
    if (isTold) {
      await host.pause(pauseMs)
      pauseMs = Math.min(pauseMs * 2, limits.resultPollMsMax)
      continue
    }
    const { outcome } = await host.post(runId, { type: 'signal', id, name, payload }, false)
    if (outcome === 'accepted') return
    if (outcome !== 'duplicate') throw invalid('belongs to a run that has ended')
    isTold = true
  }
}

async function eventsOf(host: HandleHost, runId: string): Promise<Event[]> {
  const events: Event[] = []
  const of = { type: 'history', runId, turns: limits.historyPageTurns } as const
  for (let after = 0; ; ) {
    const [loaded] = await host.load([{ ...of, after }])
    const turns = loaded?.type === 'history' ? loaded.turns : []
    for (const { body } of turns) events.push(...decodeTurn(body).events)
    const last = turns.at(-1)
    if (!last || turns.length < limits.historyPageTurns) return events
    after = last.seq + last.count
  }
}

function invalid(why = 'is not one of this store'): PawlError {
  return new PawlError('TOKEN_INVALID', `the token ${why}.`)
}
