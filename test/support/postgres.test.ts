import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { freshDatabase } from './database.ts'

async function setting(client: pg.Client, name: string): Promise<unknown> {
  const { rows } = await client.query('select current_setting($1) as value', [name])
  return rows[0]?.value
}

test('a fresh database is empty, durable, and gone once dropped', async () => {
  const database = await freshDatabase(inject('postgresUrl'))
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  expect(await setting(client, 'fsync')).toBe('on')
  expect(await setting(client, 'synchronous_commit')).toBe('on')
  expect(await setting(client, 'server_encoding')).toBe('UTF8')
  const { rows } = await client.query(`select 1 from pg_tables where schemaname = 'public'`)
  expect(rows).toEqual([])
  await client.end()
  await database.drop()
  const late = new pg.Client({ connectionString: database.url })
  await expect(late.connect()).rejects.toThrow(/does not exist/)
})
