// Postgres refuses to run as root, so as root every one of its programs runs as `nobody`; otherwise
// they run as whoever runs the tests.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, lchown, mkdtemp, readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const nobody = { uid: 65534, gid: 65534 } as const

/** What to spread into the options of `spawn`; empty when we are not root. */
export const serverUser: Partial<typeof nobody> = process.getuid?.() === 0 ? nobody : {}

/** A new folder, owned by the server's user, that this user can really reach. */
export async function createServerFolder(): Promise<string> {
  const folder = await mkdtemp(join(await reachableTemporaryFolder(), 'pawl-postgres-'))
  if (serverUser.uid !== undefined) await chown(folder, nobody.uid, nobody.gid)
  return folder
}

/** Hands over a whole tree, links included but not followed. */
export async function giveToServerUser(folder: string): Promise<void> {
  if (serverUser.uid === undefined) return
  await chown(folder, nobody.uid, nobody.gid)
  for (const entry of await readdir(folder, { recursive: true })) {
    await lchown(join(folder, entry), nobody.uid, nobody.gid)
  }
}

export type ProgramResult = { readonly code: number | null; readonly output: string }

/** Runs a program as the server's user; a program that cannot be started is a result too. */
export async function runAsServerUser(
  program: string,
  args: readonly string[],
): Promise<ProgramResult> {
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

/** The locale is fixed and no PG* variable of the developer's shell leaks into the server. */
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
