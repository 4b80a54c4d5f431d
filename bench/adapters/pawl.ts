// Two rows: the same workflows on Postgres and on SQLite, every setting at its default.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Adapter, type ChainInput, type Executor, type FanoutInput, type Hooks, silentHooks } from '../adapter.ts'
import { freshDatabase } from '../database.ts'
import type { Servers } from '../servers.ts'
import { chunked, range } from '../time.ts'
import { workloads } from '../workloads.ts'

const chunk = 1_000
const settings = 'defaults; startMany in chunks of 1,000; W1/W2/W4 start and await in the worker process'

export const pawl: readonly Adapter[] = [
  adapterFor('pawl-postgres', async (servers) => {
    return `${await freshDatabase(servers, 'bench_pawl')}?schema=pawl`
  }),
  adapterFor('pawl-sqlite', async (servers) => {
    const file = join(servers.folder, 'pawl.db')
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
    return `sqlite:${file}`
  }),
]

function adapterFor(id: string, freshStore: (servers: Servers) => Promise<string>): Adapter {
  return {
    id,
    packages: ['pawl'],
    settings,
    workloads,
    embedded: true,
    preload: () => import('pawl'),
    async setup(servers) {
      const url = await freshStore(servers)
      const { engine } = await openEngine(url, silentHooks)
      await engine.close()
      return { url }
    },
    async work({ url }, hooks) {
      const { engine, executor } = await openEngine(url, hooks)
      const worker = engine.work()
      await worker.ready
      return {
        executor,
        async close() {
          await worker.drain()
          await engine.close()
        },
      }
    },
    async connect({ url }) {
      const { engine, chain } = await openEngine(url, silentHooks)
      return {
        startOne: (run) => engine.start(chain, { run, steps: 1 }),
        startMany: (runs, steps) =>
          chunked(runs, chunk, (first, size) =>
            engine.startMany(
              chain,
              range(first, size, (run) => ({ input: { run, steps } })),
            ),
          ),
        unfinished: () => engine.count({ status: ['pending', 'running', 'waiting'] }),
        close: () => engine.close(),
      }
    },
  }
}

async function openEngine(url: string, hooks: Hooks) {
  const { open } = await import('pawl')
  const { chain, fanout } = await defineWorkflows(hooks)
  const engine = await open(url, { workflows: [chain, fanout] })
  const executor: Executor = {
    chain: async (input) => await (await engine.start(chain, input)).result(),
    fanout: async (input) => await (await engine.start(fanout, input)).result(),
  }
  return { engine, chain, executor }
}

async function defineWorkflows(hooks: Hooks) {
  const { workflow } = await import('pawl')
  const chain = workflow('chain', async (ctx, { run, steps }: ChainInput) => {
    hooks.started(run)
    for (let step = 0; step < steps; step++) {
      await ctx.run(`step${step}`, () => {
        hooks.ran(run, step)
        return step
      })
    }
    return steps
  })
  const fanout = workflow('fanout', async (ctx, { run, width }: FanoutInput) => {
    const branches = range(0, width, (step) =>
      ctx.run(`step${step}`, () => {
        hooks.ran(run, step)
        return step
      }),
    )
    return (await Promise.all(branches)).length
  })
  return { chain, fanout }
}
