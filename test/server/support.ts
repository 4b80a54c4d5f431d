// What tests of the server share: engines with a worker, and calls of operations as HTTP requests.
import { activity, type Engine, graph, open, query, signal, update, workflow } from '../../src/index.ts'
import { type OperationName, pathFields, type Route, routes } from '../../src/operations/routes.ts'
import { type ServerOptions, server } from '../../src/server/index.ts'
import { API } from '../../src/server/router.ts'

const go = signal<unknown>('go')
const add = update<number, number>('add')
const total = query<undefined, number>('total')
export const charge = activity('charge', async (n: number) => n * 10)

/** 1 becomes 2. */
const double = workflow('double', async (ctx, n: number) => n + (await ctx.sideEffect(() => n)))
const waits = workflow('waits', async (ctx, n: number | undefined) => {
  let sum = n ?? 0
  ctx.on(add, (more: number) => {
    sum += more
    return sum
  })
  ctx.on(total, () => sum)
  await ctx.run(charge, 1)
  await ctx.wait(go)
  return sum
})
const fails = workflow('fails', async (ctx) => {
  await ctx.run(charge, 2)
  throw new Error('as planned')
})
const hooked = workflow('hooked', async (ctx) => {
  const hook = ctx.webhook('hook')
  ctx.setAttributes({ token: hook.token })
  return ctx.wait(hook)
})
const pipeline = graph('pipeline').step('one', () => 1)

export const workflows = [double, waits, fails, hooked, pipeline]

export const quiet = { log: (): void => {} }

export async function openEngine(url = 'memory:', work = true): Promise<Engine> {
  const engine = await open(url, { workflows, activities: [charge], logger: quiet })
  if (work) engine.work({ signals: false })
  return engine
}

export type Api = ReturnType<typeof server>

export interface World extends AsyncDisposable {
  readonly api: Api
  readonly engine: Engine
  readonly other: Engine
}

/** A server with two namespaces, `default` and `other`. */
export async function openWorld(options: ServerOptions = {}): Promise<World> {
  const [engine, other] = [await openEngine(), await openEngine()]
  const api = server({ default: engine, other }, { logger: quiet, ...options })
  const close = async (): Promise<void> => {
    await api.close()
    await engine.close()
    await other.close()
  }
  return { api, engine, other, [Symbol.asyncDispose]: close }
}

export type Input = Readonly<Record<string, unknown>>

export interface Wire {
  readonly method: string
  /** The path and the query. */
  readonly target: string
  readonly body?: string
  readonly headers: Readonly<Record<string, string>>
}

/** An operation as a request, as any client would make it from the table. */
export function wireOf(name: OperationName, input: Input, headers: Readonly<Record<string, string>> = {}): Wire {
  const { method, path } = routes[name] as Route
  const inPath = pathFields(path)
  const rest = Object.entries(input).filter(([field]) => !inPath.includes(field))
  const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(String(input[field])))
  if (method === 'GET' || method === 'DELETE') {
    const fields = rest.map(([field, value]) => `${encodeURIComponent(field)}=${encodeURIComponent(queryText(value))}`)
    return { method, target: `${API}${filled}${fields.length > 0 ? `?${fields.join('&')}` : ''}`, headers }
  }
  const body = JSON.stringify(Object.fromEntries(rest))
  return { method, target: `${API}${filled}`, body, headers: { 'content-type': 'application/json', ...headers } }
}

export function queryText(value: unknown): string {
  if (Array.isArray(value)) return value.join(',')
  if (typeof value === 'object' && value !== null) return JSON.stringify(value)
  return String(value)
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON. */
  readonly json: Json
}

// Answers have any shape; the tests compare it.
type Json = { readonly [field: string]: never }

export async function answerOf(response: Response): Promise<Answer> {
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  const text = isStream ? await beginningOf(response) : await response.text()
  const isJson = /[/+]json$/.test(response.headers.get('content-type') ?? '')
  const json = (isJson && text !== '' ? JSON.parse(text) : {}) as Json
  return { status: response.status, headers: response.headers, text, json }
}

/** The first piece of a stream that does not end by itself. */
async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return Buffer.from(first?.value ?? []).toString()
}

export type Call = (name: OperationName, input?: Input, headers?: Readonly<Record<string, string>>) => Promise<Answer>

/** Calls operations through `fetch` of a server, without a socket. */
export function callerOf(api: Api, token?: string): Call {
  return async (name, input = {}, headers = {}) => send(api, withToken(wireOf(name, input, headers), token))
}

export function withToken(wire: Wire, token: string | undefined): Wire {
  return token === undefined ? wire : { ...wire, headers: { authorization: `Bearer ${token}`, ...wire.headers } }
}

export async function send(api: Api, { method, target, body, headers }: Wire): Promise<Answer> {
  const request = new Request(`http://localhost${target}`, { method, headers, ...(body !== undefined && { body }) })
  return answerOf(await api.fetch(request))
}

export const MISSING = '01890000-0000-7000-8000-000000000000'

/** An input for each operation that passes its checks. What it names does not exist. */
export const samples: Readonly<Record<OperationName, Input>> = {
  'runs.list': { status: ['running', 'completed'], limit: 5, startedAfter: '2020-01-01T00:00:00Z' },
  'runs.count': { workflow: 'double' },
  'runs.groups': { by: 'status', workflow: 'double' },
  'runs.histogram': { startedAfter: '2026-01-01T00:00:00Z', startedBefore: '2026-01-02T00:00:00Z', bins: 2 },
  'runs.get': { run: MISSING },
  'runs.why': { run: MISSING },
  'runs.whyMany': { runs: [MISSING] },
  'runs.history': { run: MISSING, limit: 5, payloads: false },
  'runs.steps': { run: MISSING },
  'runs.timeline': { run: MISSING },
  'runs.result': { run: MISSING, wait: '1ms' },
  'runs.query': { run: MISSING, name: 'total' },
  'runs.updateResult': { run: MISSING, messageId: 'm1' },
  'runs.export': { workflow: 'double' },
  'live.run': { run: MISSING, after: '2.41', payloads: true },
  'live.runs': { workflow: 'double', limit: 5, counts: true },
  'streams.list': { run: MISSING },
  'streams.read': { run: MISSING, name: 'tokens', from: 1 },
  'live.stream': { run: MISSING, name: 'tokens', from: 1, after: '41' },
  'runs.start': { workflow: 'double', input: 1 },
  'runs.startMany': { workflow: 'double', runs: [{ input: 1 }, { input: 2 }] },
  'runs.signalWithStart': { workflow: 'waits', workflowId: 'with-signal', signal: 'go', payload: 1 },
  'runs.updateWithStart': { workflow: 'waits', workflowId: 'with-update', update: 'add', payload: 1, wait: '5s' },
  'runs.signal': { run: MISSING, name: 'go', payload: 1 },
  'runs.update': { run: MISSING, name: 'add', payload: 1, wait: '5s' },
  'runs.trigger': { run: MISSING },
  'runs.cancel': { run: MISSING, reason: 'a test' },
  'runs.terminate': { run: MISSING, reason: 'a test' },
  'runs.pause': { run: MISSING, note: 'a test' },
  'runs.resume': { run: MISSING },
  'runs.retry': { run: MISSING },
  'runs.reset': { run: MISSING, step: 'charge' },
  'runs.fork': { run: MISSING, step: 'charge' },
  'runs.migrate': { run: MISSING, definitionHash: 'abc' },
  'runs.discard': { run: MISSING, messageId: 'm1' },
  'completions.resolve': { token: 'no-token', payload: 1 },
  'completions.reject': { token: 'no-token', reason: 'a test' },
  'batches.preview': { filter: { workflow: 'none' }, operation: 'cancel', limit: 5 },
  'batches.list': { limit: 5 },
  'batches.get': { batch: MISSING },
  'batches.start': { batch: MISSING },
  'batches.stop': { batch: MISSING },
  'schedules.list': { limit: 5 },
  'schedules.get': { schedule: 'none' },
  'schedules.set': { schedule: 'nightly', workflow: 'double', cron: '0 3 * * *', input: 1 },
  'schedules.update': { schedule: 'none', overlap: 'skip' },
  'schedules.delete': { schedule: 'none' },
  'schedules.pause': { schedule: 'none' },
  'schedules.resume': { schedule: 'none' },
  'schedules.trigger': { schedule: 'none' },
  'schedules.slots': { schedule: 'none', from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
  'schedules.backfill': { schedule: 'none', from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
  'views.list': {},
  'views.set': { view: 'mine', query: 'status:failed' },
  'views.delete': { view: 'none' },
  'workflows.list': {},
  'definitions.list': {},
  'definitions.get': { name: 'none' },
  'definitions.submit': { document: { name: 'data', nodes: [{ id: 'only', handler: 'charge' }] } },
  'builds.list': {},
  'builds.get': { build: 'b1' },
  'builds.checks': {},
  'builds.rollOut': { build: 'b1', percent: 10 },
  'builds.retire': { build: 'b2' },
  'retention.get': {},
  'retention.set': { keep: '1000d' },
  'retention.remove': {},
  'retention.purge': { policy: { keep: '1000d' }, limit: 5, dryRun: true },
  'workers.list': {},
  'queues.list': {},
  'workers.work': { for: '1s', linger: 0, queues: ['none'] },
  'health.get': {},
  'audit.list': { limit: 5 },
  'tokens.list': {},
  'tokens.create': { name: 'another', scope: 'read' },
  'tokens.revoke': { token: 'none' },
  'me.get': {},
  'openapi.get': {},
}
