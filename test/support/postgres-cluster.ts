// A primary and a standby, run with the same programs as the server of the other tests. The URL stays the same when the
// standby is promoted, because it leads through a proxy, like a DNS name or an address that moves.

import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type RunningServer, startOwnPostgres, startServer } from './postgres.ts'
import { findPostgresPrograms } from './postgres-programs.ts'
import { Proxy } from './proxy.ts'
import { createServerFolder, giveToServerUser, runAsServerUser } from './server-user.ts'

/** Keeps enough of the log for a standby that joins late. */
const settings = { wal_keep_size: '256MB', hot_standby: 'on' } as const
const standbyName = 'standby'
const lookMs = 20
const lookMsMax = 30_000

interface Standby {
  readonly server: RunningServer
  readonly stream: Proxy
}

export class PostgresCluster {
  #primary: RunningServer
  #standby: Standby
  readonly #door: Proxy
  readonly #synchronous: boolean

  static async start(synchronous: boolean): Promise<PostgresCluster> {
    const primary = await startOwnPostgres({ settings })
    const standby = await follow(primary, synchronous)
    return new PostgresCluster(primary, standby, await Proxy.to(primary.port), synchronous)
  }

  private constructor(primary: RunningServer, standby: Standby, door: Proxy, synchronous: boolean) {
    this.#primary = primary
    this.#standby = standby
    this.#door = door
    this.#synchronous = synchronous
  }

  /** The URL of the current primary. */
  get url(): string {
    return urlOf(this.#door.port)
  }

  /** Resolves when the standby has everything that was written before the call. */
  async caughtUp(): Promise<void> {
    const [row] = await query(this.#primary.url, 'select pg_current_wal_lsn() as written')
    const written = String(row?.['written'])
    await until(async () => {
      const replayed = `select pg_last_wal_replay_lsn() >= '${written}' as good`
      const [answer] = await query(this.#standby.server.url, replayed)
      return answer?.['good'] === true
    })
  }

  /** Cuts off the standby: later writes are lost with the primary. */
  holdReplication(): void {
    this.#standby.stream.hold()
  }

  /**
   * Kills the primary, promotes the standby in its place, and sets up another standby. `look` sees the new primary
   * before any client.
   */
  async failOver(look: (url: string) => Promise<void> = async () => {}): Promise<void> {
    this.#door.lead(undefined)
    await this.#primary.crash()
    const { server, stream } = this.#standby
    await stream.close()
    await query(server.url, 'select pg_promote(true, 60)')
    await until(async () => {
      const [row] = await query(server.url, 'select pg_is_in_recovery() as follows')
      return row?.['follows'] === false
    })
    await look(server.url)
    const lost = this.#primary
    this.#primary = server
    this.#door.lead(server.port)
    await lost.stop()
    this.#standby = await follow(server, this.#synchronous)
  }

  async stop(): Promise<void> {
    await this.#door.close()
    await this.#standby.stream.close()
    await this.#standby.server.stop()
    await this.#primary.stop()
  }
}

// Copies the files of the running primary, and starts a server that follows from there.
async function follow(primary: RunningServer, synchronous: boolean): Promise<Standby> {
  const folder = await createServerFolder()
  const programs = await findPostgresPrograms(folder)
  const data = join(folder, 'data')
  await copyData(primary, data)
  await writeFile(join(data, 'standby.signal'), '')
  await giveToServerUser(data)
  const stream = await Proxy.to(primary.port)
  const conninfo = `host=127.0.0.1 port=${stream.port} user=postgres application_name=${standbyName}`
  const server = await startServer(programs, folder, {
    settings: { ...settings, primary_conninfo: conninfo },
  })
  await until(async () => {
    const rows = await query(primary.url, 'select state from pg_stat_replication')
    return rows.some((row) => row['state'] === 'streaming')
  })
  if (synchronous) {
    await query(primary.url, `alter system set synchronous_standby_names = '${standbyName}'`)
    await query(primary.url, 'select pg_reload_conf()')
    await until(async () => {
      const rows = await query(primary.url, 'select sync_state from pg_stat_replication')
      return rows.some((row) => row['sync_state'] === 'sync')
    })
  }
  return { server, stream }
}

async function copyData(primary: RunningServer, data: string): Promise<void> {
  const client = await connected(primary.url)
  try {
    await client.query(`select pg_backup_start('standby', true)`)
    // Files that vanish before they are copied were temporary.
    await runAsServerUser('cp', ['-R', '-p', join(primary.folder, 'data'), data])
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    await writeFile(join(data, 'backup_label'), String(rows[0]?.labelfile))
  } finally {
    await client.end()
  }
  const own = ['postmaster.pid', 'postmaster.opts', 'postgresql.auto.conf']
  const names = (await readdir(data)).filter((name) => own.includes(name))
  await runAsServerUser('rm', ['-f', ...names.map((name) => join(data, name))])
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = await connected(url)
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return client
}

async function until(good: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + lookMsMax
  while (!(await good())) {
    if (performance.now() > deadline) throw new Error('the standby did not follow in time')
    await sleep(lookMs)
  }
}

function urlOf(port: number): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}
