// A bucket of S3, or of a server that speaks as it does. Each method is one request, or as many as it takes; none is
// sent again when it may have been carried out, because only the store can tell what an unanswered write has done.
import { hash } from 'node:crypto'
import type * as aws4fetch from 'aws4fetch'
import { PawlError } from '../../core/base/errors.ts'
import type { Instant } from '../../core/base/instant.ts'
import { limits } from '../../core/base/limits.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import { type Clock, sleep } from '../../core/runtime/clock.ts'
import { type Random, systemRandom } from '../../core/runtime/random.ts'
import type { Bucket, ByteRange, Listing, ListPage } from './bucket.ts'
import {
  type CredentialProvider,
  CredentialSource,
  type Credentials,
  findCredentials,
} from './credentials.ts'
import { checkKey } from './keys.ts'
import { type Answer, errorCode, isAboutCredentials, refusal } from './s3-errors.ts'
import type { S3Location } from './s3-url.ts'
import { readList } from './s3-xml.ts'
import { ServerTime } from './server-time.ts'

export interface S3Options {
  readonly credentials?: CredentialProvider
  /** Another clock than the server's. */
  readonly now?: () => Instant
  readonly random?: Random
}

type Driver = typeof aws4fetch

interface Message {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** A signing key for each day, made once. They belong to one set of credentials. */
type SigningKeys = Map<string, ArrayBuffer>

export class S3Bucket implements Bucket {
  readonly name: string
  readonly serverTime: ServerTime
  readonly #driver: Driver
  readonly #place: S3Location
  readonly #clock: Clock
  readonly #random: Random
  readonly #now: () => Instant
  readonly #credentials: CredentialSource
  readonly #signingKeys = new WeakMap<Credentials, SigningKeys>()
  readonly #closing = new AbortController()

  private constructor(driver: Driver, place: S3Location, clock: Clock, options: S3Options) {
    this.name = `s3://${place.bucket}/${place.prefix}`
    this.serverTime = new ServerTime(clock)
    this.#driver = driver
    this.#place = place
    this.#clock = clock
    this.#random = options.random ?? systemRandom
    this.#now = options.now ?? (() => this.serverTime.now())
    this.#credentials = new CredentialSource(
      options.credentials ?? findCredentials(place.profile),
      clock,
    )
  }

  /** Sends nothing yet, but refuses when there is no driver or nothing to sign with. */
  static async open(place: S3Location, clock: Clock, options: S3Options = {}): Promise<S3Bucket> {
    const bucket = new S3Bucket(await loadDriver(), place, clock, options)
    await bucket.#credentials.get()
    return bucket
  }

  now(): Instant {
    return this.#now()
  }

  async create(key: string, body: string): Promise<'created' | 'exists'> {
    const message: Message = {
      method: 'PUT',
      url: this.#urlOf(key),
      headers: { 'if-none-match': '*' },
      body: Buffer.from(body),
    }
    let pauseMs: number = limits.objectConflictPauseMs
    for (let retries: number = limits.objectConflictRetries; ; retries--) {
      const answer = await this.#send(message)
      if (answer.status === 200) return 'created'
      if (answer.status === 412) return 'exists'
      // Another write of this key is under way, and this one was refused for it. The next answer says who won.
      if (answer.status !== 409 || retries === 0) throw this.#refusal(message, answer)
      await sleep(this.#clock, pauseMs * (0.5 + this.#random.fraction()), this.#closing.signal)
      pauseMs *= 1.5
    }
  }

  async put(key: string, body: string): Promise<void> {
    const message: Message = { method: 'PUT', url: this.#urlOf(key), body: Buffer.from(body) }
    const answer = await this.#send(message)
    if (answer.status !== 200) throw this.#refusal(message, answer)
  }

  async get(key: string, range?: ByteRange): Promise<string | undefined> {
    // There is no way to ask for no bytes at all.
    const last = range && Math.max(range.from, range.to - 1)
    const headers = range && { range: `bytes=${range.from}-${last}` }
    const message: Message = { method: 'GET', url: this.#urlOf(key), ...(headers && { headers }) }
    const answer = await this.#send(message)
    switch (answer.status) {
      case 200: // Also if the server knows nothing of ranges.
        return answer.body.subarray(range?.from, range?.to).toString('utf8')
      case 206:
        return answer.body.subarray(0, range && range.to - range.from).toString('utf8')
      case 416: // The object ends before.
        return ''
      case 404:
        if (errorCode(answer) === 'NoSuchKey') return undefined
    }
    throw this.#refusal(message, answer)
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
      // The key serves as well as the server's own mark, and stays good for ever.
      behind = last.key
    }
    return found
  }

  async delete(keys: readonly string[]): Promise<void> {
    const left = [...keys].reverse()
    const deleteOneByOne = async (): Promise<void> => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) await this.#deleteOne(key)
    }
    const lanes = Math.min(keys.length, limits.objectDeletesAtOnce)
    await Promise.all(Array.from({ length: lanes }, deleteOneByOne))
  }

  /** Requests under way are called off: their effect is unknown. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the bucket was closed'))
  }

  async #listPage(
    prefix: string,
    after: string,
    limit: number,
  ): Promise<ReturnType<typeof readList>> {
    const own = this.#place.prefix
    const query = {
      'list-type': '2',
      'encoding-type': 'url',
      'max-keys': String(limit),
      prefix: own + prefix,
      ...(after && { 'start-after': own + after }),
    }
    const pairs = Object.entries(query).map(([name, value]) => `${name}=${encoded(value)}`)
    const message: Message = { method: 'GET', url: `${this.#place.base}?${pairs.join('&')}` }
    const answer = await this.#send(message)
    if (answer.status !== 200) throw this.#refusal(message, answer)
    const { truncated, listings } = this.#understood(() => readList(answer.body.toString('utf8')))
    const inside = listings.map((each) => ({ ...each, key: each.key.slice(own.length) }))
    return { truncated, listings: inside }
  }

  async #deleteOne(key: string): Promise<void> {
    const message: Message = { method: 'DELETE', url: this.#urlOf(key) }
    const answer = await this.#send(message)
    if (answer.status === 204 || answer.status === 200) return
    if (answer.status === 404 && errorCode(answer) === 'NoSuchKey') return
    throw this.#refusal(message, answer)
  }

  #urlOf(key: string): string {
    const whole = this.#place.prefix + key
    checkKey(whole)
    return this.#place.base + whole.split('/').map(encoded).join('/')
  }

  async #send(message: Message): Promise<Answer> {
    const credentials = await this.#credentials.get()
    const answer = await this.#exchange(message, credentials)
    if (answer.status < 400) return answer
    // Whoever tries again asks for others: keys are renewed and withdrawn while a process runs.
    if (isAboutCredentials(answer)) this.#credentials.forget(credentials)
    // It was refused for the time in its signature. The answer has told the right one.
    const isSkewed = errorCode(answer) === 'RequestTimeTooSkewed'
    return isSkewed ? this.#exchange(message, credentials) : answer
  }

  async #exchange(message: Message, credentials: Credentials): Promise<Answer> {
    const tooLong = new AbortController()
    const error = new Error(`no answer in ${limits.objectRequestMsMax} ms`)
    const cancel = this.#clock.after(limits.objectRequestMsMax, () => tooLong.abort(error))
    const signal = AbortSignal.any([tooLong.signal, this.#closing.signal])
    const sentAt = this.#clock.monotonic()
    try {
      const { url, method, headers } = await this.#signed(message, credentials)
      const { body = null } = message
      // A redirection would take the request to where its signature does not hold.
      const response = await fetch(url, { method, headers, body, signal, redirect: 'manual' })
      this.serverTime.heard(response.headers.get('date'), sentAt)
      const bucketRegion = response.headers.get('x-amz-bucket-region')
      const answer = { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
      return bucketRegion ? { ...answer, bucketRegion } : answer
    } catch (error) {
      throw unavailable(`S3 bucket ${this.name}`, rootOf(error))
    } finally {
      cancel()
    }
  }

  async #signed(
    { method, url, headers, body }: Message,
    credentials: Credentials,
  ): Promise<{ url: URL; method: string; headers: Headers }> {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials
    const keys: SigningKeys = this.#signingKeys.get(credentials) ?? new Map()
    this.#signingKeys.set(credentials, keys)
    const signer = new this.#driver.AwsV4Signer({
      method,
      url,
      // With its digest signed, a body that was damaged on the way is refused.
      headers: { ...headers, 'x-amz-content-sha256': hash('sha256', body ?? '', 'hex') },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken && { sessionToken }),
      service: 's3',
      region: this.#place.region,
      cache: keys,
      datetime: new Date(this.serverTime.guess()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
    })
    return signer.sign()
  }

  #refusal({ method }: Message, answer: Answer): PawlError {
    return refusal(this.name, method, answer)
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
    throw new PawlError(
      'DRIVER_MISSING',
      "the S3 store needs the package 'aws4fetch'. Run: npm install aws4fetch",
      { cause: error },
    )
  }
}

/** As SigV4 wants it: everything but letters, digits and `-._~`. What is signed is then what is sent. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

/** `fetch failed` has a cause that says why. */
function rootOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? rootOf(error.cause) : error
}
