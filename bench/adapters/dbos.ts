// Three rows. `dbos` starts workflows in the app's own process, its usual use, with its queue at the
// defaults for W3, W5 and W6; `dbos-tuned` bounds the queue and polls it fast, over twice the rate on
// a long backlog; `dbos-queue` reaches the workflows of W1, W2 and W4 from another process.
import { type Adapter, type ChainInput, type FanoutInput, type Hooks, silentHooks } from '../adapter.ts'
import { countRows, freshDatabase, poolPostgres } from '../database.ts'
import { loadPeer } from '../peers/load.ts'
import { chunked, range } from '../time.ts'
import type { Workload } from '../workloads.ts'

type Registered<Input> = (input: Input) => Promise<number>
type Handle = Promise<{ getResult(): Promise<number> }>

interface Dbos {
  registerWorkflow<Input>(fn: Registered<Input>, options: { name: string }): Registered<Input>
  runStep<Result>(fn: () => Promise<Result>, options: { name: string }): Promise<Result>
  startWorkflow<Input>(workflow: Registered<Input>): (input: Input) => Handle
  registerQueue(name: string, options: object): Promise<unknown>
  setConfig(config: object): void
  launch(): Promise<void>
  shutdown(options: { deregister: boolean }): Promise<void>
}

interface Enqueue {
  queueName: string
  workflowName: string
}

interface DbosClient {
  enqueue(options: Enqueue, input: unknown): Handle
  enqueueInTransaction(connection: unknown, options: Enqueue, input: unknown): Promise<unknown>
  destroy(): Promise<void>
}

interface DbosModule {
  DBOS: Dbos
  DBOSClient: { create(options: object): Promise<DbosClient> }
}

interface QueueSettings {
  pollingMs: number
  workerConcurrency?: number
}

const poolSize = 20
const perTransaction = 500
const defaultQueue: QueueSettings = { pollingMs: 1_000 }
const tunedQueue: QueueSettings = { pollingMs: 100, workerConcurrency: 500 }
const common = `systemDatabasePoolSize ${poolSize} (default 10); bulk = client.enqueueInTransaction, ${perTransaction} per transaction`
const logger = {
  info() {},
  debug() {},
  warn() {},
  error: (...words: unknown[]) => console.error('[dbos]', ...words),
}

export const dbos: readonly Adapter[] = [
  {
    ...adapterFor('dbos', defaultQueue, ['W1', 'W2', 'W3', 'W4', 'W5', 'W6']),
    embedded: true,
    settings: `W1/W2/W4: DBOS.startWorkflow in the app process, no queue; W3/W5/W6: queue at defaults (no concurrency limit, minPollingIntervalMs 1000); ${common}`,
  },
  {
    ...adapterFor('dbos-tuned', tunedQueue, ['W3', 'W5', 'W6']),
    settings: `queue workerConcurrency 500, minPollingIntervalMs 100; ${common}`,
  },
  {
    ...adapterFor('dbos-queue', defaultQueue, ['W1', 'W2', 'W4']),
    settings: 'DBOSClient.enqueue from another process and getResult() at default polling',
  },
]

function adapterFor(id: string, queue: QueueSettings, workloads: readonly Workload[]): Omit<Adapter, 'settings'> {
  return {
    id,
    packages: ['@dbos-inc/dbos-sdk'],
    workloads,
    preload: () => loadPeer('@dbos-inc/dbos-sdk'),
    async setup(servers) {
      const url = await freshDatabase(servers, 'bench_dbos')
      // Only a launch installs the schema and the queue; listening to no queue, it takes no work.
      const { DBOS } = await launch(url, queue, silentHooks, { listenQueues: [] })
      await DBOS.shutdown({ deregister: true })
      return { url }
    },
    async work({ url }, hooks) {
      const { DBOS, chain, fanout } = await launch(url, queue, hooks, {})
      return {
        executor: {
          chain: async (input) => await (await DBOS.startWorkflow(chain)(input)).getResult(),
          fanout: async (input) => await (await DBOS.startWorkflow(fanout)(input)).getResult(),
        },
        close: () => DBOS.shutdown({ deregister: true }),
      }
    },
    connect: ({ url }) => connect(url),
  }
}

async function launch(url: string, queue: QueueSettings, hooks: Hooks, extra: object) {
  const { DBOS } = await loadPeer<DbosModule>('@dbos-inc/dbos-sdk')
  const step = (run: number, body: number): Promise<number> => {
    const work = async (): Promise<number> => {
      hooks.ran(run, body)
      return body
    }
    return DBOS.runStep(work, { name: `step${body}` })
  }
  const chain = DBOS.registerWorkflow(
    async ({ run, steps }: ChainInput) => {
      hooks.started(run)
      for (let body = 0; body < steps; body++) await step(run, body)
      return steps
    },
    { name: 'chain' },
  )
  const fanout = DBOS.registerWorkflow(
    async ({ run, width }: FanoutInput) => {
      // Its documentation asks for allSettled: a rejection must not leave steps behind.
      const branches = range(0, width, (body) => step(run, body))
      return (await Promise.allSettled(branches)).length
    },
    { name: 'fanout' },
  )
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    systemDatabasePoolSize: poolSize,
    applicationVersion: '1',
    logger,
    ...extra,
  })
  await DBOS.launch()
  const { pollingMs, ...limits } = queue
  await DBOS.registerQueue('queue', { minPollingIntervalMs: pollingMs, ...limits })
  return { DBOS, chain, fanout }
}

async function connect(url: string) {
  const { DBOSClient } = await loadPeer<DbosModule>('@dbos-inc/dbos-sdk')
  const options = { systemDatabaseUrl: url, applicationName: 'bench', logger }
  const client = await DBOSClient.create(options)
  const pool = await poolPostgres(url, 4)
  const target = (workflowName: string): Enqueue => ({ queueName: 'queue', workflowName })
  return {
    executor: {
      chain: async (input: ChainInput) => await (await client.enqueue(target('chain'), input)).getResult(),
      fanout: async (input: FanoutInput) => await (await client.enqueue(target('fanout'), input)).getResult(),
    },
    startOne: (run: number) => client.enqueue(target('chain'), { run, steps: 1 }),
    async startMany(runs: number, steps: number) {
      const connection = await pool.connect()
      await chunked(runs, perTransaction, async (first, size) => {
        await connection.query('BEGIN')
        const inputs = range(first, size, (run): ChainInput => ({ run, steps }))
        await Promise.all(inputs.map((input) => client.enqueueInTransaction(connection, target('chain'), input)))
        await connection.query('COMMIT')
      })
      connection.release()
    },
    unfinished: () =>
      countRows(
        pool,
        `SELECT count(*) FROM dbos.workflow_status
          WHERE status NOT IN ('SUCCESS', 'ERROR', 'CANCELLED')`,
      ),
    async close() {
      await client.destroy()
      await pool.end()
    },
  }
}
