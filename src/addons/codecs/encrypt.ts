// Encrypts bodies with AES-256-GCM. The format is: format byte, length of the key id, key id, nonce, tag, cipher text;
// everything before the nonce is authenticated, too. Without the key a body can be neither read nor forged. It does not
// protect against a store that returns one body in place of another, or a body that was never encrypted.
import { createCipheriv, createDecipheriv, createHmac, hash } from 'node:crypto'
import { byName, checkOptions, type Described, hidden, option, required, text } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { secretBytes } from '../../core/runtime/random.ts'
import type { Codec } from './codec.ts'

/** 32 bytes, as a Uint8Array or as base64 or hexadecimal digits. */
export type Key = Uint8Array | string

const key = option<Key>(
  'A key.',
  '32 bytes, as base64 or hexadecimal digits or as a Uint8Array',
  (value) => typeof value === 'string' || value instanceof Uint8Array,
)

export const encryptOptions = {
  /** All keys that bodies in the store may be encrypted with, by an id you choose. */
  keys: required(
    hidden(
      byName(
        'All keys that bodies in the store may be encrypted with, by an id you choose.',
        'an object of keys: 32 bytes each, as base64 or hexadecimal digits or as a Uint8Array',
        key,
      ),
    ),
  ),
  /** The id of the key to encrypt with. */
  current: required(text('The id of the key to encrypt with.')),
} as const
export interface EncryptOptions extends Described<typeof encryptOptions> {}

const FORMAT = 1
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'
const KEY_ID = /^[A-Za-z0-9._-]{1,64}$/

export function encrypt(options: EncryptOptions): Codec {
  checkOptions(encryptOptions, options, { of: 'encrypt' })
  const { keys: given, current } = options
  const keys = new Map(Object.entries(given).map(([id, each]) => [id, keyOf(id, each)]))
  const key = keys.get(current)
  if (!key) {
    const ids = [...keys.keys()].join(', ') || 'none'
    throw invalid(`current is '${current}', which is not the id of a key; expected one of: ${ids}`)
  }
  const header = headerOf(current)
  return {
    id: `encrypt:${current}`,
    fingerprint: fingerprintOf(keys),
    async encode(bytes) {
      const nonce = secretBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(header)
      const text = [cipher.update(bytes), cipher.final()]
      return Buffer.concat([header, nonce, cipher.getAuthTag(), ...text])
    },
    async decode(bytes) {
      const { id, nonce, tag, text } = partsOf(bytes)
      const found = keys.get(id)
      if (!found) throw missing(id, keys)
      try {
        const decipher = createDecipheriv(CIPHER, found, nonce, { authTagLength: TAG_BYTES })
        decipher.setAAD(headerOf(id)).setAuthTag(tag)
        return Buffer.concat([decipher.update(text), decipher.final()])
      } catch (error) {
        throw new PawlError(
          'CODEC_FAILED',
          `a body that was encrypted with key '${id}' cannot be decrypted with the key of that id: the key was replaced, or the body was changed. Give encrypt(…) the original key under this id.`,
          { cause: error },
        )
      }
    },
  }
}

function headerOf(id: string): Buffer {
  const name = Buffer.from(id)
  return Buffer.concat([Buffer.of(FORMAT, name.byteLength), name])
}

interface Parts {
  readonly id: string
  readonly nonce: Uint8Array
  readonly tag: Uint8Array
  readonly text: Uint8Array
}

function partsOf(bytes: Uint8Array): Parts {
  const [format, length = 0] = bytes
  const nonceAt = 2 + length
  const tagAt = nonceAt + NONCE_BYTES
  const textAt = tagAt + TAG_BYTES
  if (format !== FORMAT || bytes.byteLength < textAt) {
    throw new PawlError(
      'CODEC_FAILED',
      'a body is not in the format of encrypt(…): it is damaged, or a newer pawl wrote it. Upgrade pawl in this process.',
    )
  }
  return {
    id: Buffer.from(bytes.subarray(2, nonceAt)).toString(),
    nonce: bytes.subarray(nonceAt, tagAt),
    tag: bytes.subarray(tagAt, textAt),
    text: bytes.subarray(textAt),
  }
}

function keyOf(id: string, key: Key): Buffer {
  if (!KEY_ID.test(id)) {
    throw invalid(`'${id.slice(0, 80)}' is not a key id; expected up to 64 letters, digits, '.', '_' or '-'`)
  }
  const bytes = typeof key === 'string' ? bytesOf(key) : Buffer.from(key)
  // Never quote the key: messages end up in logs.
  if (bytes?.byteLength === KEY_BYTES) return bytes
  if (typeof key === 'string' ? key.trim() === '' : key.length === 0)
    throw invalid(`key '${id}' is empty; is the environment variable set? Expected ${KEY_BYTES} bytes`)
  throw invalid(
    `key '${id}' is ${bytes ? `${bytes.byteLength} bytes long` : 'neither base64 nor hexadecimal'}; expected ${KEY_BYTES} bytes, such as from: openssl rand -base64 ${KEY_BYTES}`,
  )
}

function bytesOf(text: string): Buffer | undefined {
  const given = text.trim()
  if (/^[0-9a-f]{64}$/i.test(given)) return Buffer.from(given, 'hex')
  return /^[A-Za-z0-9+/_-]+={0,2}$/.test(given) ? Buffer.from(given, 'base64') : undefined
}

// Identifies each key by a keyed hash of a fixed text, which reveals only whether two keys are equal.
function fingerprintOf(keys: ReadonlyMap<string, Buffer>): string {
  const mark = (key: Buffer): string => createHmac('sha256', key).update('pawl').digest('hex')
  const marks = [...keys].map(([id, key]) => `${id} ${mark(key)}`)
  return hash('sha256', marks.sort().join('\n'), 'hex').slice(0, 16)
}

function missing(id: string, keys: ReadonlyMap<string, Buffer>): PawlError {
  return new PawlError(
    'CODEC_MISSING',
    `a body was encrypted with key '${id}', which is missing; the keys are: ${[...keys.keys()].join(', ')}. Add it to the keys of encrypt(…); it need not be the current key.`,
    { details: { keyId: id } },
  )
}

function invalid(problem: string): PawlError {
  return new PawlError('INPUT_INVALID', `encrypt(…): ${problem}.`)
}
