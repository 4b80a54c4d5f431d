// A job queue, so W5 and W6 only. Two rows: all defaults (W6 only: at one job per two seconds it would
// need half a day for W5), and tuned for a backlog.
import type { Adapter } from '../adapter.ts'
import { countRows, freshDatabase, poolPostgres } from '../database.ts'
import { loadPeer } from '../peers/load.ts'
import { chunked, range } from '../time.ts'
import type { Workload } from '../workloads.ts'

interface Job {
  data: { run: number }
}

interface Boss {
  on(event: 'error', listener: (error: Error) => void): void
  start(): Promise<unknown>
  stop(options: { graceful: boolean }): Promise<void>
  createQueue(name: string, options: object): Promise<void>
  work(name: string, options: object, handler: (jobs: Job[]) => Promise<void>): Promise<unknown>
  send(name: string, data: Job['data']): Promise<unknown>
  insert(name: string, jobs: Job[]): Promise<unknown>
}

interface BossModule {
  PgBoss: new (options: object) => Boss
}

interface Tuning {
  boss: object
  queue: object
  work: object
}

const queue = 'bench'
const chunk = 1_000
const batchSize = 500
const localConcurrency = 4
const untuned: Tuning = { boss: {}, queue: {}, work: {} }
const tuned: Tuning = {
  boss: { useListenNotify: true },
  queue: { notify: true },
  work: { batchSize, localConcurrency, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
}

export const pgBoss: readonly Adapter[] = [
  adapterFor('pg-boss', untuned, ['W6'], 'defaults: polls every 2 s, one job at a time'),
  adapterFor(
    'pg-boss-tuned',
    tuned,
    ['W5', 'W6'],
    `useListenNotify and queue notify, batchSize ${batchSize}, localConcurrency ${localConcurrency}, burstWhenBatchFull, pollingIntervalSeconds 0.5, pool of 10 (default); bulk = insert of ${chunk}`,
  ),
]

function adapterFor(id: string, tuning: Tuning, workloads: readonly Workload[], settings: string): Adapter {
  return {
    id,
    packages: ['pg-boss'],
    settings,
    workloads,
    preload: () => loadPeer('pg-boss'),
    async setup(servers) {
      const url = await freshDatabase(servers, 'bench_pgboss')
      const boss = await startBoss(url, tuning)
      await boss.createQueue(queue, tuning.queue)
      await boss.stop({ graceful: false })
      return { url }
    },
    async work({ url }, hooks) {
      const boss = await startBoss(url, tuning)
      await boss.work(queue, tuning.work, async (jobs) => {
        for (const { data } of jobs) {
          hooks.started(data.run)
          hooks.ran(data.run, 0)
        }
      })
      return { close: () => boss.stop({ graceful: false }) }
    },
    async connect({ url }) {
      const boss = await startBoss(url, tuning)
      const pool = await poolPostgres(url, 1)
      return {
        startOne: (run) => boss.send(queue, { run }),
        startMany: (runs) =>
          chunked(runs, chunk, (first, size) =>
            boss.insert(
              queue,
              range(first, size, (run) => ({ data: { run } })),
            ),
          ),
        unfinished: () =>
          countRows(pool, `SELECT count(*) FROM pgboss.job WHERE name = '${queue}' AND state < 'completed'`),
        async close() {
          await boss.stop({ graceful: false })
          await pool.end()
        },
      }
    },
  }
}

async function startBoss(url: string, tuning: Tuning): Promise<Boss> {
  const { PgBoss } = await loadPeer<BossModule>('pg-boss')
  const boss = new PgBoss({ connectionString: url, max: 10, ...tuning.boss })
  boss.on('error', (error) => console.error('[pg-boss]', error.message))
  await boss.start()
  return boss
}
