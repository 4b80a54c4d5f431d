// Sends calls to a server. A call that can safely be sent again is repeated while the server cannot be reached, so that
// callers do not notice that it restarts.

import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { type Duration, milliseconds } from '../core/base/time.ts'
import { decode, encodeAnswer, type Payload } from '../core/base/value.ts'
import { sleep, systemClock } from '../core/runtime/clock.ts'
import { systemRandom, uuidV7 } from '../core/runtime/random.ts'
import type { InputOf } from '../operations/inputs.ts'
import type { OutputOf } from '../operations/outputs.ts'
import { CALL, EXACT_TYPE, errorOfProblem, PROBLEM_TYPE, type Problem } from '../operations/protocol.ts'
import type { CallName, OperationName } from '../operations/routes.ts'
import { notPawl, unreachable, wasNotSent } from './errors.ts'
import { once, withOwnIds } from './repeating.ts'

/** The options of `connect`. */
export interface ConnectOptions {
  /** A token of the server. */
  readonly token?: string
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** How long a call that can safely be sent again is repeated while the server cannot be reached. Default `'30s'`. */
  readonly timeout?: Duration
  /** Why the calls are made, for the audit trail of the server. */
  readonly reason?: string
}

/** How one call is made. */
export interface CallOptions {
  /** Aborts the call; the server may have carried it out. */
  readonly signal?: AbortSignal | undefined
}

interface Waiting extends CallOptions {
  /** How long the server may wait before it answers. */
  readonly waitMs?: number
}

/** The answer of one request; or its error, and when the request may be sent again. */
type Tried<T> =
  | { readonly answer: T }
  | { readonly error: PawlError; readonly repeat: 'never' | 'ifSafe' | 'always'; readonly afterMs?: number }

export class Connection {
  readonly clock = systemClock
  readonly url: string
  readonly #fetch: NonNullable<ConnectOptions['fetch']>
  readonly #headers: Readonly<Record<string, string>>
  readonly #patienceMs: number
  readonly #closed = new AbortController()

  constructor(url: string, { token, fetch, timeout, reason }: ConnectOptions) {
    this.url = addressOf(url)
    this.#fetch = fetch ?? ((...request) => globalThis.fetch(...request))
    this.#patienceMs = timeout === undefined ? limits.storePatienceMs : milliseconds(timeout, 'timeout')
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
      throw new PawlError('INPUT_INVALID', 'the token has spaces; expected the text of a token.')
    const type = { 'content-type': EXACT_TYPE, accept: EXACT_TYPE }
    this.#headers = {
      ...type,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(reason !== undefined && { 'x-reason': headerText(reason) }),
    }
  }

  newId(): string {
    return uuidV7(this.clock, systemRandom)
  }

  close(): void {
    this.#closed.abort(new PawlError('WORKER_STOPPED', 'this client is closed.'))
  }

  /** Calls an operation by its name. Calls that can carry an id of their own get one. */
  async call<N extends CallName>(name: N, input: InputOf<N>, waiting: Waiting = {}): Promise<OutputOf<N>> {
    return this.#answered(name, input, waiting, async (response) => {
      if (response.status === 204) return { answer: undefined as OutputOf<N> }
      const text = await response.text()
      try {
        if (typeOf(response) === EXACT_TYPE) return { answer: decode(JSON.parse(text) as Payload) as OutputOf<N> }
      } catch {
        // Not an answer of pawl.
      }
      return { error: notPawl(this.url, response), repeat: 'never' }
    })
  }

  /** The lines of an answer, one after another. */
  async *lines(
    name: Exclude<OperationName, CallName>,
    input: object,
    options: CallOptions = {},
  ): AsyncGenerator<string> {
    const { signal } = options
    const body = await this.#answered(name, input, options, async (response) => ({ answer: response.body }))
    const reader = body?.getReader()
    const decoder = new TextDecoder()
    let rest = ''
    const leave = (): void => void reader?.cancel().catch(() => {})
    const ends = [signal, this.#closed.signal]
    for (const each of ends) each?.addEventListener('abort', leave, { once: true })
    try {
      for (;;) {
        const part = await reader?.read().catch((error: unknown) => {
          throw unreachable(this.url, name, error)
        })
        if (!part || part.done) break
        const lines = (rest + decoder.decode(part.value, { stream: true })).split('\n')
        rest = lines.pop() ?? ''
        yield* lines
      }
    } finally {
      for (const each of ends) each?.removeEventListener('abort', leave)
      await reader?.cancel().catch(() => {})
    }
    if (rest !== '') throw unreachable(this.url, name, new Error('its answer was cut off'))
  }

  async #answered<T>(
    name: OperationName,
    input: object,
    { signal, waitMs = 0 }: Waiting,
    read: (response: Response) => Promise<Tried<T>>,
  ): Promise<T> {
    const body = JSON.stringify(
      encodeAnswer(
        withOwnIds(name, input, () => this.newId()),
        `the input of ${name}`,
      ),
    )
    const begun = this.clock.monotonic()
    let pauseMs: number = limits.serverRetryMsMin
    for (;;) {
      const tried = await this.#within(waitMs + limits.serverAnswerMs, signal, (stop) =>
        this.#try(name, body, stop, read),
      )
      signal?.throwIfAborted()
      this.#closed.signal.throwIfAborted()
      if ('answer' in tried) return tried.answer
      const { error, repeat, afterMs = 0 } = tried
      const isAllowed = repeat === 'always' || (repeat === 'ifSafe' && !once.has(name))
      const restMs = Math.max(afterMs, pauseMs * (0.5 + systemRandom.fraction()))
      // A server that asks for more time than there is gets no request in vain, and its caller no silence.
      const isLate = this.clock.monotonic() - begun + afterMs >= this.#patienceMs
      if (!isAllowed || isLate) throw error
      await this.#within(restMs, signal, (stop) => sleep(this.clock, restMs, stop))
      signal?.throwIfAborted()
      this.#closed.signal.throwIfAborted()
      pauseMs = Math.min(pauseMs * 2, limits.serverRetryMsMax)
    }
  }

  /** Aborts a request that is not answered in time. */
  async #within<T>(ms: number, signal: AbortSignal | undefined, send: (stop: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController()
    const abort = (): void => stop.abort()
    const cancel = this.clock.after(ms, abort)
    const given = [signal, this.#closed.signal]
    for (const each of given) {
      each?.throwIfAborted()
      each?.addEventListener('abort', abort, { once: true })
    }
    try {
      return await send(stop.signal)
    } finally {
      cancel()
      for (const each of given) each?.removeEventListener('abort', abort)
    }
  }

  async #try<T>(
    name: OperationName,
    body: string,
    signal: AbortSignal,
    read: (response: Response) => Promise<Tried<T>>,
  ): Promise<Tried<T>> {
    try {
      const request = { method: 'POST', headers: this.#headers, body, signal }
      const response = await this.#fetch(`${this.url}${CALL}${name}`, request)
      return response.ok ? await read(response) : await this.#refusal(response)
    } catch (error) {
      const repeat = wasNotSent(error) ? 'always' : 'ifSafe'
      const isUnsure = repeat === 'ifSafe' && once.has(name)
      return { error: unreachable(this.url, name, error, isUnsure), repeat }
    }
  }

  async #refusal(response: Response): Promise<Tried<never>> {
    const { status, headers } = response
    const text = await response.text()
    if (typeOf(response) !== PROBLEM_TYPE) {
      // A proxy answers for a server that does not.
      return { error: notPawl(this.url, response), repeat: status >= 502 && status <= 504 ? 'ifSafe' : 'never' }
    }
    const error = errorOfProblem(JSON.parse(text) as Problem)
    if (status === 429) return { error, repeat: 'always', afterMs: 1_000 * secondsOf(headers.get('retry-after')) }
    return { error, repeat: status === 503 && error.code !== 'STORE_REFUSED' ? 'ifSafe' : 'never' }
  }
}

/** A header holds bytes, so each byte of the text in UTF-8 is one character. Line breaks would end the header. */
function headerText(text: string): string {
  const bytes = new TextEncoder().encode(text.replace(/\p{Cc}+/gu, ' ').trim())
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
}

/** A proxy may say a date. */
function secondsOf(text: string | null): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : 1
}

function typeOf({ headers }: Response): string | undefined {
  return headers.get('content-type')?.split(';')[0]
}

/** The address without a slash at its end. A server may be mounted below a path. */
function addressOf(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    return (url.origin + url.pathname).replace(/\/+$/, '')
  }
  const shown = url?.password ? 'a URL with a password' : `'${text}'`
  throw new PawlError('INPUT_INVALID', `the address of the server is ${shown}; expected http(s)://host:port.`)
}
