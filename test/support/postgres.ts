// Starts a real, durable Postgres for tests: fsync stays on, because the crash tests rely on it. The server and its
// data never outlive the process that started them, however it ends.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findPostgresPrograms, type PostgresPrograms } from './postgres-programs.ts'
import { createServerFolder, runAsServerUser, serverEnvironment, serverUser } from './server-user.ts'

export type RunningPostgres = { readonly url: string; stop(): Promise<void> }

export type RunningServer = RunningPostgres & {
  readonly port: number
  readonly folder: string
  /** Kills the server at once, like a power failure. Its data stays until `stop`. */
  crash(): Promise<void>
}

export type ServerOptions = {
  readonly settings?: Readonly<Record<string, string | number>>
  readonly environment?: Readonly<Record<string, string>>
}

const startAttemptsMax = 3
const readyMsMax = 60_000
const readyPollMs = 50

/** Uses `TEST_PG_URL` if it is set; otherwise starts a server on a free port of 127.0.0.1. */
export async function startPostgres(): Promise<RunningPostgres> {
  const given = process.env['TEST_PG_URL']
  if (given) return useGivenServer(given)
  const folder = await createServerFolder()
  try {
    const programs = await findPostgresPrograms(folder)
    await createCluster(programs, folder)
    return await startServer(programs, folder)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Starts a separate server, even if `TEST_PG_URL` is set. */
export async function startOwnPostgres(options: ServerOptions): Promise<RunningServer> {
  const folder = await createServerFolder()
  const programs = await findPostgresPrograms(folder)
  await createCluster(programs, folder)
  return startServer(programs, folder, options)
}

async function useGivenServer(url: string): Promise<RunningPostgres> {
  const problem = await connectOnce(url)
  if (problem !== undefined) throw new Error(`the server of TEST_PG_URL is no use: ${problem}`)
  return { url, stop: async () => {} }
}

async function createCluster({ initdb }: PostgresPrograms, folder: string): Promise<void> {
  const data = ['-D', dataFolder(folder), '--no-sync']
  const access = ['-A', 'trust', '-U', 'postgres']
  const text = ['-E', 'UTF8', '--locale=C']
  const { code, output } = await runAsServerUser(initdb, [...data, ...access, ...text])
  if (code !== 0) throw new Error(`initdb failed with code ${code}:\n${output}`)
}

export async function startServer(
  programs: PostgresPrograms,
  folder: string,
  options: ServerOptions = {},
): Promise<RunningServer> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const server = await spawnServer(programs, folder, port, options)
    const guard = spawnGuard(server, folder)
    const url = `postgres://postgres@127.0.0.1:${port}/postgres`
    const problem = await waitUntilReady(server, url)
    if (problem === undefined) {
      const stop = (): Promise<void> => stopServer(server, guard, folder)
      return { url, port, folder, stop, crash: () => killServer(server) }
    }
    guard.kill('SIGKILL')
    await killServer(server)
    const log = await readFile(logFile(folder), 'utf8')
    // The port was free a moment ago; another process may have taken it since.
    if (attempt < startAttemptsMax && log.includes('Address already in use')) continue
    throw new Error(`${programs.postgres} did not come up: ${problem}\nIts log:\n${log}`)
  }
}

async function spawnServer(
  { postgres }: PostgresPrograms,
  folder: string,
  port: number,
  { settings: further, environment }: ServerOptions,
): Promise<ChildProcess> {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    fsync: 'on',
    synchronous_commit: 'on',
    ...further,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const log = await open(logFile(folder), 'w')
  try {
    const server = spawn(postgres, ['-D', dataFolder(folder), ...flags], {
      ...serverUser,
      cwd: folder,
      env: { ...serverEnvironment, ...environment },
      stdio: ['ignore', log.fd, log.fd],
    })
    // A failure to start shows as a child without a pid; an unhandled event would end this process.
    server.on('error', () => {})
    server.unref()
    return server
  } finally {
    await log.close()
  }
}

/** Starts a shell that waits until this process ends, even by `kill -9`: its standard input is then closed. */
function spawnGuard(server: ChildProcess, folder: string): ChildProcess {
  // The wait is bounded: in a container that does not reap orphans, `kill -0` of a dead server succeeds for ever.
  const script =
    'trap "" INT TERM HUP; read -r _; kill -QUIT "$1"; waits=0; ' +
    'while kill -0 "$1" 2>/dev/null && [ $waits -lt 50 ]; do ' +
    'waits=$((waits + 1)); sleep 0.1; done; rm -rf "$2"'
  const guard = spawn('/bin/sh', ['-c', script, 'sh', String(server.pid), folder], {
    ...serverUser,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.on('error', () => {})
  guard.unref()
  return guard
}

async function waitUntilReady(server: ChildProcess, url: string): Promise<string | undefined> {
  const deadline = Date.now() + readyMsMax
  for (;;) {
    if (server.pid === undefined) return 'it could not be started'
    if (hasExited(server)) return `it ended with ${server.exitCode ?? server.signalCode}`
    const problem = await connectOnce(url)
    if (problem === undefined) return undefined
    if (Date.now() > deadline) return `not ready after ${readyMsMax} ms: ${problem}`
    await sleep(readyPollMs)
  }
}

async function connectOnce(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return undefined
  } catch (error) {
    return String(error)
  } finally {
    await client.end().catch(() => {})
  }
}

async function stopServer(server: ChildProcess, guard: ChildProcess, folder: string): Promise<void> {
  await killServer(server)
  guard.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
}

/** An immediate shutdown without a checkpoint, because the data is deleted next. */
async function killServer(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || hasExited(server)) return
  server.ref()
  const exited = once(server, 'exit')
  server.kill('SIGQUIT')
  await exited
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  listener.close()
  await once(listener, 'close')
  if (address === null || typeof address === 'string') throw new Error('no free port')
  return address.port
}

function dataFolder(folder: string): string {
  return join(folder, 'data')
}

function logFile(folder: string): string {
  return join(folder, 'server.log')
}
