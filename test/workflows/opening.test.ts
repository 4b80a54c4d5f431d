// `open` waits for a store that is away, and for nothing else.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { open } from 'pawl'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { startS3Simulator } from '../../src/testing/s3-simulator.ts'
import { CommandLine } from '../cli/command-line.ts'
import { freshDatabase } from '../support/database.ts'

let folder: string
const closing: (() => unknown)[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-opening-'))
  closing.push(() => rm(folder, { recursive: true, force: true }))
})

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

class Log {
  readonly lines: string[] = []
  readonly #heard: (() => void)[] = []
  readonly logger = {
    log: (level: string, message: string): void => {
      this.lines.push(`${level}: ${message}`)
      for (const hear of this.#heard.splice(0)) hear()
    },
  }

  async first(): Promise<string> {
    if (this.lines.length === 0) await new Promise<void>((resolve) => this.#heard.push(resolve))
    return this.lines[0] ?? ''
  }
}

/** An address at which nobody listens until `appear` forwards it to `port`. */
async function absent(): Promise<{ host: string; appear: (port: number) => Promise<void> }> {
  const first = createServer().listen(0, '127.0.0.1')
  await once(first, 'listening')
  const { port: own } = first.address() as AddressInfo
  first.close()
  await once(first, 'close')
  const appear = async (port: number): Promise<void> => {
    const server: Server = createServer((socket) => {
      const target = connect(port, '127.0.0.1')
      for (const end of [socket, target]) end.on('error', () => socket.destroy())
      socket.pipe(target).pipe(socket)
    })
    server.listen(own, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => server.close())
  }
  return { host: `127.0.0.1:${own}`, appear }
}

describe('faults 4.6: open waits for a store that is away, and says so', () => {
  test('Postgres that starts later', async () => {
    const database = await freshDatabase(inject('postgresUrl'))
    closing.push(() => database.drop())
    const url = new URL(database.url)
    const { host, appear } = await absent()
    const port = Number(url.port)
    url.host = host
    const log = new Log()
    const opened = open(url.href, { logger: log.logger })
    expect(await log.first()).toMatch(/^warn: waiting up to 30 s for the store/)
    await appear(port)
    await (await opened).close()
    expect(log.lines).toHaveLength(1)
  })

  test('object storage that starts later', async () => {
    const simulator = await startS3Simulator()
    closing.push(() => simulator.stop())
    const { host, appear } = await absent()
    const { port } = new URL(simulator.endpoint)
    const url = `s3://simulated/later?endpoint=http://${host}&region=us-east-1`
    const log = new Log()
    const credentials = async () => simulator.credentials
    const opened = open(url, { logger: log.logger, credentials })
    expect(await log.first()).toMatch(/^warn: waiting up to 30 s for the store/)
    await appear(Number(port))
    await (await opened).close()
  })

  test('a SQLite file that another process has locked', async () => {
    const file = join(folder, 'pawl.db')
    const lock = new DatabaseSync(file)
    closing.push(() => lock.close())
    lock.exec('begin exclusive')
    const log = new Log()
    const opened = open(`sqlite:${file}`, { logger: log.logger })
    expect(await log.first()).toMatch(/^warn: waiting up to 30 s for the store/)
    lock.exec('rollback')
    await (await opened).close()
  })

  test('on the command line', async () => {
    await using cli = await CommandLine.open()
    const file = join(cli.folder, 'pawl.db')
    await cli.pawl('start', 'w')
    const lock = new DatabaseSync(file)
    closing.push(() => lock.close())
    lock.exec('pragma locking_mode = exclusive')
    lock.exec('begin exclusive')
    const worker = cli.begin('worker', '--handlers')
    await worker.complains('waiting up to 30 s for the store')
    worker.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })
  })
})

// Had `open` waited, the time limit of the test would have passed.
test('faults 4.6: what waiting cannot mend is refused at once', async () => {
  const database = await freshDatabase(inject('postgresUrl'))
  closing.push(() => database.drop())
  const missing = new URL(database.url)
  missing.pathname = '/nowhere'
  await expect(open(missing.href)).rejects.toMatchObject({ code: 'STORE_URL_INVALID' })
  const absentFolder = `sqlite:${join(folder, 'no', 'pawl.db')}`
  await expect(open(absentFolder)).rejects.toMatchObject({ code: 'STORE_URL_INVALID' })
  const file = join(folder, 'new.db')
  await (await open(`sqlite:${file}`)).close()
  const newer = new DatabaseSync(file)
  newer.exec('pragma user_version = 1000')
  newer.close()
  await expect(open(`sqlite:${file}`)).rejects.toMatchObject({ code: 'SCHEMA_TOO_NEW' })
})
