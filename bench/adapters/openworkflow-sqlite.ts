// No W6: while a second process starts runs, the backend throws "database is locked" now and then,
// because it sets no busy timeout.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Adapter } from '../adapter.ts'
import { loadPeer } from '../peers/load.ts'
import { concurrency, executorOf, openWorkflow, startersOf, startWorker } from './openworkflow.ts'

interface SqliteBackendModule {
  BackendSqlite: { connect(file: string): { stop(): Promise<void> } }
}

export const openworkflowSqlite: Adapter = {
  id: 'openworkflow-sqlite',
  packages: ['openworkflow'],
  settings: `BackendSqlite (node:sqlite, WAL, synchronous FULL as the backend leaves it), worker concurrency ${concurrency} (default 1); client and worker in one process for W1/W2/W4; no bulk call: starts one by one`,
  workloads: ['W1', 'W2', 'W3', 'W4', 'W5'],
  embedded: true,
  preload: () => loadPeer('openworkflow/sqlite'),
  async setup(servers) {
    const url = join(servers.folder, 'openworkflow.db')
    for (const suffix of ['', '-wal', '-shm']) rmSync(url + suffix, { force: true })
    const backend = await connectBackend(url)
    await backend.stop()
    return { url }
  },
  async work({ url }, hooks) {
    const backend = await connectBackend(url)
    const engine = await openWorkflow(backend)
    const worker = await startWorker(engine, hooks)
    return {
      executor: executorOf(engine),
      async close() {
        await worker.stop()
        await backend.stop()
      },
    }
  },
  async connect({ url }) {
    const backend = await connectBackend(url)
    const engine = await openWorkflow(backend)
    const database = new DatabaseSync(url, { timeout: 5_000 })
    const query = 'SELECT count(*) AS count FROM workflow_runs WHERE finished_at IS NULL'
    const unfinished = database.prepare(query)
    return {
      ...startersOf(engine, 1),
      unfinished: async () => Number(unfinished.get()?.['count']),
      async close() {
        database.close()
        await backend.stop()
      },
    }
  },
}

async function connectBackend(file: string) {
  const { BackendSqlite } = await loadPeer<SqliteBackendModule>('openworkflow/sqlite')
  return BackendSqlite.connect(file)
}
