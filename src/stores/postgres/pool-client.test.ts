import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { withClient } from './calls.ts'

test('a connection that is lost between two queries of one caller ends the next query, and not the process', async () => {
  const pool = new pg.Pool({ connectionString: inject('postgresUrl') })
  const admin = new pg.Client({ connectionString: inject('postgresUrl') })
  await admin.connect()
  const cutOff = withClient(pool.connect(), async (client) => {
    const { rows } = await client.query('select pg_backend_pid() as pid')
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    await admin.query('select pg_terminate_backend($1)', [rows[0]?.pid])
    await ended
    await client.query('select 1')
  })
  await expect(cutOff).rejects.toThrow(/not queryable|terminated/)
  expect((await withClient(pool.connect(), (client) => client.query('select 1 as one'))).rows).toEqual([{ one: 1 }])
  await admin.end()
  await pool.end()
})
