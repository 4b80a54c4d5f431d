// Envelopes: bodies that codecs encoded before they were stored. Plain bodies are JSON and begin with `{`; an envelope
// begins with `~`, so no value of a user can look like one. It names the codecs that encoded it, in the order they were
// applied; the rest is base64:
//
//   ~1 compress encrypt:k2 AQJrMs…
import { PawlError, type PawlErrorCode } from './assert.ts'

const MARK = '~'
const ENCODED = '~1 '
/** Marks, in memory and never in a store, a body that could not be decoded. */
const UNREADABLE = '~! '

export interface Envelope {
  readonly ids: readonly string[]
  readonly bytes: Uint8Array
}

/** True if the body is an envelope, or could not be decoded. */
export function isEncoded(text: string): boolean {
  return text.startsWith(MARK)
}

export function sealEnvelope({ ids, bytes }: Envelope): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return ENCODED + [...ids, text].join(' ')
}

export function openEnvelope(text: string): Envelope {
  return {
    ids: codecsOf(text),
    bytes: Buffer.from(text.slice(text.lastIndexOf(' ') + 1), 'base64'),
  }
}

/** The ids of the codecs that a text was encoded with. */
export function codecsOf(text: string): readonly string[] {
  if (text.startsWith(ENCODED)) return text.slice(0, text.lastIndexOf(' ')).split(' ').slice(1)
  throw new PawlError(
    'SCHEMA_TOO_NEW',
    `this body has an envelope of version ${text.slice(0, 2)}; expected ~1. Upgrade pawl in this process.`,
  )
}

/** Replaces a body that could not be decoded. Reading it throws the error; runs that do not read it are unaffected. */
export function unreadable({ code, message }: PawlError): string {
  return UNREADABLE + JSON.stringify({ code, message })
}

export function isUnreadable(text: string): boolean {
  return text.startsWith(UNREADABLE)
}

/** The error for an encoded body that reached a reader without being decoded. */
export function whyUnreadable(text: string): PawlError {
  if (isUnreadable(text)) {
    const { code, message } = JSON.parse(text.slice(UNREADABLE.length)) as {
      readonly code: PawlErrorCode
      readonly message: string
    }
    return new PawlError(code, message)
  }
  const ids = codecsOf(text)
  const todo = 'Open the store with the same codecs: open(url, { codecs }), or --codecs <file> on the command line.'
  const message = `this body was encoded with ${ids.join(', ')}, but no codecs were given. ${todo}`
  return new PawlError('CODEC_MISSING', message, { details: { codecs: [...ids] } })
}

/** Reads a body that is not encoded. */
export function parseBody(text: string): unknown {
  if (isEncoded(text)) throw whyUnreadable(text)
  return JSON.parse(text)
}
