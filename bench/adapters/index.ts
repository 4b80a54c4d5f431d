// Every row that can be measured, in the order of the table.
import type { Adapter } from '../adapter.ts'
import { absurd } from './absurd.ts'
import { bullmq } from './bullmq.ts'
import { dbos } from './dbos.ts'
import { graphileWorker } from './graphile-worker.ts'
import { openworkflowPostgres } from './openworkflow-postgres.ts'
import { openworkflowSqlite } from './openworkflow-sqlite.ts'
import { pawl } from './pawl.ts'
import { pgBoss } from './pg-boss.ts'
import { restate } from './restate.ts'

export const adapters: readonly Adapter[] = [
  ...pawl,
  ...dbos,
  restate,
  absurd,
  openworkflowPostgres,
  openworkflowSqlite,
  ...graphileWorker,
  ...pgBoss,
  ...bullmq,
]

export function adapterById(id: string): Adapter {
  const found = adapters.find((adapter) => adapter.id === id)
  if (!found) throw new Error(`no adapter '${id}'`)
  return found
}
