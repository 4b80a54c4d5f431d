// CPU per three-step workflow in a worker that is warm, for several checkouts, interleaved:
//   node cpu.ts [--checkout ../older --checkout ..] [--store postgres|sqlite] [--rounds 5]
// Each sample is a process of its own. It drains batches of workflows, forgets the first ones, and counts the CPU of the
// process from the start of a worker to the last result. Postgres runs in another process, so its CPU is not counted.
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { freshDatabase } from './database.ts'
import { type Servers, startServers } from './servers.ts'
import { median } from './statistics.ts'

const { values: options } = parseArgs({
  options: {
    checkout: { type: 'string', multiple: true, default: ['..'] },
    store: { type: 'string', default: 'postgres' },
    rounds: { type: 'string', default: '5' },
    url: { type: 'string' },
  },
})
const batches = 8
const coldBatches = 3
const batchSize = 1_000

interface Run {
  result(): Promise<unknown>
}
interface Pawl {
  open(url: string, options: object): Promise<Engine>
  workflow(name: string, run: (ctx: Context) => Promise<unknown>): unknown
  activity(name: string, body: () => Promise<number>): unknown
}
interface Context {
  run(activity: unknown): Promise<number>
}
interface Engine {
  startMany(workflow: unknown, runs: readonly object[]): Promise<readonly Run[]>
  work(options: object): { drain(): Promise<void> }
  close(): Promise<void>
}

async function measureHere(checkout: string, url: string): Promise<number> {
  const pawl = (await import(resolve(checkout, 'dist/index.js'))) as Pawl
  const step = pawl.activity('step', async () => 1)
  const three = pawl.workflow('three', async (ctx) => {
    return (await ctx.run(step)) + (await ctx.run(step)) + (await ctx.run(step))
  })
  const engine = await pawl.open(url, { workflows: [three], activities: [step] })
  const samples: number[] = []
  for (let batch = 0; batch < batches; batch++) {
    const runs = await engine.startMany(
      three,
      Array.from({ length: batchSize }, () => ({})),
    )
    const before = process.cpuUsage()
    const worker = engine.work({ signals: false })
    await Promise.all(runs.map((run) => run.result()))
    const { user, system } = process.cpuUsage(before)
    if (batch >= coldBatches) samples.push((user + system) / 1_000 / batchSize)
    await worker.drain()
  }
  await engine.close()
  return median(samples)
}

async function placeFor(servers: Servers, name: string): Promise<string> {
  if (options.store === 'sqlite') return `sqlite:${servers.folder}/${name}.db`
  return freshDatabase(servers, name)
}

async function compare(): Promise<void> {
  const servers = await startServers()
  const samples = new Map<string, number[]>(options.checkout.map((each) => [each, []]))
  try {
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const [index, checkout] of options.checkout.entries()) {
        const url = await placeFor(servers, `cpu_${round}_${index}`)
        const args = [import.meta.filename, '--checkout', checkout, '--url', url]
        const text = execFileSync(process.execPath, args, { encoding: 'utf8' })
        samples.get(checkout)?.push(Number(text.trim()))
      }
    }
  } finally {
    await servers.stop()
  }
  console.log(`CPU ms per three-step workflow, warm, on ${options.store}:\n`)
  for (const [checkout, each] of samples)
    console.log(`${checkout}: ${median(each).toFixed(3)} (${each.map((ms) => ms.toFixed(3)).join(', ')})`)
}

if (options.url === undefined) await compare()
else console.log(await measureHere(options.checkout[0] ?? '..', options.url))
