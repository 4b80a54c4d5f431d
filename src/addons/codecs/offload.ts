// Puts large bodies elsewhere, into objects named by the digest of what is in them, and leaves the name in the store.
// Every reference writes its object anew, so that the age of an object counts from the last time it was referred to.
// Nothing is ever deleted here.
import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import {
  checkOptions,
  type Described,
  fn,
  hidden,
  required,
  spelled,
  text,
  whole,
} from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { Codec } from '../../core/stores/driver.ts'
import type { Bucket } from '../../stores/objects/bucket.ts'
import type { CredentialProvider } from '../../stores/objects/credentials.ts'
import { parseS3Url } from '../../stores/objects/s3-url.ts'

export const offloadOptions = {
  /** A folder, or a place on object storage: 's3://bucket/prefix?region=…'. */
  to: required(
    hidden(text("A folder, or a place on object storage: `'s3://bucket/prefix?region=…'`.")),
  ),
  /** Bodies of at most so many bytes stay in the store. 65,536 */
  above: whole('Bodies of at most so many bytes stay in the store.', [0, Number.MAX_SAFE_INTEGER], {
    otherwise: spelled(limits.offloadAboveBytes),
  }),
  /** Where credentials for s3 come from; by default from the environment, then from the profile file. */
  credentials: fn<CredentialProvider>('Where credentials for s3 come from.', {
    otherwise: 'from the environment, then from the profile file',
  }),
} as const
export interface OffloadOptions extends Described<typeof offloadOptions> {}

const REFERENCE = /^sha256:([0-9a-f]{64})$/

export function offload(options: OffloadOptions): Codec {
  checkOptions(offloadOptions, options, { of: 'offload' })
  const { above = limits.offloadAboveBytes } = options
  const place = new Place(urlOf(options.to), options.credentials)
  return {
    id: 'offload',
    fingerprint: place.url,
    async encode(bytes) {
      if (bytes.byteLength <= above) return bytes
      return Buffer.from(`sha256:${await place.put(bytes)}`)
    },
    async decode(bytes) {
      const digest = REFERENCE.exec(Buffer.from(bytes).toString())?.[1]
      if (digest === undefined)
        throw new PawlError(
          'CODEC_FAILED',
          'this is not a reference as offload(…) writes them: it is damaged.',
        )
      return place.get(digest)
    },
  }
}

class Place {
  readonly url: string
  readonly #credentials: CredentialProvider | undefined
  readonly #cache = new Cache(limits.offloadCacheBytes)
  #opening: Promise<Bucket> | undefined

  constructor(url: string, credentials: CredentialProvider | undefined) {
    this.url = url
    this.#credentials = credentials
  }

  async put(bytes: Uint8Array): Promise<string> {
    const digest = hash('sha256', bytes, 'hex')
    const bucket = await this.#open()
    await this.#waiting(() => bucket.put(keyOf(digest), Buffer.from(bytes).toString('base64')))
    this.#cache.set(digest, bytes)
    return digest
  }

  async get(digest: string): Promise<Uint8Array> {
    const known = this.#cache.get(digest)
    if (known) return known
    const bucket = await this.#open()
    const text = await this.#waiting(() => bucket.get(keyOf(digest)))
    if (text === undefined)
      throw damaged(bucket, digest, 'is not there: it was deleted, or written elsewhere')
    const bytes = Buffer.from(text, 'base64')
    if (hash('sha256', bytes, 'hex') !== digest) throw damaged(bucket, digest, 'was changed')
    this.#cache.set(digest, bytes)
    return bytes
  }

  // Whatever is wrong with the storage may be put right: bodies are waited for, not given up.
  async #waiting<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      const isWaited = error instanceof PawlError && error.code === 'STORE_UNAVAILABLE'
      throw isWaited ? error : unavailable('offload', error)
    }
  }

  #open(): Promise<Bucket> {
    this.#opening ??= this.#waiting(async () => {
      // Nobody else pays for loading it.
      const { openBucket } = await import('../../stores/objects/open.ts')
      const s3 = this.#credentials && { credentials: this.#credentials }
      return openBucket(this.url, systemClock, s3)
    }).catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }
}

function damaged({ name }: Bucket, digest: string, problem: string): PawlError {
  return new PawlError(
    'CODEC_FAILED',
    `a body was offloaded to ${name}, and its object ${keyOf(digest)} ${problem}. Bring the object back, or correct \`to\` of offload(…), and resume the run.`,
  )
}

function keyOf(digest: string): string {
  return `payloads/${digest.slice(0, 2)}/${digest}.txt`
}

/** Checked before anything relies on it. A URL is never quoted: it may hold secrets. */
function urlOf(to: string): string {
  const scheme = /^([a-z][a-z0-9+]+):/i.exec(to)?.[1]?.toLowerCase()
  if (to === '' || (scheme !== undefined && scheme !== 's3' && scheme !== 'file')) {
    throw new PawlError(
      'INPUT_INVALID',
      "offload(…) needs a place to put bodies: to: './folder' or to: 's3://bucket/prefix'.",
    )
  }
  if (scheme === 's3') parseS3Url(to)
  if (scheme !== undefined) return to
  return `file:${resolve(to).split('/').map(encodeURIComponent).join('/')}`
}

/** The bytes used last, up to a size. What has a digest for a name never changes. */
class Cache {
  readonly #kept = new Map<string, Uint8Array>()
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get(name: string): Uint8Array | undefined {
    const bytes = this.#kept.get(name)
    if (bytes) {
      this.#kept.delete(name)
      this.#kept.set(name, bytes)
    }
    return bytes
  }

  set(name: string, bytes: Uint8Array): void {
    if (this.#kept.has(name)) return
    this.#kept.set(name, bytes)
    this.#bytes += bytes.byteLength
    for (const [oldest, old] of this.#kept) {
      if (this.#bytes <= this.#bytesMax) return
      this.#kept.delete(oldest)
      this.#bytes -= old.byteLength
    }
  }
}
