// Steps that run in a transaction of the store's database, on the stores that have one.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { type FreshDatabase, freshDatabase } from '../../../test/support/database.ts'
import { openStore } from '../../stores/open.ts'
import { apply, continued, ended, hold, newRun, take, turn } from '../../testing/conformance/builders.ts'
import { PermanentError, RetryableError } from '../base/errors.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import type { ClaimedRun, Sql, StepOf, Store } from './store.ts'

type Kind = 'sqlite' | 'postgres'
type Body = (sql: Sql) => Promise<string>

class Place {
  readonly kind: Kind
  #folder = ''
  #database: FreshDatabase | undefined
  #url = ''
  #stores: Store[] = []
  #files = 0

  constructor(kind: Kind) {
    this.kind = kind
  }

  async prepare(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'pawl-transactions-'))
    if (this.kind === 'postgres') this.#database = await freshDatabase(inject('postgresUrl'))
  }

  renew(): void {
    const n = this.#files++
    const file = `sqlite:${join(this.#folder, `${n}.db`)}`
    this.#url = this.kind === 'sqlite' ? file : `${this.#database?.url}?schema=s${n}`
  }

  async store(clock: Clock = systemClock): Promise<Store> {
    const store = await openStore(this.#url, clock)
    this.#stores.push(store)
    return store
  }

  async closeStores(): Promise<void> {
    await Promise.all(this.#stores.splice(0).map((store) => store.close()))
  }

  async cleanUp(): Promise<void> {
    await rm(this.#folder, { recursive: true })
    await this.#database?.drop()
  }

  /** A placeholder. */
  at(n: number): string {
    return this.kind === 'sqlite' ? '?' : `$${n}`
  }
}

function usePlace(kind: Kind): Place {
  const place = new Place(kind)
  beforeAll(() => place.prepare())
  beforeEach(() => place.renew())
  afterEach(() => place.closeStores())
  afterAll(() => place.cleanUp())
  return place
}

function transact(store: Store, of: StepOf, body: Body): Promise<string> {
  if (!store.transact) throw new Error('the store has no transactions')
  return store.transact(of, body)
}

function stepOf(run: ClaimedRun, key = 'step:pay#1'): StepOf {
  return { runId: run.head.runId, generation: run.head.generation, key }
}

/** A table of the user's, made in a transaction as well. Its name is its own where databases are shared. */
async function makeTable(store: Store, run: ClaimedRun): Promise<string> {
  const table = `paid_${randomUUID().replaceAll('-', '')}`
  await transact(store, stepOf(run, 'table'), async (sql) => {
    await sql.query(`create table ${table} (who text, amount integer)`)
    return ''
  })
  return table
}

async function rowsOf(store: Store, run: ClaimedRun, table: string): Promise<readonly unknown[]> {
  let rows: readonly unknown[] = []
  await transact(store, stepOf(run, randomUUID()), async (sql) => {
    rows = await sql.query(`select who from ${table} order by who`)
    return ''
  })
  return rows
}

const doors = (): PromiseWithResolvers<void> => Promise.withResolvers<void>()

describe.each(['sqlite', 'postgres'] as const)('transactions on %s', (kind) => {
  const place = usePlace(kind)
  const pay =
    (table: string, who: string): Body =>
    async (sql) => {
      await sql.query(`insert into ${table} values (${place.at(1)}, ${place.at(2)})`, [who, 5])
      return `"${who}"`
    }

  test('what it writes and its text are durable together, and it is run once', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const table = await makeTable(store, run)
    expect(await transact(store, stepOf(run), pay(table, 'ann'))).toBe('"ann"')
    const untouched: Body = () => Promise.reject(new Error('it was run again'))
    expect(await transact(store, stepOf(run), untouched)).toBe('"ann"')
    const elsewhere = await place.store()
    expect(await transact(elsewhere, stepOf(run), untouched)).toBe('"ann"')
    expect(await rowsOf(elsewhere, run, table)).toEqual([{ who: 'ann' }])
    expect(await transact(store, stepOf(run, 'step:pay#2'), pay(table, 'bob'))).toBe('"bob"')
    expect(await rowsOf(store, run, table)).toEqual([{ who: 'ann' }, { who: 'bob' }])
  })

  test('what throws is rolled back, leaves no text, and may be tried again', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const table = await makeTable(store, run)
    const broken: Body = async (sql) => {
      await pay(table, 'ann')(sql)
      throw new Error('no money')
    }
    await expect(transact(store, stepOf(run), broken)).rejects.toThrow('no money')
    expect(await rowsOf(store, run, table)).toEqual([])
    expect(await transact(store, stepOf(run), pay(table, 'bob'))).toBe('"bob"')
    expect(await rowsOf(store, run, table)).toEqual([{ who: 'bob' }])
  })

  test('a query that fails says why, and rolls back what was written before it', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const table = await makeTable(store, run)
    const broken: Body = async (sql) => {
      await pay(table, 'ann')(sql)
      await sql.query('select * from nowhere')
      return ''
    }
    await expect(transact(store, stepOf(run), broken)).rejects.toThrow(/nowhere/)
    expect(await rowsOf(store, run, table)).toEqual([])
  })

  test('it does not begin for a run that is missing, has ended, or is in another generation', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const begun: string[] = []
    const body: Body = async () => {
      begun.push('begun')
      return ''
    }
    const refused = async (of: StepOf): Promise<void> => {
      await expect(transact(store, of, body)).rejects.toThrow(PermanentError)
    }
    await refused({ ...stepOf(run), runId: randomUUID() })
    await refused({ ...stepOf(run), generation: 2 })
    await apply(store, turn(run, { next: continued() }))
    await refused(stepOf(run))
    const next = await take(store, run.head.runId)
    await apply(store, turn(next, { next: ended }))
    await refused(stepOf(next))
    expect(begun).toEqual([])
  })

  test('of two processes that run the same step at once, one counts for both', async () => {
    const stores = [await place.store(), await place.store()]
    const [here] = stores
    if (!here) return
    const run = await hold(here, randomUUID())
    const table = await makeTable(here, run)
    const texts = await Promise.all(
      stores.map((store, index) => transact(store, stepOf(run), pay(table, `worker ${index}`))),
    )
    expect(new Set(texts).size).toBe(1)
    expect(await rowsOf(here, run, table)).toEqual([{ who: JSON.parse(texts[0] ?? '') }])
  })

  test('many at once go through, and so does everything else meanwhile', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const table = await makeTable(store, run)
    const count = 12
    const paid = Array.from({ length: count }, (_, n) =>
      transact(store, stepOf(run, `step:pay#${n}`), async (sql) => {
        await pay(table, `ann ${n}`)(sql)
        await new Promise((resolve) => setTimeout(resolve, 2))
        await sql.query(`select who from ${table}`)
        return `${n}`
      }),
    )
    const created = Array.from({ length: count }, () => store.create([newRun(randomUUID())]))
    const answers = (await Promise.all(created)).flat()
    expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['created']))
    expect(await Promise.all(paid)).toEqual(Array.from({ length: count }, (_, n) => `${n}`))
    expect(await rowsOf(store, run, table)).toHaveLength(count)
  })

  test('the text is gone with the run', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const of = stepOf(run)
    await transact(store, of, async () => '"once"')
    const [before] = await store.load([{ type: 'notes', ...of }])
    expect(before).toEqual({ type: 'notes', notes: { transaction: '"once"' } })
    await apply(store, turn(run, { next: ended }))
    const [after] = await store.load([{ type: 'notes', ...of }])
    expect(after).toEqual({ type: 'notes', notes: {} })
  })

  test('who still asks when it is over is told so', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    let kept: Sql | undefined
    await transact(store, stepOf(run), async (sql) => {
      kept = sql
      return ''
    })
    await expect(kept?.query('select 1')).rejects.toThrow(/has ended. Await every query/)
  })

  test.each(['commit', 'rollback'])('a function that says %s itself is refused', async (end) => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const body: Body = async (sql) => {
      await sql.query(end)
      return '"done"'
    }
    await expect(transact(store, stepOf(run), body)).rejects.toThrow(/return to commit/)
    const [notes] = await store.load([{ type: 'notes', ...stepOf(run) }])
    expect(notes).toEqual({ type: 'notes', notes: {} })
  })

  test('values of every kind go in, and rows come out as plain objects', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const table = await makeTable(store, run)
    await transact(store, stepOf(run), async (sql) => {
      const insert = `insert into ${table} values (${place.at(1)}, ${place.at(2)})`
      await sql.query(insert, [new Date(0), null])
      await sql.query(insert, [`it's $1 ?`, 7n])
      const [row] = await sql.query(`select who, amount from ${table} where amount = 7`)
      expect(row).toStrictEqual({ who: `it's $1 ?`, amount: 7 })
      const yes = `select 1 as found where ${place.at(1)}`
      expect(await sql.query(yes, [true])).toHaveLength(1)
      expect(await sql.query(yes, [false])).toHaveLength(0)
      return ''
    })
  })
})

describe('transactions on sqlite alone', () => {
  const place = usePlace('sqlite')

  test('one that keeps the file too long is rolled back, and others write again', async () => {
    const hurried: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms / 50, fire) }
    const store = await place.store(hurried)
    const run = await hold(store, randomUUID())
    const table = await makeTable(store, run)
    const gate = doors()
    const slow = transact(store, stepOf(run), async (sql) => {
      await sql.query(`insert into ${table} values ('ann', 5)`)
      await gate.promise
      await sql.query(`insert into ${table} values ('ann', 6)`)
      return ''
    })
    const [created] = await Promise.all([
      store.create([newRun(randomUUID())]),
      expect(slow).rejects.toThrow(RetryableError),
    ])
    expect(created).toMatchObject([{ outcome: 'created' }])
    gate.resolve()
    expect(await rowsOf(store, run, table)).toEqual([])
  })
})

describe('transactions on postgres alone', () => {
  const place = usePlace('postgres')

  test('the run goes on while the body runs; if it ends meanwhile, nothing is written', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const table = await makeTable(store, run)
    const [begun, gate] = [doors(), doors()]
    const late = transact(store, stepOf(run), async (sql) => {
      await sql.query(`insert into ${table} values ('ann', 5)`)
      begun.resolve()
      await gate.promise
      return ''
    })
    await begun.promise
    await apply(store, turn(run))
    await apply(store, turn(run, { seq: 1, next: ended }))
    gate.resolve()
    await expect(late).rejects.toThrow(/not in progress/)
    const other = await hold(store, randomUUID())
    expect(await rowsOf(store, other, table)).toEqual([])
  })

  test('of two that have both written, the second takes back what it wrote', async () => {
    const stores = [await place.store(), await place.store()]
    const [here] = stores
    if (!here) return
    const run = await hold(here, randomUUID())
    const table = await makeTable(here, run)
    const gate = doors()
    let written = 0
    const texts = await Promise.all(
      stores.map((store, index) =>
        transact(store, stepOf(run), async (sql) => {
          await sql.query(`insert into ${table} values ($1, 5)`, [`worker ${index}`])
          if (++written === stores.length) gate.resolve()
          await gate.promise
          return `"worker ${index}"`
        }),
      ),
    )
    expect(new Set(texts).size).toBe(1)
    expect(await rowsOf(here, run, table)).toEqual([{ who: JSON.parse(texts[0] ?? '') }])
  })

  test('a body that goes on after an error is refused; with a savepoint it may', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const careless: Body = async (sql) => {
      await sql.query('select * from nowhere').catch(() => {})
      return ''
    }
    await expect(transact(store, stepOf(run), careless)).rejects.toThrow(/savepoint/)
    const careful: Body = async (sql) => {
      await sql.query('savepoint before')
      await sql.query('select * from nowhere').catch(() => sql.query('rollback to before'))
      return '"done"'
    }
    expect(await transact(store, stepOf(run), careful)).toBe('"done"')
  })

  test('a connection that is lost in the middle harms no run, and the step may be tried again', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const table = await makeTable(store, run)
    const gone = transact(store, stepOf(run), async (sql) => {
      await sql.query(`insert into ${table} values ('ann', 5)`)
      await sql.query('select pg_terminate_backend(pg_backend_pid())').catch(() => {})
      return ''
    })
    await expect(gone).rejects.toThrow()
    const body: Body = async (sql) => {
      await sql.query(`insert into ${table} values ('bob', 5)`)
      return '"bob"'
    }
    expect(await transact(store, stepOf(run), body)).toBe('"bob"')
    expect(await rowsOf(store, run, table)).toEqual([{ who: 'bob' }])
  })

  test('as many as there are connections, and more, keep the store from nothing', async () => {
    const store = await place.store()
    const run = await hold(store, randomUUID())
    const gate = doors()
    const waiting = Array.from({ length: 10 }, (_, n) =>
      transact(store, stepOf(run, `step:pay#${n}`), async () => {
        await gate.promise
        return `${n}`
      }),
    )
    await apply(store, turn(run))
    gate.resolve()
    expect(await Promise.all(waiting)).toHaveLength(10)
  })
})
