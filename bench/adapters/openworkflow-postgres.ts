import type { Adapter } from '../adapter.ts'
import { countRows, freshDatabase, poolPostgres } from '../database.ts'
import { loadPeer } from '../peers/load.ts'
import { concurrency, executorOf, openWorkflow, startersOf, startWorker } from './openworkflow.ts'

interface PostgresBackendModule {
  BackendPostgres: {
    connect(url: string): Promise<{ stop(): Promise<void> }>
    fromPool(sql: unknown): unknown
  }
}

interface PostgresModule {
  default: {
    (url: string, options: object): { end(): Promise<void> }
    toCamel: unknown
  }
}

const poolSize = 20

export const openworkflowPostgres: Adapter = {
  id: 'openworkflow-postgres',
  packages: ['openworkflow'],
  settings: `BackendPostgres with a pool of ${poolSize} (default 10), worker concurrency ${concurrency} (default 1); result() polls every second, fixed; no bulk call: ${poolSize} starts in flight`,
  workloads: ['W1', 'W2', 'W3', 'W4', 'W5', 'W6'],
  preload: () => loadPeer('openworkflow/postgres'),
  async setup(servers) {
    const url = await freshDatabase(servers, 'bench_openworkflow')
    const { BackendPostgres } = await loadPeer<PostgresBackendModule>('openworkflow/postgres')
    const backend = await BackendPostgres.connect(url)
    await backend.stop()
    return { url }
  },
  async work({ url }, hooks) {
    const { engine, sql } = await openEngine(url)
    const worker = await startWorker(engine, hooks)
    return {
      async close() {
        await worker.stop()
        await sql.end()
      },
    }
  },
  async connect({ url }) {
    const { engine, sql } = await openEngine(url)
    const pool = await poolPostgres(url, 1)
    return {
      executor: executorOf(engine),
      ...startersOf(engine, poolSize),
      unfinished: () => countRows(pool, 'SELECT count(*) FROM openworkflow.workflow_runs WHERE finished_at IS NULL'),
      async close() {
        await sql.end()
        await pool.end()
      },
    }
  },
}

/** Only a pool of its own driver can be given a size, and the backend expects camel case from it. */
async function openEngine(url: string) {
  const { BackendPostgres } = await loadPeer<PostgresBackendModule>('openworkflow/postgres')
  const { default: postgres } = await loadPeer<PostgresModule>('postgres')
  const transform = { column: { from: postgres.toCamel } }
  const sql = postgres(url, { max: poolSize, transform, onnotice() {} })
  return { engine: await openWorkflow(BackendPostgres.fromPool(sql)), sql }
}
