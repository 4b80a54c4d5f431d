// How a file of an older pawl gets the tables of this one.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ALICE, apply, claim, openSession, take, turn } from '../../testing/conformance/builders.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { SqliteStore } from './index.ts'
import { migrations } from './schema.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-migrations-'))
})
afterAll(() => rm(folder, { recursive: true }))

function schemaOf(file: string): string[] {
  const database = new DatabaseSync(file)
  const rows = database
    .prepare(
      `select t.name, c.name as column, c.type, c."notnull", c.pk from sqlite_schema t, pragma_table_info(t.name) c
          where t.type = 'table'
        union all select name, sql, '', 0, 0 from sqlite_schema where type = 'index' order by 1, 2`,
    )
    .all()
  database.close()
  return rows.map((row) => JSON.stringify(Object.values(row)))
}

const live = '01900000-0000-7000-8000-000000000001'
const gone = '01900000-0000-7000-8000-000000000002'

/** A file as version `version` left it, without a prefix, with a run that waits and one that has ended. */
function older(file: string, version: number): void {
  const database = new DatabaseSync(file)
  for (const migration of migrations.slice(0, version)) database.exec(migration.replaceAll('pawl_', ''))
  database.exec(`pragma user_version = ${version}`)
  database.exec(`insert into lane values (1, 'run', 'default', 'order', 0)`)
  for (const id of [live, gone])
    database.exec(`insert into run values ('${id}', 1, null, null, null, null, 5, 'd', '{}', null)`)
  database.exec(`insert into live (run_id, lane, at, start_at, status, updated_at)
    values ('${live}', 1, 0, 0, 'waiting', 5)`)
  database.exec(`insert into closed (run_id, status, closed_at, generation, seq, count, turn_id, epoch, body)
    values ('${gone}', 'completed', 6, 1, 0, 1, 9, 1, '{}')`)
  database.close()
}

test.each(migrations.map((_, index) => index + 1).slice(0, -1))(
  'P11: a file of version %d gets what it has not, and keeps what it has',
  async (version) => {
    const [file, fresh] = [join(folder, `${version}.db`), join(folder, `fresh-${version}.db`)]
    older(file, version)
    const clock = new VirtualClock()
    await (await SqliteStore.open(`sqlite:${fresh}`, clock)).close()
    const store = await SqliteStore.open(`sqlite:${file}`, clock)
    expect(schemaOf(file)).toEqual(schemaOf(fresh))
    const { runs } = await store.list({ limit: 9 })
    expect(runs.map(({ status }) => status).toSorted()).toEqual(['completed', 'waiting'])
    expect((await store.list({ limit: 9, statuses: ['completed'] })).runs).toHaveLength(1)
    await openSession(store, ALICE)
    await apply(store, turn(await take(store, live), { pin: 'x', compensating: true }))
    expect((await store.list({ limit: 9, pin: 'x' })).runs).toMatchObject([{ status: 'compensating', pin: 'x' }])
    expect((await claim(store)).runs).toEqual([])
    const put = { type: 'put', space: 's', key: 'k', version: 0, body: '1', writeId: 1 } as const
    expect(await store.records([put])).toEqual([{ type: 'put', outcome: 'applied' }])
    await store.close()
  },
)
