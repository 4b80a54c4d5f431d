// The npm package brings no SQL: BENCH_ABSURD_SQL names the absurd.sql of the same release.
import { readFileSync } from 'node:fs'
import type { Adapter, ChainInput, FanoutInput, Hooks } from '../adapter.ts'
import { connectPostgres, countRows, freshDatabase, poolPostgres } from '../database.ts'
import { loadPeer } from '../peers/load.ts'
import { pooled, range } from '../time.ts'

interface TaskContext {
  step<Result>(name: string, body: () => Promise<Result>): Promise<Result>
}

type Task<Input> = (input: Input, context: TaskContext) => Promise<number>

interface AbsurdApp {
  createQueue(name: string): Promise<void>
  registerTask<Input>(options: { name: string }, task: Task<Input>): void
  startWorker(options: { concurrency: number }): Promise<{ close(): Promise<void> }>
  spawn(name: string, input: object, options: { queue: string }): Promise<{ taskID: string }>
  awaitTaskResult(taskId: string): Promise<{ state: string; result?: unknown }>
}

interface AbsurdModule {
  Absurd: new (options: object) => AbsurdApp
}

const concurrency = 64
const poolSize = 20
const queue = 'bench'
const log = { log() {}, info() {}, warn: console.error, error: console.error }
const schemaFile = process.env['BENCH_ABSURD_SQL']

export const absurd: Adapter = {
  id: 'absurd',
  packages: ['absurd-sdk'],
  settings: `startWorker concurrency ${concurrency} (default 1), pollInterval 0.25 s (default), pool of ${poolSize} (default 10); awaitTaskResult polls from 50 ms, doubling to 1 s; no bulk call: ${poolSize} spawns in flight`,
  workloads: ['W1', 'W2', 'W3', 'W4', 'W5', 'W6'],
  async unavailable() {
    return schemaFile ? undefined : 'BENCH_ABSURD_SQL does not name its absurd.sql'
  },
  preload: () => loadPeer('absurd-sdk'),
  async setup(servers) {
    const url = await freshDatabase(servers, 'bench_absurd')
    const connection = await connectPostgres(url)
    await connection.query(readFileSync(schemaFile ?? '', 'utf8'))
    await connection.end()
    const { app, pool } = await openApp(url)
    await app.createQueue(queue)
    await pool.end()
    return { url }
  },
  async work({ url }, hooks) {
    const { app, pool } = await openApp(url)
    registerTasks(app, hooks)
    const worker = await app.startWorker({ concurrency })
    return {
      async close() {
        await worker.close()
        await pool.end()
      },
    }
  },
  async connect({ url }) {
    const { app, pool } = await openApp(url)
    const start = (name: string, input: object) => app.spawn(name, input, { queue })
    const execute = async (name: string, input: object): Promise<number> => {
      const { taskID } = await start(name, input)
      const { state, result } = await app.awaitTaskResult(taskID)
      if (state !== 'completed') throw new Error(`task ${state}`)
      return Number(result)
    }
    return {
      executor: {
        chain: (input) => execute('chain', input),
        fanout: (input) => execute('fanout', input),
      },
      startOne: (run) => start('chain', { run, steps: 1 }),
      startMany: (runs, steps) => pooled(runs, poolSize, (run) => start('chain', { run, steps })),
      unfinished: () =>
        countRows(
          pool,
          `SELECT count(*) FROM absurd.t_${queue}
            WHERE state NOT IN ('completed', 'failed', 'cancelled')`,
        ),
      close: () => pool.end(),
    }
  },
}

async function openApp(url: string) {
  const { Absurd } = await loadPeer<AbsurdModule>('absurd-sdk')
  const pool = await poolPostgres(url, poolSize)
  return { app: new Absurd({ db: pool, queueName: queue, log }), pool }
}

function registerTasks(app: AbsurdApp, hooks: Hooks): void {
  const step = (context: TaskContext, run: number, body: number): Promise<number> =>
    context.step(`step${body}`, async () => {
      hooks.ran(run, body)
      return body
    })
  app.registerTask({ name: 'chain' }, async ({ run, steps }: ChainInput, context) => {
    hooks.started(run)
    for (let body = 0; body < steps; body++) await step(context, run, body)
    return steps
  })
  app.registerTask({ name: 'fanout' }, async ({ run, width }: FanoutInput, context) => {
    const branches = range(0, width, (body) => step(context, run, body))
    return (await Promise.all(branches)).length
  })
}
