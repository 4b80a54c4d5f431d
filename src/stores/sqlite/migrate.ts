// Gives a file the tables of this release, or refuses it. The name of every table and index of pawl starts with
// `pawl_`, because the file may also hold tables of its user. `user_version` says which migrations the file has.
// Releases up to schema 4 created the same tables without the prefix; those are renamed.
import { DatabaseSync } from 'node:sqlite'
import { PawlError } from '../../core/base/errors.ts'
import { migrations } from './schema.ts'

const PREFIX = 'pawl_'

/** The tables of a version with their columns in order, and the statements that make their indexes. */
interface Model {
  readonly tables: ReadonlyMap<string, string>
  readonly indexes: readonly { readonly name: string; readonly sql: string }[]
}

export function migrate(database: DatabaseSync, file: string): void {
  if (knownVersion(database, file) === migrations.length) return
  database.exec('begin immediate')
  try {
    // Another process, perhaps of a newer release, may have been faster: look again, now that no other can write.
    const version = knownVersion(database, file)
    if (version === 0) refuseTaken(database, file)
    else if (hasTables(database)) refuseChanged(database, version, file)
    else adopt(database, version, file)
    for (const migration of migrations.slice(version)) database.exec(migration)
    database.exec(`pragma user_version = ${migrations.length}`)
    database.exec('commit')
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

export function versionOf(database: DatabaseSync): number {
  const row = database.prepare('pragma user_version').get() as { user_version: number }
  return row.user_version
}

/** Throws if the file has migrations that this release does not know: it would break rules that it does not know. */
export function refuseNewer(version: number, file: string): void {
  if (version <= migrations.length) return
  throw new PawlError(
    'SCHEMA_TOO_NEW',
    `${file} was written by a newer pawl (schema ${version}, this one knows ${migrations.length}). ` +
      'Upgrade pawl in this process.',
  )
}

/** The cause of an error of a statement that was valid when it was prepared: the tables were changed since. */
export function diagnose(error: unknown, database: DatabaseSync, file: string): unknown {
  const isStatementError = (error as { errcode?: number } | null)?.errcode === 1
  if (!isStatementError || !database.isOpen) return error
  try {
    const version = versionOf(database)
    refuseNewer(version, file)
    refuseChanged(database, version, file)
    return error
  } catch (found) {
    return found instanceof PawlError ? found : error
  }
}

function knownVersion(database: DatabaseSync, file: string): number {
  const version = versionOf(database)
  if (version > migrations.length && !hasTables(database)) throw notOurs(file, version)
  refuseNewer(version, file)
  return version
}

function modelOf(version: number): Model {
  const database = new DatabaseSync(':memory:')
  for (const migration of migrations.slice(0, version)) database.exec(migration)
  const indexes = database
    .prepare(`select name, sql from sqlite_schema where type = 'index' and sql is not null`)
    .all() as { name: string; sql: string }[]
  const tables = [...tablesOf(database)].filter(([table]) => table.startsWith(PREFIX))
  database.close()
  return { tables: new Map(tables), indexes }
}

function hasTables(database: DatabaseSync): boolean {
  const there = tablesOf(database)
  return [...modelOf(migrations.length).tables.keys()].some((table) => there.has(table))
}

/** The columns of each table, in order. */
function tablesOf(database: DatabaseSync): Map<string, string> {
  const rows = database
    .prepare(
      `select t.name, json_group_array(c.name order by c.cid) as columns
        from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table' group by t.name`,
    )
    .all() as unknown as { name: string; columns: string }[]
  return new Map(rows.map(({ name, columns }) => [name.toLowerCase(), columns]))
}

function refuseTaken(database: DatabaseSync, file: string): void {
  const rows = database.prepare('select name from sqlite_schema').all() as { name: string }[]
  const names = new Set(rows.map(({ name }) => name.toLowerCase()))
  const { tables, indexes } = modelOf(migrations.length)
  const taken = [...tables.keys(), ...indexes.map(({ name }) => name)].filter((each) => names.has(each))
  if (taken.length === 0) return
  throw new PawlError(
    'STORE_UNSUITABLE',
    `${file} has ${taken.join(', ')}, which pawl did not create. Names that begin with '${PREFIX}' are pawl's: ` +
      'rename your tables, or give pawl another file.',
  )
}

function refuseChanged(database: DatabaseSync, version: number, file: string): void {
  const there = tablesOf(database)
  const { tables } = modelOf(version)
  const wrong = [...tables].flatMap(([table, columns]) => (there.get(table) === columns ? [] : [table]))
  if (wrong.length > 0) throw changed(file, version, wrong)
}

/**
 * Renames the tables of an older release. They are pawl's if the version says that they exist, and all of them have the
 * columns of that version; if one does not, nothing is renamed.
 */
function adopt(database: DatabaseSync, version: number, file: string): void {
  const there = tablesOf(database)
  const { tables, indexes } = modelOf(version)
  const wrong = [...tables].flatMap(([table, columns]) => (there.get(bare(table)) === columns ? [] : [bare(table)]))
  if (wrong.length === tables.size) throw notOurs(file, version)
  if (wrong.length > 0) throw changed(file, version, wrong)
  for (const table of tables.keys()) database.exec(`alter table ${bare(table)} rename to ${table}`)
  // SQLite cannot rename an index.
  for (const { name, sql } of indexes) database.exec(`drop index if exists ${bare(name)}; ${sql}`)
}

function bare(name: string): string {
  return name.slice(PREFIX.length)
}

function notOurs(file: string, version: number): PawlError {
  return new PawlError(
    'STORE_UNSUITABLE',
    `${file} has the user_version ${version} and no tables of pawl. pawl keeps the version of its tables there, and ` +
      'another program uses it: give pawl another file.',
  )
}

function changed(file: string, version: number, tables: readonly string[]): PawlError {
  const which = `${tables.length > 1 ? 'tables' : 'table'} ${tables.join(', ')}`
  return new PawlError(
    'STORE_UNSUITABLE',
    `${file} has schema ${version} of pawl, but its ${which} ${tables.length > 1 ? 'are' : 'is'} missing or changed. ` +
      'Restore the file from a backup, or give pawl another file.',
  )
}
