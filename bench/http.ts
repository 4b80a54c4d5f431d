// W1 over HTTP: a caller sends a request that starts a one-step workflow and waits for the answer with its result, one at
// a time. pawl's own server, DBOS behind a plain server of Node (the cheapest framework there is), and Restate's ingress,
// in turn, with the worker in another process than the caller:
//   node http.ts [--rounds 5] [--count 200]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { type Executor, type Place, silentHooks } from './adapter.ts'
import { adapterById } from './adapters/index.ts'
import { type Servers, startServers } from './servers.ts'
import { median, summarize } from './statistics.ts'
import { now } from './time.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, count: { type: 'string', default: '200' } },
})
const warmUp = 20

interface Row {
  readonly id: string
  /** The adapter whose store and worker it uses. */
  readonly adapter: string
  readonly request: (url: string, run: number) => Promise<Response>
}

const json = { 'content-type': 'application/json' }

function toPawl(url: string, run: number): Promise<Response> {
  const body = JSON.stringify({ workflow: 'chain', input: { run, steps: 1 }, wait: '30s' })
  return fetch(`${url}/api/v1/runs`, { method: 'POST', body, headers: json })
}

function toPlain(url: string, run: number): Promise<Response> {
  return fetch(url, { method: 'POST', body: JSON.stringify({ run, steps: 1 }), headers: json })
}

const rows: readonly Row[] = [
  { id: 'pawl-postgres', adapter: 'pawl-postgres', request: toPawl },
  { id: 'pawl-sqlite', adapter: 'pawl-sqlite', request: toPawl },
  { id: 'dbos behind node:http', adapter: 'dbos', request: toPlain },
  {
    id: 'restate ingress',
    adapter: 'restate',
    request: (_url, run) => toPlain('http://127.0.0.1:58080/bench/chain', run),
  },
]

/** Runs in a process of its own: the engine, its worker and its HTTP server. Prints the address. */
async function serve(id: string, place: Place): Promise<void> {
  const adapter = adapterById(id)
  if (id.startsWith('pawl')) return servePawl(place)
  const { executor } = await adapter.work(place, silentHooks)
  process.send?.(executor ? await servePlain(executor) : '')
}

async function servePawl({ url }: Place): Promise<void> {
  const { open, workflow } = await import('pawl')
  const { server } = await import('pawl/server')
  const chain = workflow('chain', async (ctx, { steps }: { run: number; steps: number }) => {
    for (let body = 0; body < steps; body++) await ctx.run('step', async () => body)
    return steps
  })
  const engine = await open(url, { workflows: [chain] })
  await engine.work().ready
  process.send?.((await server(engine).listen({ port: 0 })).url)
}

async function servePlain(executor: Executor): Promise<string> {
  const node = createServer(async (request, response) => {
    const answer = await executor.chain(JSON.parse(await textOf(request)) as never)
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  node.listen(0, '127.0.0.1')
  await once(node, 'listening')
  return `http://127.0.0.1:${(node.address() as AddressInfo).port}`
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  return text
}

async function measure(row: Row, servers: Servers, count: number): Promise<{ p50: number; p99: number }> {
  const adapter = adapterById(row.adapter)
  const place = await adapter.setup(servers)
  const app = fork(import.meta.filename, ['serve', row.adapter, JSON.stringify(place)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  try {
    const [url] = (await once(app, 'message')) as [string]
    await adapter.announceWorker?.(place)
    const samples: number[] = []
    for (let run = 0; run < warmUp + count; run++) {
      const from = now()
      const response = await row.request(url, run)
      const text = await response.text()
      if (!response.ok) throw new Error(`${row.id} answers ${response.status}: ${text}`)
      if (run >= warmUp) samples.push(now() - from)
    }
    return summarize(samples)
  } finally {
    app.kill('SIGKILL')
    await adapter.teardown?.(place)
  }
}

async function compare(): Promise<void> {
  const servers = await startServers()
  const found = new Map(rows.map(({ id }) => [id, [] as { p50: number; p99: number }[]]))
  try {
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const row of rows) found.get(row.id)?.push(await measure(row, servers, Number(options.count)))
    }
  } finally {
    await servers.stop()
  }
  const medians = new Map([...found].map(([id, all]) => [id, median(all.map(({ p50 }) => p50))]))
  const best = Math.min(...[...medians].flatMap(([id, ms]) => (id.startsWith('pawl') ? [] : [ms])))
  console.log('\n| W1 over HTTP | p50 ms | p99 ms | to the best peer |\n| --- | --- | --- | --- |')
  for (const [id, all] of found) {
    const p50 = medians.get(id) ?? Number.NaN
    const p99 = median(all.map((each) => each.p99))
    console.log(`| ${id} | ${p50.toFixed(2)} | ${p99.toFixed(2)} | ${(p50 / best).toFixed(2)} |`)
  }
}

const [command, id = '', place = '{}'] = positionals
if (command === 'serve') await serve(id, JSON.parse(place) as Place)
else {
  await compare()
  process.exit(0)
}
