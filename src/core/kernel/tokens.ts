// Tokens that settle a webhook or a step from outside. A token holds the id of the run and a part that cannot be
// guessed.
import { isUuid } from '../base/names.ts'
import type { Payload } from '../base/value.ts'
import { unescapeKey } from './ids.ts'

// A name no signal of a user can have: control characters are refused there.
const MARK = '\u0001'

/** The name of the signal that settles this webhook and no other of the same name. */
export function webhookSignal(key: string, token: string): string {
  return `${MARK}${key}${MARK}${token}`
}

/** The name that the workflow gave the webhook. */
export function webhookName(signal: string): string {
  const [, key = ''] = signal.split(MARK)
  return unescapeKey(key.replace(/^.*webhook:/, '').replace(/#\d+$/, ''))
}

export function isWebhook(name: string): boolean {
  return name.startsWith(MARK)
}

/** The name of a signal as people see it: that of a webhook without its token, with which any reader could settle it. */
export function shownSignal(name: string): string {
  return isWebhook(name) ? `webhook:${webhookName(name)}` : name
}

/** The payload of the signal: a value, or the reason of a rejection. */
export type WebhookAnswer =
  | { readonly ok: true; readonly value: Payload }
  | { readonly ok: false; readonly reason: string }

export function makeToken(runId: string, secret: string): string {
  const id = Buffer.from(runId.replaceAll('-', ''), 'hex')
  return Buffer.concat([id, Buffer.from(secret, 'hex')]).toString('base64url')
}

/** The run of a webhook token; undefined if the text is no such token. */
export function runOfToken(token: string): string | undefined {
  if (!/^[A-Za-z0-9_-]{38,128}$/.test(token)) return undefined
  const hex = Buffer.from(token, 'base64url').subarray(0, 16).toString('hex')
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)]
  const runId = [...parts, hex.slice(20)].join('-')
  return isUuid(runId) ? runId : undefined
}

/** The note of a step that holds the secret of its token. */
export const STEP_SECRET = 'token'

/** A step that is completed from outside, and the secret that permits it. */
export interface StepToken {
  readonly runId: string
  readonly generation: number
  readonly key: string
  readonly secret: string
}

/** It contains a dot, which a webhook token never does. */
export function makeStepToken({ runId, generation, key, secret }: StepToken): string {
  const place = Buffer.from(JSON.stringify([runId, generation, key])).toString('base64url')
  return `${place}.${secret}`
}

/** The step of a token; undefined if the text is no such token. */
export function stepOfToken(token: string): StepToken | undefined {
  const [, place = '', secret = ''] = /^([A-Za-z0-9_-]+)\.([0-9a-f]{36})$/.exec(token) ?? []
  try {
    const parts: unknown = JSON.parse(Buffer.from(place, 'base64url').toString())
    const [runId, generation, key] = parts as [string, number, string]
    const isSound = isUuid(runId) && Number.isSafeInteger(generation) && typeof key === 'string'
    return isSound ? { runId, generation, key, secret } : undefined
  } catch {
    return undefined
  }
}
