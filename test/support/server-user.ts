// The user of the Postgres programs: `nobody` if the tests run as root, because Postgres refuses to run as root;
// otherwise the user of the tests.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, lchown, mkdtemp, readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const nobody = { uid: 65534, gid: 65534 } as const

/** Options for `spawn`; empty if the tests do not run as root. */
export const serverUser: Partial<typeof nobody> = process.getuid?.() === 0 ? nobody : {}

/** Creates a folder that the server's user owns and can reach. */
export async function createServerFolder(): Promise<string> {
  const folder = await mkdtemp(join(await reachableTemporaryFolder(), 'pawl-postgres-'))
  if (serverUser.uid !== undefined) await chown(folder, nobody.uid, nobody.gid)
  return folder
}

/** Changes the owner of a whole tree; links are changed, not followed. */
export async function giveToServerUser(folder: string): Promise<void> {
  if (serverUser.uid === undefined) return
  await chown(folder, nobody.uid, nobody.gid)
  for (const entry of await readdir(folder, { recursive: true })) {
    await lchown(join(folder, entry), nobody.uid, nobody.gid)
  }
}

export type ProgramResult = { readonly code: number | null; readonly output: string }

/** Runs a program as the server's user. A program that does not start is a result, not an error. */
export async function runAsServerUser(program: string, args: readonly string[]): Promise<ProgramResult> {
  try {
    const child = spawn(program, args, {
      ...serverUser,
      cwd: '/',
      env: serverEnvironment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    child.stderr.on('data', (chunk) => (output += String(chunk)))
    const [code] = await once(child, 'close')
    return { code: typeof code === 'number' ? code : null, output }
  } catch (error) {
    return { code: null, output: String(error) }
  }
}

/** The environment of the server: a fixed locale, and no PG* variable of the developer's shell. */
export const serverEnvironment = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C' }

async function reachableTemporaryFolder(): Promise<string> {
  if (serverUser.uid === undefined) return tmpdir()
  for (const folder of [tmpdir(), '/tmp', '/var/tmp']) {
    if (await isOpenToEveryone(folder)) return folder
  }
  throw new Error(`no temporary folder that the user nobody can enter (tried ${tmpdir()}, /tmp)`)
}

async function isOpenToEveryone(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined)
  if (found === undefined || (found.mode & 0o001) === 0) return false
  return dirname(folder) === folder || isOpenToEveryone(dirname(folder))
}
