// Fuzz of the HTTP server: `npx node --expose-gc test/server/fuzz.ts --requests 1000000 [--seed 1]`.
import { Agent, request as httpRequest } from 'node:http'
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { server } from '../../src/server/index.ts'
import { validator } from './answers.ts'
import { type FuzzedWire, type Known, requests } from './fuzz-requests.ts'
import { callerOf, openEngine } from './support.ts'

export interface Found {
  readonly problem: string
  readonly wire: string
}

export interface Report {
  readonly requests: number
  readonly statuses: Readonly<Record<string, number>>
  readonly found: readonly Found[]
  /** Bytes of the heap after each round, if the process can collect its garbage. */
  readonly heaps: readonly number[]
}

/** Runs are kept in memory, so a round has an engine of its own. */
const ROUND = 10_000
const AT_ONCE = 32
const BATCH = 500
/** A call that waits for a run is given up. */
const PATIENCE_MS = 50

interface Sent {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}
type Send = (wire: FuzzedWire) => Promise<Sent>

export async function fuzz(count: number, seed: number, log: (line: string) => void = () => {}): Promise<Report> {
  const statuses: Record<string, number> = {}
  const found: Found[] = []
  const heaps: number[] = []
  const onRejection = (reason: unknown): void => {
    found.push({ problem: `unhandled rejection: ${String((reason as Error)?.stack ?? reason)}`, wire: '' })
  }
  process.on('unhandledRejection', onRejection)
  for (let done = 0; done < count; done += ROUND) {
    await round(Math.min(ROUND, count - done), seed + done, { statuses, found })
    globalThis.gc?.()
    heaps.push(process.memoryUsage().heapUsed)
    log(`${done + ROUND} requests, ${found.length} problems, heap ${Math.round((heaps.at(-1) ?? 0) / 1e6)} MB`)
    if (found.length > 20) break
  }
  process.off('unhandledRejection', onRejection)
  return { requests: count, statuses, found, heaps }
}

async function round(
  count: number,
  seed: number,
  { statuses, found }: { statuses: Record<string, number>; found: Found[] },
): Promise<void> {
  const engine = await openEngine()
  const lines: string[] = []
  const api = server(engine, { open: true, logger: { log: (_, line) => lines.push(line) } })
  const { port } = await api.listen({ port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const check = validator()
  const known = await knownIn(api)
  const one = async (wire: FuzzedWire, at: number): Promise<void> => {
    const send =
      at % 8 === 0 ? (each: FuzzedWire) => overSocket(each, port, agent) : (each: FuzzedWire) => overFetch(each, api)
    const problem = await problemWith(wire, send, { check, statuses })
    const logged = lines.splice(0).join('\n')
    if (problem || logged) found.push({ problem: `${problem ?? ''} ${logged}`, wire: shown(wire) })
  }
  for (let done = 0; done < count; done += BATCH) {
    const wires = fc.sample(requests(known), { numRuns: Math.min(BATCH, count - done), seed: seed + done })
    const left = wires.entries()
    const lane = async (): Promise<void> => {
      for (const [at, wire] of left) await one(wire, at)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  }
  if (({} as { polluted?: unknown }).polluted !== undefined)
    found.push({ problem: 'Object.prototype changed', wire: '' })
  agent.destroy()
  await api.close()
  await engine.close()
}

async function knownIn(api: ReturnType<typeof server>): Promise<Known> {
  const call = callerOf(api)
  const start = async (workflow: string, more = {}): Promise<string> =>
    String((await call('runs.start', { workflow, input: 1, ...more })).json['runId'])
  const runs = [
    await start('double'),
    await start('waits'),
    await start('waits', { workflowId: 'a' }),
    await start('fails'),
  ]
  const hooked = await start('hooked')
  let hook: unknown
  while (hook === undefined) hook = (await call('runs.get', { run: hooked })).json['attributes']?.['token']
  const pending = await start('pipeline', { pending: true })
  await call('schedules.set', { schedule: 'nightly', workflow: 'double', cron: '0 3 * * *', input: 1 })
  return { runs: [...runs, pending, 'w:a', 'w:with-signal'], tokens: [String(hook), 'none'] }
}

async function problemWith(
  wire: FuzzedWire,
  send: Send,
  { check, statuses }: { check: ReturnType<typeof validator>; statuses: Record<string, number> },
): Promise<string | undefined> {
  let sent: Sent
  try {
    sent = await send(wire)
  } catch (error) {
    return isNoRequest(error) ? undefined : `threw ${String((error as Error).stack)}`
  }
  statuses[sent.status] = (statuses[sent.status] ?? 0) + 1
  return check(wire, sent)
}

/** The client refused to make such a request. */
function isNoRequest(error: unknown): boolean {
  const { code = '', name = '', message = '' } = error as { code?: string; name?: string; message?: string }
  const isRefused = name === 'TypeError' && /(?:method|Headers|URL|body|ByteString|header|Request)/i.test(message)
  return isRefused || code.startsWith('ERR_INVALID') || code === 'ERR_UNESCAPED_CHARACTERS' || name === 'AbortError'
}

async function overFetch({ method, target, headers, body }: FuzzedWire, api: ReturnType<typeof server>): Promise<Sent> {
  const hasBody = body !== undefined && method !== 'GET' && method !== 'HEAD'
  const request = new Request(`http://localhost${target}`, {
    ...{ method, headers, signal: AbortSignal.timeout(PATIENCE_MS) },
    ...(hasBody && { body: body as string }),
  })
  const response = await api.fetch(request)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

function overSocket({ method, target, headers, body }: FuzzedWire, port: number, agent: Agent): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(PATIENCE_MS * 20)
    const request = httpRequest({ port, host: '127.0.0.1', method, path: target, headers, agent, signal })
    if (body !== undefined) request.setHeader('content-length', Buffer.byteLength(body))
    request.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      response.on('end', () => {
        const named = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as [string, string])
        resolve({
          status: response.statusCode ?? 0,
          headers: new Headers(named),
          text: Buffer.concat(chunks).toString(),
        })
      })
    })
    request.end(body)
  })
}

function shown({ name, method, target, headers, body }: FuzzedWire): string {
  const text = body instanceof Uint8Array ? Buffer.from(body).toString('latin1') : body
  return `${name}: ${method} ${target.slice(0, 500)} ${JSON.stringify(headers)} ${JSON.stringify(text)?.slice(0, 1_500)}`
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({ options: { requests: { type: 'string' }, seed: { type: 'string' } } })
  const begun = performance.now()
  const report = await fuzz(Number(values.requests ?? 20_000), Number(values.seed ?? 1), console.log)
  console.log(report.statuses, `${Math.round((performance.now() - begun) / 1_000)} s`)
  for (const { problem, wire } of report.found) console.log(`\n${problem}\n  ${wire}`)
  process.exitCode = report.found.length > 0 ? 1 : 0
}
