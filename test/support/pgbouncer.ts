// A real PgBouncer in transaction mode, in front of the Postgres of the tests.
import { startScript } from './script.ts'

export interface RunningPgbouncer {
  /** The same database, behind the pooler. */
  urlOf(databaseUrl: string): string
  stop(): Promise<void>
}

/** `postgresUrl` is any database of the server. */
export async function startPgbouncer(postgresUrl: string): Promise<RunningPgbouncer> {
  const server = new URL(postgresUrl)
  const { ports, stop } = await startScript({
    name: 'pgbouncer',
    what: 'PgBouncer',
    ports: 1,
    args: ([port]) => [String(port), server.port],
  })
  const urlOf = (databaseUrl: string): string => {
    const url = new URL(databaseUrl)
    url.hostname = '127.0.0.1'
    url.port = String(ports[0])
    return url.href
  }
  return { urlOf, stop }
}
