// A run with a long history, on Postgres and SQLite, through the HTTP API: its first, middle and last page of 100 events,
// and why it waits:
//   node history.ts [--events 50000] [--rounds 20] [--store postgres|sqlite]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freshDatabase } from './database.ts'
import { type Servers, startServers } from './servers.ts'
import { summarize } from './statistics.ts'
import { now } from './time.ts'

const { values: options } = parseArgs({
  options: {
    events: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '20' },
    store: { type: 'string', multiple: true, default: ['postgres', 'sqlite'] },
  },
})
const page = 100
const eventsPerStep = 2
const atOnce = 100

async function measure(storeUrl: string, store: string): Promise<void> {
  const { open, signal, workflow } = await import('pawl')
  const { server } = await import('pawl/server')
  const steps = Math.ceil(Number(options.events) / eventsPerStep)
  const go = signal<null>('go')
  const long = workflow('long', async (ctx) => {
    for (let done = 0; done < steps; done += atOnce) {
      const many = Math.min(atOnce, steps - done)
      await Promise.all(Array.from({ length: many }, () => ctx.run('step', () => 1)))
    }
    await ctx.wait(go)
  })
  const engine = await open(storeUrl, { workflows: [long] })
  const worker = engine.work()
  const run = await engine.start(long, undefined)
  while ((await run.describe()).status !== 'waiting') await new Promise((resolve) => setTimeout(resolve, 200))
  await worker.drain()
  const api = server(engine)
  const { url } = await api.listen({ port: 0 })
  const path = `${url}/api/v1/runs/${run.runId}`
  const get = async (what: string): Promise<{ readonly events?: readonly { readonly seq: number }[] }> => {
    const answer = await fetch(`${path}/${what}`)
    if (!answer.ok) throw new Error(`${what}: ${await answer.text()}`)
    return (await answer.json()) as object
  }
  const last = (await get(`history?last=1`)).events?.[0]?.seq ?? 0
  console.log(`\n${store}, ${last.toLocaleString('en')} events\n`)
  console.log('| request | p50 ms | p99 ms |\n| --- | --- | --- |')
  for (const [name, what] of [
    ['the first page', `history?limit=${page}`],
    ['a page in the middle', `history?limit=${page}&after=${Math.floor(last / 2)}`],
    ['the page before the middle', `history?last=${page}&before=${Math.floor(last / 2)}`],
    ['the last page', `history?last=${page}`],
    ['why it waits', 'why'],
  ] as const) {
    const ms: number[] = []
    for (let round = 0; round < Number(options.rounds); round++) {
      const begun = now()
      await get(what)
      ms.push(now() - begun)
    }
    const { p50, p99 } = summarize(ms)
    console.log(`| ${name} | ${p50.toFixed(1)} | ${p99.toFixed(1)} |`)
  }
  await api.close()
  await engine.close()
}

async function urlOf(store: string, servers: Servers): Promise<string> {
  return store === 'postgres' ? freshDatabase(servers, 'bench_history') : `sqlite:${join(servers.folder, 'history.db')}`
}

const servers = await startServers()
try {
  for (const store of options.store) await measure(await urlOf(store, servers), store)
} finally {
  await servers.stop()
}
