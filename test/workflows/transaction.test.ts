// Steps in a transaction of the store's own database, and starts that are part of a transaction of yours.

import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import {
  activity,
  type OpenOptions,
  PawlError,
  PermanentError,
  RunError,
  signal,
  type Transaction,
  update,
  workflow,
} from 'pawl'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Registry } from '../../src/core/definitions/registry.ts'
import { unavailable } from '../../src/core/runtime/availability.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import type { Sql, StepOf, Store } from '../../src/core/stores/store.ts'
import { asItIs, wrapped } from '../../src/core/stores/wrapped.ts'
import { Engine } from '../../src/engine.ts'
import { openStore } from '../../src/stores/open.ts'
import { SimulatedProcess } from '../../src/testing/simulated-process.ts'
import { type Bench, historyOf, kinds, rejection, useStore } from './each-store.ts'

type Transact = (of: StepOf, body: (sql: Sql) => Promise<string>) => Promise<string>
type Before = (sql: Transaction) => Promise<void>

const word = signal<string>('word')
const question = update<string, string>('question')
const told = workflow('told', async (ctx) => ctx.wait(word))

const nothing: Before = async () => {}
const table = (): string => `paid_${randomBytes(6).toString('hex')}`

/** Pays in one transaction: how often, the table tells. */
function payment(bench: Bench, into: string, before: Before = nothing) {
  const place = bench.kind === 'sqlite' ? '?' : '$1'
  return workflow('payment', async (ctx, who: string) => {
    const paid = await ctx.transaction('pay', async (sql) => {
      await sql.query(`insert into ${into} values (${place})`, [who])
      await before(sql)
      return sql.query<{ who: string }>(`select who from ${into}`)
    })
    return paid.map((row) => row.who)
  })
}

/** Asks the database without pawl. */
async function ask(bench: Bench, text: string): Promise<unknown[]> {
  if (bench.kind === 'sqlite') {
    const database = new DatabaseSync(bench.url.replace('sqlite:', ''))
    database.exec('pragma busy_timeout = 5000')
    const rows = database.prepare(text).all()
    database.close()
    return rows.map((row) => ({ ...row }))
  }
  const client = new pg.Client({ connectionString: bench.url })
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

async function makeTable(bench: Bench): Promise<string> {
  const name = table()
  // The first to open the store makes its file.
  await bench.engine()
  await ask(bench, `create table ${name} (who text not null)`)
  return name
}

/** An engine whose store answers as told. */
async function engineOn(
  bench: Bench,
  options: OpenOptions,
  around: (store: Store) => Store,
  clock = systemClock,
): Promise<Engine> {
  const registry = new Registry(options.workflows ?? [], options.activities ?? [])
  const store = around(await openStore(bench.url, systemClock))
  const quiet = { logger: { log() {} }, ...options }
  return new Engine(store, registry, quiet, { clock, random: systemRandom })
}

function transacting(store: Store, around: (transact: Transact) => Transact): Store {
  const transact: Transact = (of, body) => {
    if (!store.transact) throw new Error('the store has no transactions')
    return store.transact(of, body)
  }
  return wrapped(store, asItIs, { transact: around(transact) })
}

describe.each(['sqlite', 'postgres'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('what a transaction writes is there with its result', async () => {
    const into = await makeTable(bench)
    const pay = payment(bench, into)
    const engine = await bench.serve({ workflows: [pay] })
    const run = await engine.start(pay, 'ann')
    expect(await run.result()).toEqual(['ann'])
    expect(await ask(bench, `select who from ${into}`)).toEqual([{ who: 'ann' }])
    const steps = (await historyOf(run)).filter(({ type }) => type === 'StepCompleted')
    expect(steps).toHaveLength(1)
  })

  test('a transaction that throws is rolled back, and tried again like any step', async () => {
    const into = await makeTable(bench)
    let failures = 1
    const pay = payment(bench, into, async () => {
      if (failures-- > 0) throw new Error('not now')
    })
    const engine = await bench.serve({ workflows: [pay] })
    expect(await engine.execute(pay, 'ann')).toEqual(['ann'])
    expect(await ask(bench, `select who from ${into}`)).toEqual([{ who: 'ann' }])
  })

  test('a transaction that is given up on has written nothing', async () => {
    const into = await makeTable(bench)
    const pay = payment(bench, into, async () => {
      throw new PermanentError('never')
    })
    const engine = await bench.serve({ workflows: [pay] })
    const error = await rejection(engine.execute(pay, 'ann'))
    expect(error).toBeInstanceOf(RunError)
    expect(String(error)).toContain('never')
    expect(await ask(bench, `select who from ${into}`)).toEqual([])
  })

  test('a transaction whose answer is lost is not run twice', async () => {
    const into = await makeTable(bench)
    const pay = payment(bench, into)
    let lost = 0
    const engine = await engineOn(bench, { workflows: [pay] }, (store) =>
      transacting(store, (transact) => async (of, body) => {
        const text = await transact(of, body)
        if (lost++ === 0) throw unavailable('the database', 'the answer to commit was lost')
        return text
      }),
    )
    engine.work({ signals: false })
    expect(await engine.execute(pay, 'ann')).toEqual(['ann'])
    expect(lost).toBe(2)
    expect(await ask(bench, `select who from ${into}`)).toEqual([{ who: 'ann' }])
    await engine.close()
  })

  test('a process that dies between the commit and the record costs nothing twice', async () => {
    const into = await makeTable(bench)
    const pay = payment(bench, into)
    const mortal = new SimulatedProcess('mortal', systemClock)
    const dead = Promise.withResolvers<void>()
    const opened: Store[] = []
    const engine = await engineOn(
      bench,
      { workflows: [pay] },
      (store) => {
        opened.push(store)
        return transacting(mortal.guard(store), () => async (of, body) => {
          await store.transact?.(of, body)
          mortal.kill()
          dead.resolve()
          return new Promise<string>(() => {})
        })
      },
      mortal.clock,
    )
    engine.work({ signals: false, lease: 400 })
    const { runId } = await engine.start(pay, 'ann')
    await dead.promise
    const second = await bench.serve({ workflows: [pay] })
    expect(await second.get(pay, runId).result()).toEqual(['ann'])
    expect(await ask(bench, `select who from ${into}`)).toEqual([{ who: 'ann' }])
    await Promise.all(opened.map((store) => store.close()))
  })
})

describe.each(['memory', 'file', 's3'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('a transaction fails at once, and says what to use instead', async () => {
    const pay = payment(bench, 'nowhere')
    const engine = await bench.serve({ workflows: [pay] })
    const error = await rejection(engine.execute(pay, 'ann'))
    expect(error).toBeInstanceOf(RunError)
    expect(String(error)).toMatch(/needs a store that is a database/)
    expect(String(error)).toContain(`this one is '${kind}'`)
  })
})

const greet = activity('greet', async (who: string) => `hello ${who}`)
const greeting = workflow('greeting', async (ctx, who: string) => ctx.run(greet, who))

describe('starts in a transaction, on postgres', () => {
  const bench = useStore('postgres')
  let client: pg.Client

  beforeEach(async () => {
    client = new pg.Client({ connectionString: bench.url })
    await client.connect()
  })
  afterEach(() => client.end())

  test('a run that is started in a transaction is there if it commits, and is done', async () => {
    const engine = await bench.serve({ workflows: [greeting], activities: [greet] })
    await client.query('begin')
    const run = await engine.start(greeting, 'ann', { transaction: client })
    expect(await rejection(run.describe())).toMatchObject({ code: 'RUN_NOT_FOUND' })
    await client.query('commit')
    expect(await run.result()).toBe('hello ann')
  })

  test('if it rolls back, there was never a run', async () => {
    const engine = await bench.serve({ workflows: [greeting], activities: [greet] })
    await client.query('begin')
    const options = { transaction: client, workflowId: 'greet-ann', attributes: { vip: true } }
    const run = await engine.start(greeting, 'ann', options)
    await client.query('rollback')
    expect(await rejection(run.describe())).toMatchObject({ code: 'RUN_NOT_FOUND' })
    expect(await engine.count()).toBe(0)
    const again = await engine.start(greeting, 'bob', { workflowId: 'greet-ann', reuse: 'reject' })
    expect(await again.result()).toBe('hello bob')
  })

  test('what it writes of its own goes with it', async () => {
    const into = await makeTable(bench)
    const engine = await bench.serve({ workflows: [greeting], activities: [greet] })
    await client.query('begin')
    await client.query(`insert into ${into} values ('ann')`)
    const run = await engine.start(greeting, 'ann', { transaction: client, delay: 1 })
    await client.query('commit')
    expect(await run.result()).toBe('hello ann')
    expect(await ask(bench, `select who from ${into}`)).toEqual([{ who: 'ann' }])
  })

  test('policies and idempotency keys count inside it, too', async () => {
    const engine = await bench.engine({ workflows: [greeting], activities: [greet] })
    await engine.start(greeting, 'ann', { workflowId: 'greet' })
    await client.query('begin')
    const inside = { transaction: client }
    const refused = engine.start(greeting, 'bob', {
      ...inside,
      workflowId: 'greet',
      reuse: 'reject',
    })
    expect(await rejection(refused)).toMatchObject({ code: 'RUN_ALREADY_EXISTS' })
    const first = await engine.start(greeting, 'bob', { ...inside, idempotencyKey: 'k' })
    const second = await engine.start(greeting, 'bob', { ...inside, idempotencyKey: 'k' })
    expect(second.runId).toBe(first.runId)
    await client.query('commit')
    expect(await engine.count()).toBe(2)
  })

  test('others hear of it when it commits, and not before', async () => {
    const store = await openStore(bench.url, systemClock)
    const other = await openStore(bench.url, systemClock)
    const heard: string[] = []
    const listening = [store, other].map(
      (each, index) =>
        new Promise<void>((resolve) => {
          each.wake(({ type }) => {
            if (type === 'changed') resolve()
            else heard.push(`${type} ${index}`)
          })
        }),
    )
    await Promise.all(listening)
    const engine = await engineOn(bench, { workflows: [greeting] }, () => store)
    await client.query('begin')
    await engine.start(greeting, 'ann', { transaction: client })
    await other.post([{ runId: crypto.randomUUID(), message: { id: 'm', body: '{}' } }])
    expect(heard).toEqual([])
    await client.query('commit')
    await expect.poll(() => heard.toSorted()).toEqual(['ready 0', 'ready 1'])
    await engine.close()
    await other.close()
  })

  test('a signal that starts its run, and many starts, join a transaction', async () => {
    const engine = await bench.serve({ workflows: [greeting, told], activities: [greet] })
    const begin = { workflowId: 'told', signal: word, payload: 'hello', transaction: client }
    const starts = ['ann', 'bob'].map((input) => ({ input, transaction: client }))
    await client.query('begin')
    await engine.signalWithStart(told, begin)
    await engine.startMany(greeting, starts)
    await client.query('rollback')
    expect(await engine.count()).toBe(0)
    await client.query('begin')
    const run = await engine.signalWithStart(told, begin)
    const runs = await engine.startMany(greeting, starts)
    expect(await engine.count()).toBe(0)
    await client.query('commit')
    expect(await run.result()).toBe('hello')
    for (const each of runs) await each.result()
    expect(await engine.count()).toBe(3)
  })

  test('a signal that finds its run joins a transaction, too', async () => {
    const engine = await bench.serve({ workflows: [told] })
    const run = await engine.start(told, undefined, { workflowId: 'told' })
    const begin = { workflowId: 'told', signal: word, transaction: client }
    await client.query('begin')
    await engine.signalWithStart(told, { ...begin, payload: 'unsaid' })
    await client.query('rollback')
    await client.query('begin')
    const found = await engine.signalWithStart(told, { ...begin, payload: 'said' })
    await client.query('commit')
    expect(found.runId).toBe(run.runId)
    expect(await run.result()).toBe('said')
  })

  test('what waits for the run, or would be two writes, cannot join one', async () => {
    const engine = await bench.engine({ workflows: [greeting, told] })
    const transaction = client
    await client.query('begin')
    const refused = [
      engine.updateWithStart(told, { update: question, payload: 'x', transaction }),
      engine.execute(greeting, 'ann', { transaction }),
      engine.startMany(greeting, [{ input: 'ann', transaction }, { input: 'bob' }]),
    ]
    for (const error of await Promise.all(refused.map(rejection))) {
      expect(error).toMatchObject({ code: 'NOT_SUPPORTED' })
    }
    await client.query('commit')
    expect(await engine.count()).toBe(0)
  })

  test('a start of a new kind does not hold up others of its kind', async () => {
    const engine = await bench.engine({ workflows: [greeting], activities: [greet] })
    await client.query('begin')
    await engine.start(greeting, 'ann', { transaction: client, queue: 'new', priority: 7 })
    await engine.start(greeting, 'bob', { queue: 'new', priority: 7 })
    await client.query('commit')
    expect(await engine.count()).toBe(2)
  })
})

describe.each(kinds.filter((kind) => kind !== 'postgres'))('on %s', (kind) => {
  const bench = useStore(kind)

  test('a start cannot join a transaction, and says so', async () => {
    const engine = await bench.engine({ workflows: [greeting] })
    const transaction = { query: async () => ({ rows: [] }) }
    const refused = [
      engine.start(greeting, 'ann', { transaction }),
      engine.startMany(greeting, [{ input: 'ann', transaction }]),
      engine.signalWithStart(told, { signal: word, payload: 'x', transaction }),
      engine.updateWithStart(told, { update: question, payload: 'x', transaction }),
    ]
    for (const error of await Promise.all(refused.map(rejection))) {
      expect(error).toBeInstanceOf(PawlError)
      expect(error).toMatchObject({ code: 'NOT_SUPPORTED' })
    }
    expect(await engine.count()).toBe(0)
  })
})
