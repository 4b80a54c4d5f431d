// Codecs change bodies between pawl and its store, one after the other, and back in reverse.
import { digest } from '../../core/base/digest.ts'
import {
  isEncoded,
  isUnreadable,
  openEnvelope,
  sealEnvelope,
  unreadable,
  whyUnreadable,
} from '../../core/base/envelope.ts'
import { PawlError, RetryableError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { isUnavailable, unavailable } from '../../core/runtime/availability.ts'

/** Encodes bodies on their way to a store, and decodes them on their way back. */
export interface Codec {
  /**
   * Stored with every body that this codec has encoded, so that the codec is found again. What follows a colon is for
   * people, such as the id of a key: `encrypt:k2` is decoded by the codec whose name is `encrypt`.
   */
  readonly id: string
  /** Returns the very array it is given to leave a body as it is. Then it is not asked to decode the body either. */
  encode(bytes: Uint8Array): Promise<Uint8Array>
  /** Throws if it cannot decode the bytes; a RetryableError if it may be able to later. */
  decode(bytes: Uint8Array): Promise<Uint8Array>
  /**
   * Differs between codecs that can decode different bodies, such as with another key. A worker retries runs that
   * workers with another value have paused because they could not read them.
   */
  readonly fingerprint?: string
}

const ID = /^[A-Za-z0-9._-]{1,64}(?::[A-Za-z0-9._-]{1,64})?$/

/** Codecs in use: checked, in order, and with a bound on the bodies that are encoded or decoded at once. */
export class Codecs {
  readonly #codecs: readonly Codec[]
  readonly #byName: ReadonlyMap<string, Codec>
  readonly #gate = new Gate(limits.codecsAtOnce)

  constructor(codecs: readonly Codec[]) {
    checkCodecs(codecs)
    this.#codecs = codecs
    this.#byName = new Map(codecs.map((codec) => [nameOf(codec.id), codec]))
  }

  /** Differs between sets of codecs that can decode different bodies. */
  get fingerprint(): string {
    const parts = this.#codecs.map(({ id, fingerprint = '' }) => [id, fingerprint])
    return digest(JSON.stringify(parts)).slice(0, 8)
  }

  async encode(text: string): Promise<string> {
    if (text === '') return text
    // Stored, the text would replace the body that it stands for.
    if (isUnreadable(text)) throw whyUnreadable(text)
    return this.#gate.pass(() => this.#encode(text))
  }

  /** A body that cannot be decoded becomes a text that says why. Throws only errors that may pass. */
  async decode(text: string): Promise<string> {
    if (!isEncoded(text)) return text
    try {
      return await this.#gate.pass(() => this.#decode(text))
    } catch (error) {
      if (isUnavailable(error)) throw error
      return unreadable(error as PawlError)
    }
  }

  async #encode(text: string): Promise<string> {
    const ids: string[] = []
    let bytes: Uint8Array = Buffer.from(text)
    for (const codec of this.#codecs) {
      const before = bytes
      bytes = await called(codec, 'encode', before)
      if (bytes !== before) ids.push(codec.id)
    }
    return ids.length === 0 && !isEncoded(text) ? text : sealEnvelope({ ids, bytes })
  }

  async #decode(text: string): Promise<string> {
    const { ids, bytes: sealed } = openEnvelope(text)
    let bytes = sealed
    for (const id of ids.toReversed()) bytes = await called(this.#find(id, ids), 'decode', bytes)
    try {
      return utf8.decode(bytes)
    } catch (error) {
      throw failed(`what ${ids.join(', ')} gave back is no text`, error)
    }
  }

  #find(id: string, ids: readonly string[]): Codec {
    const codec = this.#byName.get(nameOf(id))
    if (codec) return codec
    const given = [...this.#byName.keys()].join(', ')
    throw new PawlError(
      'CODEC_MISSING',
      `this body was encoded with ${ids.join(', ')}, and this process has no codec '${nameOf(id)}', only ${given}. ` +
        'Add it to the codecs that the store is opened with.',
    )
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function nameOf(id: string): string {
  return id.split(':', 1)[0] ?? id
}

async function called(codec: Codec, method: 'encode' | 'decode', bytes: Uint8Array): Promise<Uint8Array> {
  try {
    const out: unknown = await codec[method](bytes)
    if (out instanceof Uint8Array) return out
    throw new TypeError(`it returned ${typeof out}; expected a Uint8Array`)
  } catch (error) {
    const what = `codec '${codec.id}' could not ${method}`
    if (error instanceof RetryableError) throw unavailable(what, error)
    throw error instanceof PawlError ? error : failed(what, error)
  }
}

function failed(what: string, cause: unknown): PawlError {
  const because = cause instanceof Error ? cause.message : String(cause)
  return new PawlError('CODEC_FAILED', `${what}: ${because}`, { cause })
}

/** Refuses codecs that could not be found again by their names. */
export function checkCodecs(codecs: readonly Codec[]): void {
  for (const codec of codecs) checkCodec(codec)
  if (new Set(codecs.map(({ id }) => nameOf(id))).size === codecs.length) return
  throw new PawlError(
    'DEFINITION_CONFLICT',
    `two codecs share a name: ${codecs.map(({ id }) => id).join(', ')}. ` +
      'A body names the codec that encoded it, so names must differ: rename one of them.',
  )
}

function checkCodec(codec: Codec): void {
  const { id, encode, decode } = (codec ?? {}) as Partial<Codec>
  if (typeof id !== 'string' || !ID.test(id)) {
    throw new PawlError(
      'DEFINITION_INVALID',
      `the id of a codec is ${typeof id === 'string' ? `'${id.slice(0, 80)}'` : typeof id}; expected up to 64 ` +
        "letters, digits, '.', '_' or '-', optionally followed by a colon and up to 64 more.",
    )
  }
  if (typeof encode !== 'function' || typeof decode !== 'function') {
    throw new PawlError('DEFINITION_INVALID', `codec '${id}' needs the methods encode and decode.`)
  }
}

/** Runs so many calls at once. The others wait in line. */
class Gate {
  #free: number
  readonly #line: (() => void)[] = []

  constructor(free: number) {
    this.#free = free
  }

  async pass<T>(call: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#line.push(resolve))
    try {
      return await call()
    } finally {
      const next = this.#line.shift()
      if (next) next()
      else this.#free++
    }
  }
}
