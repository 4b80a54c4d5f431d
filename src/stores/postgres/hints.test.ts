// Hints between processes: what they carry, how often, and over connections that fail without a word.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, connect as dial, type Socket } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { type Clock, systemClock } from '../../core/runtime/clock.ts'
import type { Hint } from '../../core/stores/store.ts'
import { newRun } from '../../testing/conformance/builders.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { Hints, News } from './hints.ts'
import { PostgresStore } from './index.ts'

let database: FreshDatabase
let ear: pg.Client
const payloads: string[] = []

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  ear = await connected()
  ear.on('notification', ({ payload = '' }) => payloads.push(payload))
})

afterAll(async () => {
  await ear.end()
  await database.drop()
})

async function connected(url = database.url): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

const ended = (count: number): Hint[] => Array.from({ length: count }, () => ({ type: 'ended', runId: randomUUID() }))
const news = (count: number): Hint[] =>
  Array.from({ length: count }, (_, n) => ({ type: 'news', session: Number.MAX_SAFE_INTEGER - n }))

test('stores D13: what one notification carries is bounded by bytes, and nothing is left out', () => {
  const hints = [...ended(500), ...news(900), { type: 'ready' } as const]
  const all = new News()
  for (const hint of hints) all.add(hint)
  const told = { ended: 0, sessions: 0 }
  while (!all.isEmpty) {
    const bulletin = all.take(Number.MAX_SAFE_INTEGER)
    expect(Buffer.byteLength(JSON.stringify(bulletin))).toBeLessThan(8_000)
    told.ended += bulletin.ended?.length ?? 0
    told.sessions += bulletin.sessions?.length ?? 0
  }
  expect(told).toEqual({ ended: 500, sessions: 900 })
})

test('a store that is closed while it opens the connection for hints leaves none behind, and has told them', async () => {
  await ear.query('listen closing')
  const before = payloads.length
  let isEnded = false
  const connect = (): pg.Client => {
    const client = new pg.Client({ connectionString: database.url })
    client.on('end', () => {
      isEnded = true
    })
    return client
  }
  const hints = new Hints({
    connect,
    connectEar: undefined,
    isPooled: false,
    channel: 'closing',
    clock: systemClock,
    self: 1,
  })
  hints.tell([{ type: 'ready' }])
  await hints.close()
  expect(isEnded).toBe(true)
  await until(() => payloads.length > before)
})

test('users D1: a store that is closed while it begins to listen leaves no timer behind', async () => {
  const clock = new VirtualClock()
  let closing: Promise<void> | undefined
  const connectEar = (): pg.Client => {
    const client = new pg.Client({ connectionString: database.url })
    const query = client.query.bind(client) as (text: string) => Promise<unknown>
    const closesMeanwhile = async (text: string): Promise<unknown> => {
      // It is still telling something, so the connection that listens is not ended yet.
      hints.tell([{ type: 'ready' }])
      closing = hints.close()
      return query(text)
    }
    return Object.assign(client, { query: closesMeanwhile })
  }
  const hints: Hints = new Hints({
    connect: () => new pg.Client({ connectionString: database.url }),
    connectEar,
    isPooled: false,
    channel: 'brief',
    clock,
    self: 1,
  })
  hints.listen(() => {})
  await until(() => closing !== undefined)
  await closing
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(clock.pending).toBe(0)
})

test('stores D13: much to tell arrives, over one connection', async () => {
  await ear.query('listen much')
  let opened = 0
  const connect = (): pg.Client => {
    opened++
    return new pg.Client({ connectionString: database.url })
  }
  const hints = new Hints({
    connect,
    connectEar: undefined,
    isPooled: false,
    channel: 'much',
    clock: systemClock,
    self: 1,
  })
  const all = [...ended(150), ...news(150)]
  hints.tell(all)
  const count = (): number =>
    payloads
      .map((payload) => JSON.parse(payload) as { ended?: []; sessions?: [] })
      .reduce((sum, { ended = [], sessions = [] }) => sum + ended.length + sessions.length, 0)
  await until(() => count() === all.length)
  expect(opened).toBe(1)
  await hints.close()
})

test('what cannot be told is forgotten, and connections are not tried all the time', async () => {
  let tried = 0
  const connect = (): pg.Client => {
    tried++
    return new pg.Client({ connectionString: 'postgres://nobody@127.0.0.1:1/none' })
  }
  const clock = new VirtualClock()
  const hints = new Hints({
    connect,
    connectEar: undefined,
    isPooled: false,
    channel: 'mute',
    clock,
    self: 1,
  })
  for (let n = 0; n < 50; n++) {
    hints.tell([{ type: 'ready' }])
    await new Promise((resolve) => setImmediate(resolve))
  }
  await until(() => tried > 0)
  expect(tried).toBe(1)
  await hints.close()
  hints.tell([{ type: 'ready' }])
  await clock.advance(10_000)
  hints.tell([{ type: 'ready' }])
  expect(tried).toBe(1)
})

test('stores D10: transactions of callers notify at most once in a while, and the rest is told from outside', async () => {
  payloads.length = 0
  // All of it happens in the same moment.
  const clock = { ...systemClock, monotonic: () => 0 }
  const store = await PostgresStore.open(`${database.url}?schema=riders`, clock)
  await ear.query('listen pawl_riders')
  const caller = await connected()
  const create = async (): Promise<void> => {
    const runId = randomUUID()
    await store.createIn(caller, [newRun(runId, { workflowId: runId })])
  }
  for (let n = 0; n < 20; n++) {
    await caller.query('begin')
    await create()
    await caller.query('commit')
  }
  await until(() => payloads.length > 1)
  const froms = payloads.map((payload) => (JSON.parse(payload) as { from: number }).from)
  expect(froms.filter((from) => from === -1)).toHaveLength(1)
  expect(froms.some((from) => from !== -1)).toBe(true)
  await caller.end()
  await store.close()
})

test('stores D13: a connection that listens and has silently died is noticed, and opened anew', async () => {
  const target = new URL(database.url)
  let isSilent = false
  const sockets: Socket[] = []
  const proxy = createServer((client) => {
    const server = dial(Number(target.port), target.hostname)
    const isDead = isSilent === false && sockets.length === 0
    sockets.push(client, server)
    const pass = (from: Socket, to: Socket): void => {
      from.on('data', (chunk) => !(isDead && isSilent) && to.write(chunk))
      from.on('close', () => to.destroy())
      from.on('error', () => to.destroy())
    }
    pass(client, server)
    pass(server, client)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as { port: number }
  const through = new URL(database.url)
  through.port = String(port)
  // A minute is soon over.
  const clock: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms / 600, fire) }
  const connectEar = (): pg.Client => new pg.Client({ connectionString: through.href })
  const connect = (): pg.Client => new pg.Client({ connectionString: database.url })
  const heard: string[] = []
  const hints = new Hints({ connect, connectEar, isPooled: false, channel: 'deaf', clock, self: 1 })
  hints.listen(({ type }) => heard.push(type))
  await until(() => heard.length === 1)
  isSilent = true
  // The second time it says that it listens.
  await until(() => heard.length === 2)
  const speaker = await connected()
  await speaker.query(`select pg_notify('deaf', '{"from":2,"ready":true}')`)
  await until(() => heard.includes('ready'))
  expect(heard).toEqual(['changed', 'changed', 'ready'])
  await hints.close()
  await speaker.end()
  for (const socket of sockets) socket.destroy()
  proxy.close()
})
