// Bodies that codecs have changed on their way to the store. pawl's own bodies are JSON and begin with `{`; what begins
// with `~` is an envelope, so nothing a user stores can look like one. It names the codecs that it takes to read it, in
// the order they were applied, and the rest is base64:
//
//   ~1 compress encrypt:k2 AQJrMs…
import { PawlError, type PawlErrorCode } from './assert.ts'

const MARK = '~'
const ENCODED = '~1 '
/** Stands in memory, and never in a store, for what could not be decoded. */
const UNREADABLE = '~! '

export interface Envelope {
  readonly ids: readonly string[]
  readonly bytes: Uint8Array
}

/** Whether a text can only be read with codecs, or not at all. */
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
    `this body is in an envelope that this pawl does not know (${text.slice(0, 3)}). Upgrade pawl in this process.`,
  )
}

/** A text for one that could not be decoded: whoever comes to read it is told why, and nobody else is disturbed. */
export function unreadable({ code, message }: PawlError): string {
  return UNREADABLE + JSON.stringify({ code, message })
}

export function isUnreadable(text: string): boolean {
  return text.startsWith(UNREADABLE)
}

/** Why an encoded text that has come this far cannot be read. */
export function whyUnreadable(text: string): PawlError {
  if (isUnreadable(text)) {
    const { code, message } = JSON.parse(text.slice(UNREADABLE.length)) as {
      readonly code: PawlErrorCode
      readonly message: string
    }
    return new PawlError(code, message)
  }
  const ids = codecsOf(text)
  return new PawlError(
    'CODEC_MISSING',
    `this was encoded with ${ids.join(', ')}, and no codecs were given here. Open the store with those it is written with: open(url, { codecs }), or --codecs <file> on the command line.`,
    { details: { codecs: [...ids] } },
  )
}

/** What every body is read with. */
export function parseBody(text: string): unknown {
  if (isEncoded(text)) throw whyUnreadable(text)
  return JSON.parse(text)
}
