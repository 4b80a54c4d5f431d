// A job queue, so W5 and W6 only. Two rows: as it comes, and with its documented batching.
import type { Adapter } from '../adapter.ts'
import { countRows, freshDatabase, poolPostgres } from '../database.ts'
import { loadPeer } from '../peers/load.ts'
import { chunked, range } from '../time.ts'

interface JobPayload {
  run: number
}

interface WorkerUtils {
  addJob(task: string, payload: JobPayload): Promise<unknown>
  addJobs(jobs: { identifier: string; payload: JobPayload }[]): Promise<unknown>
  release(): Promise<void>
}

interface GraphileModule {
  run(options: object): Promise<{ stop(): Promise<void> }>
  runMigrations(options: object): Promise<void>
  makeWorkerUtils(options: object): Promise<WorkerUtils>
  Logger: new (factory: () => (level: string, message: string) => void) => unknown
}

const concurrency = 10
const localQueueSize = 500
const chunk = 1_000
const plain = { concurrentJobs: concurrency, maxPoolSize: concurrency }
const batched = {
  ...plain,
  localQueue: { size: localQueueSize },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
}
const common = `concurrentJobs ${concurrency} (default 1), LISTEN/NOTIFY with pollInterval 2 s (default); bulk = addJobs of ${chunk}`

export const graphileWorker: readonly Adapter[] = [
  adapterFor('graphile-worker', plain, `no batching (default), ${common}`),
  adapterFor(
    'graphile-worker-batched',
    batched,
    `localQueue.size ${localQueueSize}, completeJobBatchDelay 0, failJobBatchDelay 0, ${common}`,
  ),
]

function adapterFor(id: string, worker: object, settings: string): Adapter {
  return {
    id,
    packages: ['graphile-worker'],
    settings,
    workloads: ['W5', 'W6'],
    preload: load,
    async setup(servers) {
      const url = await freshDatabase(servers, 'bench_graphile')
      const graphile = await load()
      await graphile.runMigrations({ connectionString: url, logger: quietLogger(graphile) })
      return { url }
    },
    async work({ url }, hooks) {
      const graphile = await load()
      const job = async ({ run }: JobPayload): Promise<void> => {
        hooks.started(run)
        hooks.ran(run, 0)
      }
      const runner = await graphile.run({
        preset: { worker: { connectionString: url, ...worker } },
        logger: quietLogger(graphile),
        noHandleSignals: true,
        taskList: { job },
      })
      return { close: () => runner.stop() }
    },
    connect: ({ url }) => connect(url),
  }
}

async function connect(url: string) {
  const graphile = await load()
  const options = { connectionString: url, logger: quietLogger(graphile) }
  const utils = await graphile.makeWorkerUtils(options)
  const pool = await poolPostgres(url, 1)
  return {
    startOne: (run: number) => utils.addJob('job', { run }),
    startMany: (runs: number) =>
      chunked(runs, chunk, (first, size) =>
        utils.addJobs(range(first, size, (run) => ({ identifier: 'job', payload: { run } }))),
      ),
    unfinished: () => countRows(pool, 'SELECT count(*) FROM graphile_worker._private_jobs'),
    async close() {
      await utils.release()
      await pool.end()
    },
  }
}

function load(): Promise<GraphileModule> {
  return loadPeer<GraphileModule>('graphile-worker')
}

const quietLogger = ({ Logger }: GraphileModule): unknown =>
  new Logger(() => (level, message) => {
    if (level === 'error') console.error('[graphile-worker]', message)
  })
