import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'vitest'
import { conformance, failOverCases, type OpenFixture, purgeCases, runCase } from '../../testing/conformance/index.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { SqliteStore } from './index.ts'

/** Puts back all rows as they were before the work, beside the stores that have the file open. */
async function losingWrites(file: string, work: () => Promise<void>): Promise<void> {
  const database = new DatabaseSync(file)
  try {
    database.exec(`vacuum into '${file}.copy'`)
    await work()
    database.exec(`attach '${file}.copy' as copy`)
    const tables = database.prepare("select name from sqlite_schema where type = 'table'").all()
    database.exec('begin immediate')
    for (const { name } of tables as { name: string }[]) {
      database.exec(`delete from main.${name}; insert into main.${name} select * from copy.${name}`)
    }
    database.exec('commit')
  } finally {
    database.close()
  }
}

async function makeFixture(): Promise<OpenFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-sqlite-'))
  const clock = new VirtualClock()
  const stores: SqliteStore[] = []
  const open = async (): Promise<SqliteStore> => {
    const store = await SqliteStore.open(`sqlite:${join(folder, 'pawl.db')}`, clock)
    stores.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of stores) await store.close()
    await rm(folder, { recursive: true })
  }
  const losing = (work: () => Promise<void>) => losingWrites(join(folder, 'pawl.db'), work)
  return { store: await open(), clock, other: open, close, losing }
}

describe('sqlite store', () => {
  for (const each of [...conformance, ...failOverCases, ...purgeCases])
    test(each.name, () => runCase(each, makeFixture))
})
