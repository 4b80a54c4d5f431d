// Postgres, for the adapters. The driver is loaded on first use: a worker that does not speak to
// Postgres must not carry it in its memory.
import type { Client, Pool } from 'pg'
import type { Servers } from './servers.ts'

export async function connectPostgres(url: string): Promise<Client> {
  const { default: pg } = await import('pg')
  const connection = new pg.Client({ connectionString: url })
  await connection.connect()
  return connection
}

export async function poolPostgres(url: string, connections: number): Promise<Pool> {
  const { default: pg } = await import('pg')
  return new pg.Pool({ connectionString: url, max: connections })
}

/** An empty database of that name. The checkpoint keeps one engine's dirty pages out of the next. */
export async function freshDatabase(servers: Servers, name: string): Promise<string> {
  const connection = await connectPostgres(servers.postgresUrl)
  try {
    await connection.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await connection.query(`CREATE DATABASE ${name}`)
    await connection.query('CHECKPOINT')
  } finally {
    await connection.end()
  }
  const url = new URL(servers.postgresUrl)
  url.pathname = `/${name}`
  return url.toString()
}

/** A bulk-loaded table has no planner statistics until autovacuum comes by. */
export async function analyze(url: string): Promise<void> {
  const connection = await connectPostgres(url)
  await connection.query('ANALYZE')
  await connection.end()
}

/** The `count` column of the only row of a query. */
export async function countRows(pool: Pool, query: string): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(query)
  return Number(rows[0]?.count)
}
