// Starts the servers every adapter shares, on loopback, with durability switched on: Postgres with its
// default settings (fsync and synchronous_commit are on) and Redis with an append-only file. Both are
// children of the measuring process, so the noise gate knows them as ours.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, openSync, rmSync, statfsSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectPostgres } from './database.ts'
import { findPostgres, findRedis } from './server-programs.ts'
import { sleep } from './time.ts'

export interface Servers {
  /** A folder for engines that keep files; on the same disk as the servers' data. */
  folder: string
  postgresUrl: string
  postgresVersion: string
  /** Undefined where the machine has no redis-server. */
  redisUrl: string | undefined
  stop(): Promise<void>
}

const nobody = 65_534
const tmpfsType = 0x01021994
const bootMs = 20_000

export async function startServers(): Promise<Servers> {
  const folder = makeFolder()
  const postgres = await startPostgres(join(folder, 'postgres'))
  const redis = await startRedis(join(folder, 'redis'))
  return {
    folder,
    postgresUrl: postgres.url,
    postgresVersion: postgres.version,
    redisUrl: redis?.url,
    async stop() {
      await stopProcess(postgres.process, 'SIGINT')
      if (redis) await stopProcess(redis.process, 'SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Readable for all, because as root the servers run as another user. */
function makeFolder(): string {
  const parent = process.env['BENCH_STATE'] ?? tmpdir()
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'pawl-bench-'))
  chmodSync(folder, 0o755)
  if (statfsSync(folder).type === tmpfsType) {
    console.error(`warning: ${folder} is in memory, so fsync costs nothing; set BENCH_STATE to a disk`)
  }
  return folder
}

async function startPostgres(folder: string) {
  const { programs, version } = findPostgres()
  mkdirSync(folder, { mode: 0o700 })
  const owner = giveAway(folder)
  const data = join(folder, 'data')
  const settings = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C']
  execFileSync(join(programs, 'initdb'), ['--pgdata', data, ...settings], {
    ...owner,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const port = await freePort()
  const log = openSync(join(folder, 'server.log'), 'a')
  const options = ['-D', data, '-p', `${port}`, '-h', '127.0.0.1', '-k', folder, '-N', '200']
  const server = spawn(join(programs, 'postgres'), options, {
    ...owner,
    cwd: folder,
    stdio: ['ignore', log, log],
  })
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await untilUp(server, 'postgres', async () => {
    const connection = await connectPostgres(url)
    await connection.end()
  })
  return { process: server, url, version }
}

/** Postgres refuses to run as root: the folder and the server then belong to nobody. */
function giveAway(folder: string): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  chownSync(folder, nobody, nobody)
  return { uid: nobody, gid: nobody }
}

async function startRedis(folder: string) {
  const program = findRedis()
  if (!program) return undefined
  mkdirSync(folder)
  const port = await freePort()
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always']
  const options = ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', folder, ...durable]
  const log = openSync(join(folder, 'server.log'), 'a')
  const server = spawn(program, options, { stdio: ['ignore', log, log] })
  await untilUp(server, 'redis-server', () => accepts(port))
  return { process: server, url: `redis://127.0.0.1:${port}` }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Retries `probe` until it does not throw. */
export async function untilUp(server: ChildProcess, name: string, probe: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + bootMs
  for (;;) {
    try {
      return await probe()
    } catch (error) {
      const dead = server.exitCode !== null || server.signalCode !== null
      if (dead || Date.now() > deadline) throw new Error(`${name} did not come up`, { cause: error })
    }
    await sleep(50)
  }
}

export async function stopProcess(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  server.kill(signal)
  await Promise.race([exited, sleep(8_000)])
  if (server.exitCode !== null || server.signalCode !== null) return
  server.kill('SIGKILL')
  await exited
}

async function accepts(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}
