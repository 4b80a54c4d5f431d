// Where objects.ts measures: the simulator, or a bucket that was named. Requests are counted, and writes timed, where
// this process sends them, so that both are measured alike.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { SimulatorReport } from './object-simulator.ts'
import { now } from './time.ts'

export const requestKinds = ['put', 'get', 'list', 'delete'] as const
export type RequestKind = (typeof requestKinds)[number]
export type Requests = Readonly<Record<RequestKind, number>>

export interface S3Identity {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface ObjectPlace {
  /** What was measured, for people. */
  readonly label: string
  readonly simulated: boolean
  /** The round trip the simulator was told to have. */
  readonly roundTripMs?: number
  /** Without it: from the environment. */
  readonly credentials?: () => Promise<S3Identity>
  /** A store URL with a prefix that nobody has used. */
  fresh(name: string): string
  /** Fails if the server has counted other requests than this process. */
  check(): Promise<void>
  stop(): Promise<void>
}

export const simulatedRoundTripMs = 20

export async function startSimulated(): Promise<ObjectPlace> {
  const program = join(import.meta.dirname, 'object-simulator.ts')
  const child = fork(program, [String(simulatedRoundTripMs / 2)])
  const { url, credentials } = await reportOf(child, 'ready')
  return {
    label: `SIMULATOR of S3 on loopback, in a process of its own, with a round trip of ${simulatedRoundTripMs} ms (${simulatedRoundTripMs / 2} ms each way)`,
    simulated: true,
    roundTripMs: simulatedRoundTripMs,
    credentials: async () => credentials,
    fresh: prefixes(url),
    async check() {
      const { put, get, list, delete: deleted } = await askForRequests(child)
      const served: Requests = { put, get, list, delete: deleted }
      const wrong = requestKinds.filter((kind) => served[kind] !== traffic.requests[kind])
      if (wrong.length > 0) throw new Error(`the simulator counted other requests: ${wrong.join(', ')}`)
    },
    async stop() {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

export function namedPlace(url: string): ObjectPlace {
  return {
    label: `${url.replace(/\?.*/s, '')}, as named by --url`,
    simulated: false,
    fresh: prefixes(url),
    check: async () => {},
    stop: async () => {},
  }
}

function prefixes(url: string): (name: string) => string {
  const [base = '', query] = url.split(/\?(.*)/s)
  const bucket = base.replace(/\/$/, '')
  const started = Date.now().toString(36)
  let stores = 0
  return (name) => `${bucket}/bench-${started}/${++stores}-${name}${query === undefined ? '' : `?${query}`}`
}

async function askForRequests(child: ChildProcess) {
  const answered = reportOf(child, 'requests')
  child.send('requests')
  return (await answered).requests
}

async function reportOf<Type extends SimulatorReport['type']>(
  child: ChildProcess,
  type: Type,
): Promise<SimulatorReport & { type: Type }> {
  const ended = once(child, 'exit').then(() => {
    throw new Error('the simulator ended')
  })
  const [report]: SimulatorReport[] = await Promise.race([once(child, 'message'), ended])
  if (report?.type !== type) throw new Error(`the simulator did not say '${type}'`)
  return report as SimulatorReport & { type: Type }
}

/** Every request of this process, by kind, and how long the last writes took. */
class Traffic {
  /** Writes of the log. They follow each other: none is sent before the last was answered. */
  logWrites = 0
  readonly #counts = { put: 0, get: 0, list: 0, delete: 0 }
  #putMs: number[] = []

  get requests(): Requests {
    return { ...this.#counts }
  }

  since(before: Requests): Requests {
    const { put, get, list, delete: deleted } = this.#counts
    return {
      put: put - before.put,
      get: get - before.get,
      list: list - before.list,
      delete: deleted - before.delete,
    }
  }

  /** What the writes took that were answered since the last call. */
  takePutMs(): readonly number[] {
    const taken = this.#putMs
    this.#putMs = []
    return taken
  }

  watch(): void {
    const send = globalThis.fetch
    globalThis.fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : input.toString()
      const kind = kindOf(init?.method ?? 'GET', url)
      this.#counts[kind]++
      if (kind === 'put' && url.includes('/log/')) this.logWrites++
      const sentAt = now()
      const response = await send(input, init)
      if (kind === 'put') this.#putMs.push(now() - sentAt)
      return response
    }
  }
}

function kindOf(method: string, url: string): RequestKind {
  if (method === 'PUT') return 'put'
  if (method === 'DELETE') return 'delete'
  return url.includes('list-type=2') ? 'list' : 'get'
}

export const traffic = new Traffic()
