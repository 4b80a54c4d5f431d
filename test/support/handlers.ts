// For tests of handlers: the context of a step, real servers on this machine, and the error of a rejected promise.
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { PermanentError, RetryableError } from '../../src/core/base/errors.ts'
import { retryAfter } from '../../src/core/base/failure.ts'
import type { ActivityContext } from '../../src/core/definitions/contract.ts'
import { certificate, certificateKey } from './certificate.ts'

export function stepContext(given: Partial<ActivityContext> = {}): ActivityContext {
  const quiet = (): void => {}
  return {
    runId: 'run',
    workflowId: 'workflow',
    stepKey: 'step#1',
    idempotencyKey: 'run:1:step#1',
    attempt: 1,
    maxAttempts: 5,
    build: 'build',
    signal: new AbortController().signal,
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    client: {
      start: async () => ({ runId: 'other', workflowId: 'other', isNew: true }),
      signal: async () => {},
      cancel: async () => {},
    },
    heartbeat: quiet,
    lastHeartbeat: () => undefined,
    runOnce: async (_key, fn) => fn(),
    stream: () => ({ write: async () => {}, flush: async () => {}, kept: async () => 0, close: quiet }),
    completionToken: async () => 'token',
    completeLater: () => {
      throw new Error('nobody completes it')
    },
    ...given,
  }
}

/** A request as the server saw it. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export interface TestServer {
  readonly port: number
  /** http://127.0.0.1:port, or https: */
  readonly origin: string
  readonly seen: readonly Seen[]
}

/** Starts a server that reads and keeps each request, and lets the listener answer. */
export async function serve(answer: RequestListener, secure = false): Promise<TestServer> {
  const seen: Seen[] = []
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
      answer(request, response)
    })
  }
  const server = secure
    ? createSecureServer({ cert: certificate, key: certificateKey }, listener)
    : createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => stop(server))
  const { port } = server.address() as AddressInfo
  return { port, origin: `http${secure ? 's' : ''}://127.0.0.1:${port}`, seen }
}

async function stop(server: Server): Promise<void> {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}

/** Answers with JSON. */
export function json(value: unknown, status = 200): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
}

export interface Refusal {
  readonly kind: 'permanent' | 'retryable' | 'other'
  readonly code: unknown
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
  readonly afterMs: number | undefined
}

/** Returns the error of a rejected promise; fails if it was not rejected. */
export async function refusal(promise: Promise<unknown>): Promise<Refusal> {
  const error: unknown = await promise.then(
    (value) => {
      throw new Error(`was not refused, but gave ${JSON.stringify(value)}`)
    },
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('what was thrown is no error')
  const { details = {}, code } = error as Error & {
    details?: Record<string, unknown>
    code?: unknown
  }
  const kinds = [
    [PermanentError, 'permanent'],
    [RetryableError, 'retryable'],
  ] as const
  const kind = kinds.find(([type]) => error instanceof type)?.[1] ?? 'other'
  if (kind === 'other' && error.message.startsWith('was not refused')) throw error
  const { message } = error
  return { kind, code: details['code'] ?? code, message, details, afterMs: retryAfter(error) }
}
