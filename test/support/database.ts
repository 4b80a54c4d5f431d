// Creates a database for each test, so that tests do not share any data.

import { randomBytes } from 'node:crypto'
import pg from 'pg'

export type FreshDatabase = { readonly url: string; drop(): Promise<void> }

/** `baseUrl` is any database of the server, usually `inject('postgresUrl')`. */
export async function freshDatabase(baseUrl: string): Promise<FreshDatabase> {
  const name = `pawl_test_${randomBytes(8).toString('hex')}`
  await runOnce(baseUrl, `create database ${name} template template0`)
  const url = new URL(baseUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    // With force, because a test of lost connections may leave some open.
    drop: () => runOnce(baseUrl, `drop database if exists ${name} with (force)`),
  }
}

async function runOnce(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
