// Restate brings its own server: the program from its npm package, on loopback, with fresh data in
// every round. The server calls the worker, so nothing waits in a queue while no worker is there.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, openSync, rmSync } from 'node:fs'
import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2'
import { join } from 'node:path'
import type { Adapter, ChainInput, FanoutInput, Hooks } from '../adapter.ts'
import { loadPeer, peerFile, peerVersion } from '../peers/load.ts'
import { stopProcess, untilUp } from '../servers.ts'
import { pooled, range } from '../time.ts'

type RequestListener = (request: Http2ServerRequest, response: Http2ServerResponse) => void

interface RestateContext {
  run<Result>(name: string, body: () => Result): Promise<Result>
}

interface RestateModule {
  service(definition: { name: string; handlers: object }): unknown
  createEndpointHandler(options: object): RequestListener
  RestatePromise: { all<Result>(branches: readonly Promise<Result>[]): Promise<Result[]> }
}

interface Handlers<Answer> {
  chain(input: ChainInput): Promise<Answer>
  fanout(input: FanoutInput): Promise<Answer>
}

interface RestateClients {
  connect(options: { url: string }): {
    serviceClient(service: { name: string }): Handlers<number>
    serviceSendClient(service: { name: string }): Handlers<unknown>
  }
}

const ports = { ingress: 58_080, admin: 58_081, node: 58_082, service: 58_083 }
const local = (port: number): string => `http://127.0.0.1:${port}`
const service = { name: 'bench' }
const sendsInFlight = 256
const serverPackage = `@restatedev/restate-server-${process.platform}-${process.arch}`
const running = new Map<number, ChildProcess>()
// An interrupted benchmark must not leave a server behind on the ports of the next one.
process.on('exit', () => {
  for (const server of running.values()) server.kill('SIGKILL')
})

export const restate: Adapter = {
  id: 'restate',
  packages: ['@restatedev/restate-server', '@restatedev/restate-sdk'],
  settings: `one node, server defaults (24 partitions, WAL fsync on), telemetry off; a workflow is a service handler with ctx.run steps; W1/W2/W4 = ingress request and response; W3/W5 = one-way sends, ${sendsInFlight} in flight, no bulk call, and handlers run while sends still arrive`,
  workloads: ['W1', 'W2', 'W3', 'W4', 'W5', 'W6'],
  push: true,
  keepsStore: true,
  async unavailable() {
    const installed = peerVersion(serverPackage) !== 'not installed'
    return installed ? undefined : `${serverPackage} is not installed`
  },
  preload: () => loadPeer('@restatedev/restate-sdk'),
  setup: (servers) => startServer(join(servers.folder, 'restate')),
  async teardown({ serverProcessId }) {
    const server = running.get(serverProcessId ?? 0)
    if (server) await stopProcess(server, 'SIGTERM')
    running.delete(serverProcessId ?? 0)
  },
  async announceWorker() {
    await askAdmin('/deployments', { uri: local(ports.service), force: true })
  },
  work: (_place, hooks) => serve(hooks),
  async connect() {
    const clients = await loadPeer<RestateClients>('@restatedev/restate-sdk-clients')
    const ingress = clients.connect({ url: local(ports.ingress) })
    const call = ingress.serviceClient(service)
    const send = ingress.serviceSendClient(service)
    return {
      executor: { chain: (input) => call.chain(input), fanout: (input) => call.fanout(input) },
      startOne: (run) => send.chain({ run, steps: 1 }),
      startMany: (runs, steps) => pooled(runs, sendsInFlight, (run) => send.chain({ run, steps })),
      unfinished: countUnfinished,
      async close() {},
    }
  },
}

async function startServer(folder: string) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const log = openSync(join(folder, 'server.log'), 'a')
  const listen = ['--bind-ip', '127.0.0.1', '--bind-port', `${ports.node}`, '--listen-mode', 'tcp']
  const options = ['--base-dir', join(folder, 'data'), '--no-logo', '--node-name', 'one', ...listen]
  const server = spawn(peerFile(serverPackage, 'bin', 'restate-server'), options, {
    stdio: ['ignore', log, log],
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      DO_NOT_TRACK: '1',
      RESTATE_DISABLE_TELEMETRY: 'true',
      RESTATE_LOG_FILTER: 'warn',
      RESTATE_INGRESS__BIND_PORT: `${ports.ingress}`,
      RESTATE_ADMIN__BIND_PORT: `${ports.admin}`,
    },
  })
  if (server.pid === undefined) throw new Error('restate-server has no process id')
  running.set(server.pid, server)
  await untilUp(server, 'restate-server', async () => {
    for (const url of [`${local(ports.admin)}/health`, `${local(ports.ingress)}/restate/health`]) {
      const response = await fetch(url)
      if (!response.ok) throw new Error(`${url} answers ${response.status}`)
    }
  })
  return { url: local(ports.ingress), serverProcessId: server.pid }
}

async function serve(hooks: Hooks) {
  const restate = await loadPeer<RestateModule>('@restatedev/restate-sdk')
  const step = (context: RestateContext, run: number, body: number): Promise<number> =>
    context.run(`step${body}`, () => {
      hooks.ran(run, body)
      return body
    })
  const handlers = {
    async chain(context: RestateContext, { run, steps }: ChainInput): Promise<number> {
      hooks.started(run)
      for (let body = 0; body < steps; body++) await step(context, run, body)
      return steps
    },
    async fanout(context: RestateContext, { run, width }: FanoutInput): Promise<number> {
      const branches = range(0, width, (body) => step(context, run, body))
      return (await restate.RestatePromise.all(branches)).length
    },
  }
  const services = [restate.service({ ...service, handlers })]
  const server = createServer({}, restate.createEndpointHandler({ services, logger() {} }))
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => sessions.add(session))
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(ports.service, '127.0.0.1', resolve)
  await promise
  return {
    async close() {
      for (const session of sessions) session.destroy()
      server.close()
    },
  }
}

async function countUnfinished(): Promise<number> {
  const query = "SELECT count(*) AS unfinished FROM sys_invocation WHERE status <> 'completed'"
  const answer = await askAdmin('/query', { query })
  return (answer as { rows: { unfinished: number }[] }).rows[0]?.unfinished ?? Number.NaN
}

async function askAdmin(path: string, body: object): Promise<unknown> {
  const response = await fetch(local(ports.admin) + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return await response.json()
}
