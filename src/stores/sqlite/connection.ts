// Opening a SQLite file: the right version, the right pragmas, the right tables, or an error that says what to do.
import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PawlError } from '../../kernel/errors.ts'
import { refused, unavailable } from '../../runtime/availability.ts'
import { parametersOf } from '../url-parameters.ts'
import { migrations } from './schema.ts'

/** Below this, two connections that write and checkpoint at once can corrupt the file. */
const OLDEST = '3.51.3'

/** Pages of log after which they are moved into the file. */
const LOG_PAGES = 1_000
const PAGE_BYTES = 4_096

export function openConnection(url: string): { database: DatabaseSync; file: string } {
  const file = fileOf(url)
  const database = openFile(file)
  try {
    refuseOldLibrary(database)
    configure(database)
    migrate(database, file)
    return { database, file }
  } catch (error) {
    database.close()
    throw explain(error, file)
  }
}

/** One more connection to a file that is open. It does not wait for a lock: whoever has it may be this process. */
export function openAnother(file: string): DatabaseSync {
  const database = openFile(file)
  try {
    configure(database)
    database.exec('pragma busy_timeout = 0')
    return database
  } catch (error) {
    database.close()
    throw explain(error, file)
  }
}

/** What is wrong with the data itself: too big, a constraint, another type. */
const REFUSED: ReadonlySet<number> = new Set([18, 19, 20])

/** Whether the error only says that somebody else is writing. */
export function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: number } | null)?.errcode
  return code !== undefined && (code & 0xff) === 5
}

/** What went wrong, as one of pawl's errors where there is something to say about it. */
export function explain(error: unknown, file: string): unknown {
  if (error instanceof PawlError) return error
  const code = ((error as { errcode?: number } | null)?.errcode ?? 0) & 0xff
  if (code === 8) {
    return new PawlError(
      'STORE_READ_ONLY',
      `${file} cannot be written. Make the file and its folder writable for this user.`,
      { cause: error },
    )
  }
  if (code === 26 || code === 11) {
    return new PawlError(
      'STORE_URL_INVALID',
      `${file} is not a SQLite database that can be read. Give another path, or restore the file from a backup.`,
      { cause: error },
    )
  }
  const name = `SQLite file ${file}`
  return REFUSED.has(code) ? refused(name, error) : unavailable(name, error)
}

/**
 * Makes the log as long as it will get. While it grows, every commit waits for the file system to write down the new
 * length too, which takes as long as the commit itself. The pages stay in the file as free ones, for real data.
 */
export function reserveLog(database: DatabaseSync, file: string): void {
  const bytes = LOG_PAGES * PAGE_BYTES
  try {
    if (statSync(`${file}-wal`).size >= bytes) return
    database.exec('begin immediate')
    database.exec('drop table if exists reserved')
    database.exec('create table reserved (space blob)')
    database.exec(`insert into reserved values (zeroblob(${bytes}))`)
    database.exec('commit')
    database.exec('drop table reserved')
  } catch {
    // Somebody else is writing, or the disk is full. It is only about speed.
    if (database.isTransaction) database.exec('rollback')
  }
}

function fileOf(url: string): string {
  const [path = '', query = ''] = url
    .replace(/^sqlite:/i, '')
    .replace(/^\/\/(?=\/)/, '')
    .split(/\?(.*)/s)
  parametersOf(query, 'sqlite', [])
  if (path === '' || path === ':memory:') {
    throw new PawlError(
      'STORE_URL_INVALID',
      `'${url}' names no file. Write 'sqlite:./pawl.db', or 'memory:' for a store that forgets.`,
    )
  }
  return resolve(path)
}

function openFile(file: string): DatabaseSync {
  const folder = dirname(file)
  if (!existsSync(folder)) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `the folder ${folder} does not exist. Create it, or give a path in one that does.`,
    )
  }
  try {
    return new DatabaseSync(file)
  } catch (error) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `${file} cannot be opened: ${(error as Error).message}. Check that it is a file this user may read and write.`,
      { cause: error },
    )
  }
}

function refuseOldLibrary(database: DatabaseSync): void {
  const { version } = database.prepare('select sqlite_version() as version').get() as {
    version: string
  }
  if (compare(version, OLDEST) >= 0) return
  throw new PawlError(
    'STORE_TOO_OLD',
    `this Node carries SQLite ${version}, which can corrupt a file that two processes write. pawl needs ${OLDEST} or newer: use Node 24.21 or newer.`,
  )
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number))
  for (let part = 0; part < 3; part++) {
    const difference = (left?.[part] ?? 0) - (right?.[part] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function configure(database: DatabaseSync): void {
  // Waiting for the lock blocks this process, so it waits briefly and tries again later.
  database.exec('pragma busy_timeout = 50')
  database.exec('pragma journal_mode = wal')
  database.exec('pragma synchronous = full')
  database.exec(`pragma wal_autocheckpoint = ${LOG_PAGES}`)
  database.exec('pragma cache_size = -32768')
  database.exec('pragma temp_store = memory')
}

function migrate(database: DatabaseSync, file: string): void {
  const { user_version: version } = database.prepare('pragma user_version').get() as {
    user_version: number
  }
  if (version > migrations.length) {
    throw new PawlError(
      'SCHEMA_TOO_NEW',
      `${file} was written by a newer pawl (schema ${version}, this one knows ${migrations.length}). Upgrade pawl in this process.`,
    )
  }
  if (version === migrations.length) return
  database.exec('begin immediate')
  try {
    // Another process may have been faster; look again now that nobody else can write.
    const { user_version: current } = database.prepare('pragma user_version').get() as {
      user_version: number
    }
    for (const migration of migrations.slice(current)) database.exec(migration)
    database.exec(`pragma user_version = ${migrations.length}`)
    database.exec('commit')
  } catch (error) {
    database.exec('rollback')
    throw error
  }
}
