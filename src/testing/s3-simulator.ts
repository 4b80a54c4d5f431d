// SIMULATOR of an S3 server over HTTP, with objects in memory: what AWS documents, and the failures of a server and of
// its network. It shows only how pawl believes that S3 behaves; tests on a real server show the rest.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Clock, sleep, systemClock } from '../core/runtime/clock.ts'
import type { Credentials } from '../stores/objects/credentials.ts'
import { MemoryObjects } from './memory-bucket.ts'
import { type SignedRequest, signatureProblem } from './s3-signature.ts'
import { SeededRandom } from './seeded-random.ts'

/** The faults may be changed while the server runs. Probabilities are from 0 to 1. */
export interface S3Faults {
  latencyMs: number
  /** A conditional write is refused with 409, as if another one were in progress. */
  conflict: number
  /** The request is refused with a 5xx and not carried out. */
  failure: number
  /** The request is carried out, and the connection breaks before the answer. */
  lostAnswer: number
  /** The answer comes `slowMs` late. */
  slow: number
  slowMs: number
  /** The server accepts conditions and ignores them. */
  ignoresConditions: boolean
  /** Every request is refused with this error and not carried out. */
  refusal?: S3Refusal | undefined
}

export interface S3Refusal {
  readonly status: number
  readonly code: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface S3Requests {
  put: number
  get: number
  head: number
  list: number
  delete: number
  /** How many of these requests `faults.refusal` refused. */
  refused: number
}

export interface S3SimulatorOptions {
  readonly clock?: Clock
  readonly seed?: number
  readonly bucket?: string
  readonly region?: string
  readonly faults?: Partial<S3Faults>
}

export interface S3Simulator {
  /** `s3://bucket/?endpoint=…`, for `parseS3Url`. */
  readonly url: string
  readonly endpoint: string
  readonly credentials: Credentials
  readonly space: MemoryObjects
  readonly requests: S3Requests
  readonly faults: S3Faults
  stop(): Promise<void>
}

export async function startS3Simulator(options: S3SimulatorOptions = {}): Promise<S3Simulator> {
  const { clock = systemClock, seed = 1, bucket = 'simulated', region = 'us-east-1' } = options
  const simulated = new SimulatedS3(clock, new SeededRandom(seed), bucket)
  Object.assign(simulated.faults, options.faults)
  const server = createServer((request, response) => {
    simulated.serve(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { credentials, space, requests, faults } = simulated
  const url = `s3://${bucket}/?endpoint=${encodeURIComponent(endpoint)}&region=${region}`
  return { url, endpoint, credentials, space, requests, faults, stop: () => stop(server) }
}

async function stop(server: Server): Promise<void> {
  if (!server.listening) return
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}

interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** A parsed request. Without a key it is for the bucket. */
interface Call {
  readonly request: SignedRequest
  readonly key: string
  readonly query: ReadonlyMap<string, string>
}

class SimulatedS3 {
  readonly space: MemoryObjects
  readonly requests: S3Requests = { put: 0, get: 0, head: 0, list: 0, delete: 0, refused: 0 }
  readonly credentials = { accessKeyId: 'SIMULATEDKEY', secretAccessKey: 'simulated/secret+key' }
  readonly faults: S3Faults = {
    latencyMs: 0,
    conflict: 0,
    failure: 0,
    lostAnswer: 0,
    slow: 0,
    slowMs: 1_000,
    ignoresConditions: false,
  }
  readonly #clock: Clock
  readonly #random: SeededRandom
  readonly #bucket: string

  constructor(clock: Clock, random: SeededRandom, bucket: string) {
    this.space = new MemoryObjects(clock)
    this.#clock = clock
    this.#random = random
    this.#bucket = bucket
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer)
    } catch {
      return // The client has closed the connection.
    }
    const { method = '', url: target = '', headers } = request
    const signed: SignedRequest = { method, target, headers, body: Buffer.concat(chunks) }
    if (this.faults.latencyMs > 0) await sleep(this.#clock, this.faults.latencyMs)
    const reply = this.#answer(signed)
    if (this.#random.chance(this.faults.lostAnswer)) {
      response.destroy()
      return
    }
    if (this.#random.chance(this.faults.slow)) await sleep(this.#clock, this.faults.slowMs)
    const date = new Date(this.#clock.now()).toUTCString()
    const body = Buffer.from(reply.body ?? '')
    response.writeHead(reply.status, { 'content-length': body.length, ...reply.headers, date })
    response.end(method === 'HEAD' || reply.status === 204 ? undefined : body)
  }

  #answer(request: SignedRequest): Reply {
    const call = callOf(request, this.#bucket)
    if (call) this.#count(call)
    if (this.#random.chance(this.faults.failure)) {
      return this.#random.chance(0.5) ? error(503, 'SlowDown') : error(500, 'InternalError')
    }
    const { refusal } = this.faults
    if (refusal) {
      this.requests.refused += 1
      const { headers, ...reply } = error(refusal.status, refusal.code)
      return { ...reply, headers: { ...headers, ...refusal.headers } }
    }
    const problem = signatureProblem(request, this.credentials, this.#clock.now())
    if (problem) return error(problem === 'XAmzContentSHA256Mismatch' ? 400 : 403, problem)
    if (!call) return error(404, 'NoSuchBucket')
    if (call.key === '') {
      return request.method === 'GET' ? this.#list(call) : error(405, 'MethodNotAllowed')
    }
    if (Buffer.byteLength(call.key) > 1_024) return error(400, 'KeyTooLongError')
    switch (request.method) {
      case 'PUT':
        return this.#put(call)
      case 'GET':
      case 'HEAD':
        return this.#get(call)
      case 'DELETE':
        this.space.remove(call.key)
        return { status: 204 }
      default:
        return error(405, 'MethodNotAllowed')
    }
  }

  #count({ request: { method }, key }: Call): void {
    if (method === 'GET') this.requests[key === '' ? 'list' : 'get'] += 1
    if (method === 'PUT') this.requests.put += 1
    if (method === 'HEAD') this.requests.head += 1
    if (method === 'DELETE') this.requests.delete += 1
  }

  #put({ key, request: { headers, body } }: Call): Reply {
    const present = this.space.read(key)
    const absentWanted = headers['if-none-match']
    const matchWanted = headers['if-match']
    const conditional = absentWanted !== undefined || matchWanted !== undefined
    if (conditional && !this.faults.ignoresConditions) {
      if (absentWanted !== undefined && absentWanted !== '*') return error(501, 'NotImplemented')
      if (this.#random.chance(this.faults.conflict)) return error(409, 'ConditionalRequestConflict')
      if (absentWanted === '*' && present) return error(412, 'PreconditionFailed')
      if (matchWanted !== undefined && !present) return error(404, 'NoSuchKey')
      if (matchWanted !== undefined && present && !matches(matchWanted, etagOf(present.body))) {
        return error(412, 'PreconditionFailed')
      }
    }
    this.space.write(key, body)
    return { status: 200, headers: { etag: etagOf(body) } }
  }

  #get({ key, request }: Call): Reply {
    const object = this.space.read(key)
    if (!object) return error(404, 'NoSuchKey')
    const { body, modifiedAt } = object
    const headers = {
      etag: etagOf(body),
      'accept-ranges': 'bytes',
      'last-modified': new Date(modifiedAt).toUTCString(),
    }
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '')
    const sized = { ...headers, 'content-length': String(body.length) }
    if (!range) return { status: 200, headers: sized, body }
    const from = Number(range[1])
    const last = Math.min(range[2] ? Number(range[2]) : Number.POSITIVE_INFINITY, body.length - 1)
    if (from >= body.length) return error(416, 'InvalidRange')
    const part = body.subarray(from, last + 1)
    const where = { 'content-range': `bytes ${from}-${last}/${body.length}` }
    return {
      status: 206,
      headers: { ...headers, ...where, 'content-length': String(part.length) },
      body: part,
    }
  }

  #list({ query }: Call): Reply {
    if (query.get('list-type') !== '2') return error(501, 'NotImplemented')
    const limit = Math.min(Number(query.get('max-keys') ?? 1_000), 1_000)
    const token = query.get('continuation-token')
    const after = token ? Buffer.from(token, 'base64').toString('utf8') : query.get('start-after')
    const page = { limit: limit + 1, ...(after !== undefined && { after }) }
    const found = limit === 0 ? [] : this.space.list(query.get('prefix') ?? '', page)
    const shown = found.slice(0, limit)
    const encode = query.get('encoding-type') === 'url' ? urlEncoded : escaped
    const contents = shown.map(
      ({ key, bytes, modifiedAt }) =>
        `<Contents><Key>${encode(key)}</Key><LastModified>${new Date(modifiedAt).toISOString()}</LastModified><Size>${bytes}</Size></Contents>`,
    )
    const truncated = found.length > shown.length
    const next = Buffer.from(shown.at(-1)?.key ?? '').toString('base64')
    return xml(
      200,
      `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${this.#bucket}</Name><KeyCount>${shown.length}</KeyCount><MaxKeys>${limit}</MaxKeys><IsTruncated>${truncated}</IsTruncated>${
        truncated ? `<NextContinuationToken>${next}</NextContinuationToken>` : ''
      }${contents.join('')}</ListBucketResult>`,
    )
  }
}

function callOf(request: SignedRequest, bucket: string): Call | undefined {
  const [path = '', search = ''] = request.target.split('?')
  const [, name, ...segments] = path.split('/').map(decodeURIComponent)
  if (name !== bucket) return undefined
  return { request, key: segments.join('/'), query: new Map(new URLSearchParams(search)) }
}

function matches(wanted: string, etag: string): boolean {
  return wanted === '*' || wanted === etag || `"${wanted}"` === etag
}

function etagOf(body: Buffer): string {
  return `"${createHash('md5').update(body).digest('hex')}"`
}

function error(status: number, code: string): Reply {
  return xml(status, `<Error><Code>${code}</Code><Message>simulated: ${code}</Message><RequestId>0</RequestId></Error>`)
}

function xml(status: number, content: string): Reply {
  return {
    status,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n${content}`,
  }
}

/** Encodes a key as AWS does in lists: a space becomes a plus. */
function urlEncoded(key: string): string {
  return encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  '"': '&quot;',
}

function escaped(key: string): string {
  return key.replace(/[<>&"]/g, (char) => ENTITIES[char] ?? char)
}
