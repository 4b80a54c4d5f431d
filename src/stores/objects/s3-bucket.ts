// A bucket on S3 or a compatible server. A request that may have been carried out is never sent again here, because
// only the store can tell what an unanswered write has done.
import { hash } from 'node:crypto'
import type * as aws4fetch from 'aws4fetch'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import { type Clock, sleep } from '../../core/runtime/clock.ts'
import { type Random, systemRandom } from '../../core/runtime/random.ts'
import type { Bucket, ByteRange, Listing, ListPage } from './bucket.ts'
import { forEach } from './bucket.ts'
import { type CredentialProvider, CredentialSource, type Credentials, findCredentials } from './credentials.ts'
import { checkKey } from './keys.ts'
import { errorCode, isAboutCredentials, type S3Response, s3Error } from './s3-errors.ts'
import type { S3Location } from './s3-url.ts'
import { readList } from './s3-xml.ts'
import { ServerTime } from './server-time.ts'

export interface S3Options {
  readonly credentials?: CredentialProvider
  /** Replaces the server's clock. */
  readonly now?: () => Instant
  readonly random?: Random
}

type Driver = typeof aws4fetch

interface S3Request {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** The signing keys of one set of credentials, one for each day. */
type SigningKeys = Map<string, ArrayBuffer>

export class S3Bucket implements Bucket {
  readonly name: string
  readonly serverTime: ServerTime
  readonly #driver: Driver
  readonly #location: S3Location
  readonly #clock: Clock
  readonly #random: Random
  readonly #now: () => Instant
  readonly #credentials: CredentialSource
  readonly #signingKeys = new WeakMap<Credentials, SigningKeys>()
  readonly #closing = new AbortController()

  private constructor(driver: Driver, location: S3Location, clock: Clock, options: S3Options) {
    this.name = `s3://${location.bucket}/${location.prefix}`
    this.serverTime = new ServerTime(clock)
    this.#driver = driver
    this.#location = location
    this.#clock = clock
    this.#random = options.random ?? systemRandom
    this.#now = options.now ?? (() => this.serverTime.now())
    this.#credentials = new CredentialSource(options.credentials ?? findCredentials(location.profile), clock)
  }

  /** Sends no request; throws if the driver or the credentials are missing. */
  static async open(location: S3Location, clock: Clock, options: S3Options = {}): Promise<S3Bucket> {
    const bucket = new S3Bucket(await loadDriver(), location, clock, options)
    await bucket.#credentials.get()
    return bucket
  }

  now(): Instant {
    return this.#now()
  }

  async create(key: string, body: string): Promise<'created' | 'exists'> {
    const request: S3Request = {
      method: 'PUT',
      url: this.#urlOf(key),
      headers: { 'if-none-match': '*' },
      body: Buffer.from(body),
    }
    let pauseMs: number = limits.objectConflictPauseMs
    for (let retries: number = limits.objectConflictRetries; ; retries--) {
      const response = await this.#send(request)
      if (response.status === 200) return 'created'
      if (response.status === 412) return 'exists'
      // Refused because another write of this key is in progress. The next response tells which one won.
      if (response.status !== 409 || retries === 0) throw this.#errorFor(request, response)
      await sleep(this.#clock, pauseMs * (0.5 + this.#random.fraction()), this.#closing.signal)
      pauseMs *= 1.5
    }
  }

  async put(key: string, body: string): Promise<void> {
    const request: S3Request = { method: 'PUT', url: this.#urlOf(key), body: Buffer.from(body) }
    const response = await this.#send(request)
    if (response.status !== 200) throw this.#errorFor(request, response)
  }

  async get(key: string, range?: ByteRange): Promise<string | undefined> {
    // A range header cannot express an empty range.
    const last = range && Math.max(range.from, range.to - 1)
    const headers = range && { range: `bytes=${range.from}-${last}` }
    const request: S3Request = { method: 'GET', url: this.#urlOf(key), ...(headers && { headers }) }
    const response = await this.#send(request)
    switch (response.status) {
      case 200: // The whole object, also from a server that ignores ranges.
        return response.body.subarray(range?.from, range?.to).toString('utf8')
      case 206:
        return response.body.subarray(0, range && range.to - range.from).toString('utf8')
      case 416: // The object ends before the range.
        return ''
      case 404:
        if (errorCode(response) === 'NoSuchKey') return undefined
    }
    throw this.#errorFor(request, response)
  }

  async list(
    prefix: string,
    { after = '', limit = limits.objectListPage }: ListPage = {},
  ): Promise<readonly Listing[]> {
    const found: Listing[] = []
    let behind = after
    while (found.length < limit) {
      const wanted = Math.min(limit - found.length, limits.objectListPage)
      const { truncated, listings } = await this.#listPage(prefix, behind, wanted)
      found.push(...listings)
      const last = listings.at(-1)
      if (!truncated || last === undefined) break
      // The last key works like the server's continuation token, and does not expire.
      behind = last.key
    }
    return found
  }

  async delete(keys: readonly string[]): Promise<void> {
    await forEach(keys, limits.objectDeletesAtOnce, (key) => this.#deleteOne(key))
  }

  /** Aborts requests in progress; their effect is unknown. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the bucket was closed'))
  }

  async #listPage(prefix: string, after: string, limit: number): Promise<ReturnType<typeof readList>> {
    const own = this.#location.prefix
    const query = {
      'list-type': '2',
      'encoding-type': 'url',
      'max-keys': String(limit),
      prefix: own + prefix,
      ...(after && { 'start-after': own + after }),
    }
    const pairs = Object.entries(query).map(([name, value]) => `${name}=${encoded(value)}`)
    const request: S3Request = { method: 'GET', url: `${this.#location.base}?${pairs.join('&')}` }
    const response = await this.#send(request)
    if (response.status !== 200) throw this.#errorFor(request, response)
    const { truncated, listings } = this.#understood(() => readList(response.body.toString('utf8')))
    const inside = listings.map((each) => ({ ...each, key: each.key.slice(own.length) }))
    return { truncated, listings: inside }
  }

  async #deleteOne(key: string): Promise<void> {
    const request: S3Request = { method: 'DELETE', url: this.#urlOf(key) }
    const response = await this.#send(request)
    if (response.status === 204 || response.status === 200) return
    if (response.status === 404 && errorCode(response) === 'NoSuchKey') return
    throw this.#errorFor(request, response)
  }

  #urlOf(key: string): string {
    const whole = this.#location.prefix + key
    checkKey(whole)
    return this.#location.base + whole.split('/').map(encoded).join('/')
  }

  async #send(request: S3Request): Promise<S3Response> {
    const credentials = await this.#credentials.get()
    const response = await this.#exchange(request, credentials)
    if (response.status < 400) return response
    // The next attempt gets new credentials: keys are renewed and withdrawn while a process runs.
    if (isAboutCredentials(response)) this.#credentials.forget(credentials)
    // The time in the signature was wrong. The response has corrected it, so the request is sent once more.
    const isSkewed = errorCode(response) === 'RequestTimeTooSkewed'
    return isSkewed ? this.#exchange(request, credentials) : response
  }

  async #exchange(request: S3Request, credentials: Credentials): Promise<S3Response> {
    const tooLong = new AbortController()
    const error = new Error(`no response in ${limits.objectRequestMsMax} ms`)
    const cancel = this.#clock.after(limits.objectRequestMsMax, () => tooLong.abort(error))
    const signal = AbortSignal.any([tooLong.signal, this.#closing.signal])
    const sentAt = this.#clock.monotonic()
    try {
      const { url, method, headers } = await this.#signed(request, credentials)
      const { body = null } = request
      // The signature is not valid for the target of a redirect.
      const fetched = await fetch(url, { method, headers, body, signal, redirect: 'manual' })
      this.serverTime.heard(fetched.headers.get('date'), sentAt)
      const bucketRegion = fetched.headers.get('x-amz-bucket-region')
      const response = { status: fetched.status, body: Buffer.from(await fetched.arrayBuffer()) }
      return bucketRegion ? { ...response, bucketRegion } : response
    } catch (error) {
      throw unavailable(`S3 bucket ${this.name}`, rootOf(error))
    } finally {
      cancel()
    }
  }

  async #signed(
    { method, url, headers, body }: S3Request,
    credentials: Credentials,
  ): Promise<{ url: URL; method: string; headers: Headers }> {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials
    const keys: SigningKeys = this.#signingKeys.get(credentials) ?? new Map()
    this.#signingKeys.set(credentials, keys)
    const signer = new this.#driver.AwsV4Signer({
      method,
      url,
      // The server rejects a body that was damaged on the way, because its digest is signed.
      headers: { ...headers, 'x-amz-content-sha256': hash('sha256', body ?? '', 'hex') },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken && { sessionToken }),
      service: 's3',
      region: this.#location.region,
      cache: keys,
      datetime: new Date(this.serverTime.guess()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
    })
    return signer.sign()
  }

  #errorFor({ method }: S3Request, response: S3Response): PawlError {
    return s3Error(this.name, method, response)
  }

  #understood<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      throw unavailable(`S3 bucket ${this.name}`, error)
    }
  }
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import('aws4fetch')
  } catch (error) {
    throw new PawlError('DRIVER_MISSING', "the S3 store needs the package 'aws4fetch'. Run: npm install aws4fetch", {
      cause: error,
    })
  }
}

/** Encodes everything but letters, digits and `-._~`, as SigV4 requires, so that the signed URL is the one sent. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Returns the innermost cause, because the error of `fetch` itself only says `fetch failed`. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? rootOf(error.cause) : error
}
