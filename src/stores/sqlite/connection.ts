// Opens a SQLite file with the right version, pragmas and tables, or throws an error that says what to do.
import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { refused, unavailable } from '../../core/runtime/availability.ts'
import { parametersOf } from '../url-parameters.ts'
import { migrate } from './migrate.ts'

/** Older versions can corrupt the file when two connections write and checkpoint at once. */
const OLDEST = '3.51.3'

/** Pages of the log after which SQLite moves them into the file. */
const LOG_PAGES = 1_000
const PAGE_BYTES = 4_096

/** May throw that the file is locked; then it can be called again. */
export function openConnection(file: string): DatabaseSync {
  const database = openFile(file)
  try {
    refuseOldLibrary(database)
    configure(database)
    migrate(database, file)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Opens another connection to a file that is open. */
export function openAnother(file: string): DatabaseSync {
  const database = openFile(file)
  try {
    configure(database)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Error codes for data that SQLite refuses: too big, a constraint, another type. */
const REFUSED: ReadonlySet<number> = new Set([18, 19, 20])

/** An error of SQLite as one of pawl's errors. */
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
 * Makes the log as long as it will get, because while it grows every commit also waits for the file system to store the
 * new length, which takes as long as the commit itself. The pages stay in the file as free ones, for real data.
 */
export function reserveLog(database: DatabaseSync, file: string): void {
  const bytes = LOG_PAGES * PAGE_BYTES
  try {
    if (statSync(`${file}-wal`).size >= bytes) return
    database.exec('begin immediate')
    database.exec('drop table if exists pawl_reserved')
    database.exec('create table pawl_reserved (space blob)')
    database.exec(`insert into pawl_reserved (space) values (zeroblob(${bytes}))`)
    database.exec('commit')
    database.exec('drop table pawl_reserved')
  } catch {
    // Another process is writing, or the disk is full. The store works without it, more slowly.
    if (database.isTransaction) database.exec('rollback')
  }
}

/** Free pages that a file keeps, because runs will need them again: a quarter, and what the log was reserved with. */
const FREE_SHARE = 0.25

/** Gives free pages back to the disk, a few at a time, if the file has many. */
export function shrink(database: DatabaseSync): void {
  const free = pagesOf(database, 'freelist_count')
  if (free <= limits.freePagesKept + FREE_SHARE * pagesOf(database, 'page_count')) return
  database.exec(`pragma incremental_vacuum(${limits.freePagesReturned})`)
}

function pagesOf(database: DatabaseSync, pragma: 'page_count' | 'freelist_count'): number {
  return Object.values(database.prepare(`pragma ${pragma}`).get() ?? {})[0] as number
}

export function fileOf(url: string): string {
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
  const there = statSync(file, { throwIfNoEntry: false })
  if (there && !there.isFile()) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `${file} is ${there.isDirectory() ? 'a folder' : 'a device'}, and not a file. ` +
        'Give the path of a SQLite file, or one where a file can be created.',
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
    `this Node carries SQLite ${version}, which can corrupt a file that two processes write. ` +
      `pawl needs ${OLDEST} or newer: use Node 24.21 or newer.`,
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
  // SQLite's own wait for a lock would block this process.
  database.exec('pragma busy_timeout = 0')
  // Only a file without tables takes this: space that a purge has freed can be given back to the disk, page by page.
  if (pagesOf(database, 'page_count') === 0) database.exec('pragma auto_vacuum = incremental')
  database.exec('pragma journal_mode = wal')
  database.exec('pragma synchronous = full')
  // Without these, macOS leaves flushed data in the cache of the disk. Other systems ignore them.
  database.exec('pragma fullfsync = on')
  database.exec('pragma checkpoint_fullfsync = on')
  database.exec(`pragma wal_autocheckpoint = ${LOG_PAGES}`)
  database.exec('pragma cache_size = -32768')
  database.exec('pragma temp_store = memory')
}
