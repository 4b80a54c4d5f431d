// Moves large bodies to object storage, in objects named by the digest of their content, and leaves a reference in the
// store. Each reference writes its object again, so that the age of an object counts from its last reference. Objects
// are never deleted here.
import { hash } from 'node:crypto'
import { resolve } from 'node:path'
import { checkOptions, type Described, fn, hidden, required, spelled, text, whole } from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { Bucket } from '../../stores/objects/bucket.ts'
import type { CredentialProvider } from '../../stores/objects/credentials.ts'
import { parseS3Url } from '../../stores/objects/s3-url.ts'
import type { Codec } from './codec.ts'

export const offloadOptions = {
  /** A folder, or a location on object storage: 's3://bucket/prefix?region=…'. */
  to: required(hidden(text("A folder, or a location on object storage: `'s3://bucket/prefix?region=…'`."))),
  /** Only bodies with more bytes than this are moved. Default: 65,536. */
  above: whole('Only bodies with more bytes than this are moved.', [0, Number.MAX_SAFE_INTEGER], {
    otherwise: spelled(limits.offloadAboveBytes),
  }),
  /** Provides credentials for s3. Default: from the environment, then from the profile file. */
  credentials: fn<CredentialProvider>('Provides credentials for s3.', {
    otherwise: 'from the environment, then from the profile file',
  }),
} as const
export interface OffloadOptions extends Described<typeof offloadOptions> {}

const REFERENCE = /^sha256:([0-9a-f]{64})$/

export function offload(options: OffloadOptions): Codec {
  checkOptions(offloadOptions, options, { of: 'offload' })
  const { above = limits.offloadAboveBytes } = options
  const storage = new PayloadStorage(urlOf(options.to), options.credentials)
  return {
    id: 'offload',
    fingerprint: storage.url,
    async encode(bytes) {
      if (bytes.byteLength <= above) return bytes
      return Buffer.from(`sha256:${await storage.put(bytes)}`)
    },
    async decode(bytes) {
      const digest = REFERENCE.exec(Buffer.from(bytes).toString())?.[1]
      if (digest === undefined)
        throw new PawlError('CODEC_FAILED', 'a body is not a reference in the format of offload(…): it is damaged.')
      return storage.get(digest)
    },
  }
}

class PayloadStorage {
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
    await this.#orUnavailable(() => bucket.put(keyOf(digest), Buffer.from(bytes).toString('base64')))
    this.#cache.set(digest, bytes)
    return digest
  }

  async get(digest: string): Promise<Uint8Array> {
    const known = this.#cache.get(digest)
    if (known) return known
    const bucket = await this.#open()
    const text = await this.#orUnavailable(() => bucket.get(keyOf(digest)))
    if (text === undefined) throw damaged(bucket, digest, 'does not exist: it was deleted, or `to` has changed')
    const bytes = Buffer.from(text, 'base64')
    if (hash('sha256', bytes, 'hex') !== digest) throw damaged(bucket, digest, 'was changed')
    this.#cache.set(digest, bytes)
    return bytes
  }

  // Every failure of the storage counts as temporary, so that a run waits for its bodies instead of failing.
  async #orUnavailable<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      const isUnavailable = error instanceof PawlError && error.code === 'STORE_UNAVAILABLE'
      throw isUnavailable ? error : unavailable('offload', error)
    }
  }

  #open(): Promise<Bucket> {
    this.#opening ??= this.#orUnavailable(async () => {
      // Loaded on first use, because most programs do not need it.
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
    `a body was offloaded to ${name}, but its object ${keyOf(digest)} ${problem}. Restore the object, or correct \`to\` of offload(…), and resume the run.`,
  )
}

function keyOf(digest: string): string {
  return `payloads/${digest.slice(0, 2)}/${digest}.txt`
}

/** The URL of the location. It is never quoted in errors, because it may contain secrets. */
function urlOf(to: string): string {
  const scheme = /^([a-z][a-z0-9+]+):/i.exec(to)?.[1]?.toLowerCase()
  if (to === '' || (scheme !== undefined && scheme !== 's3' && scheme !== 'file')) {
    throw new PawlError(
      'INPUT_INVALID',
      "`to` of offload(…) is not a folder or a URL of object storage; expected './folder' or 's3://bucket/prefix'.",
    )
  }
  if (scheme === 's3') parseS3Url(to)
  if (scheme !== undefined) return to
  return `file:${resolve(to).split('/').map(encodeURIComponent).join('/')}`
}

/** The most recently used bodies, up to a total size. They never change, because their digest is their name. */
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
