// Events and messages as text, and back. The text is JSON that people can read. Each body carries the version of its
// format; older bodies are lifted step by step, so a history outlives the code that wrote it.

import { parseBody } from '../base/envelope.ts'
import { PawlError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Payload } from '../base/value.ts'
import type { Event } from './event.ts'
import type { Message } from './message.ts'

const VERSION = 1

/** The events of a turn and the build that made them. */
export interface TurnBody {
  readonly build: string
  readonly events: readonly Event[]
}

/** `lift[n]` turns a body of version n into one of version n + 1. */
const lift: Readonly<Record<number, (body: { events: unknown[] }) => { events: unknown[] }>> = {}

export function encodeTurn(body: TurnBody): string {
  const text = JSON.stringify({ version: VERSION, build: body.build, events: body.events })
  if (text.length <= limits.turnBytesMax) return text
  throw new PawlError(
    'PAYLOAD_TOO_LARGE',
    `one turn would write ${text.length} bytes; the limit is ${limits.turnBytesMax}. Return less from steps that end together, or keep large data elsewhere and pass a reference.`,
  )
}

export function decodeTurn(text: string): TurnBody {
  return decodeVersioned<TurnBody>(text, lift, VERSION)
}

export function encodeMessage(message: Message): string {
  return JSON.stringify({ version: VERSION, ...message })
}

export function decodeMessage(text: string): Message {
  const { version, ...message } = parseBody(text) as Message & { version: number }
  refuseNewer('message', version, VERSION)
  return message
}

export function encodePayload(payload: Payload): string {
  return JSON.stringify(payload)
}

export function decodePayload(text: string): Payload {
  return parseBody(text) as Payload
}

export function decodeFailure(text: string): Failure {
  return parseBody(text) as Failure
}

/** Exported for its test: lifting must not be tried on a user's history first. */
export function decodeVersioned<Body>(
  text: string,
  lifts: Readonly<Record<number, (body: { events: unknown[] }) => { events: unknown[] }>>,
  current: number,
): Body {
  let { version, ...body } = parseBody(text) as { version: number; events: unknown[] }
  refuseNewer('history', version, current)
  for (; version < current; version++) {
    const step = lifts[version]
    if (!step) throw new PawlError('SCHEMA_TOO_NEW', `no way to read history format ${version}`)
    body = step(body)
  }
  return body as Body
}

function refuseNewer(what: string, version: number, current: number): void {
  if (version <= current) return
  throw new PawlError(
    'SCHEMA_TOO_NEW',
    `this ${what} was written in format ${version}, and this pawl reads up to ${current}. Upgrade pawl in this process.`,
  )
}
