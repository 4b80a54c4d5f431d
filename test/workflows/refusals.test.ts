// What pawl says when it cannot do what was asked: a stable code, and a message that says what to do.
import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { activity, open, type Schema, signal, workflow } from 'pawl'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { openStore } from '../../src/stores/open.ts'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { kinds, rejection, useStore } from './each-store.ts'

const unknownId = '00000000-0000-7000-8000-000000000000'

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('an unknown run is not found, whatever is asked of it', async () => {
    const engine = await bench.engine()
    const go = signal('go')
    for (const run of [engine.get(unknownId), engine.get({ workflowId: 'nobody' })]) {
      const asks = [run.result(), run.describe(), run.why(), run.signal(go), run.cancel()]
      for (const error of await Promise.all(asks.map(rejection))) {
        expect(error).toMatchObject({ code: 'RUN_NOT_FOUND' })
        expect(String(error)).toMatch(/there is no run .*(0000|nobody).* in this store/)
      }
    }
  })

  test('a malformed run id is refused at once, with a hint', async () => {
    const engine = await bench.engine()
    for (const id of ['order-1', '', unknownId.toUpperCase().replace('8', 'A'), `${unknownId} `]) {
      expect(() => engine.get(id)).toThrow(
        expect.objectContaining({
          code: 'RUN_ID_INVALID',
          message: expect.stringMatching(/is not a run id.*get\(\{ workflowId/),
        }),
      )
    }
  })

  test('faults 4.8: an input that is a promise, a thenable or a proxy that throws is refused', async () => {
    const engine = await bench.engine()
    const plain = workflow('plain', async () => 1)
    const any = {
      '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
    }
    const checked = workflow('checked', { input: any as Schema<unknown> }, async () => 1)
    const throwing = new Proxy({ a: 1 }, { get: () => assert.fail('a trap') })
    const inputs: unknown[] = [Promise.resolve(1), { then: () => {} }, throwing]
    for (const input of inputs) {
      const refused = { code: 'NOT_SERIALISABLE' }
      await expect(engine.start(plain, input as never)).rejects.toMatchObject(refused)
      await expect(engine.start(checked, input)).rejects.toMatchObject(refused)
      const many = engine.startMany(plain, [{ input: input as never }])
      await expect(many).rejects.toMatchObject(refused)
    }
    expect((await engine.list()).items).toEqual([])
  })

  test('faults 4.8: an attribute of -0 is 0, as SQL has it', async () => {
    const engine = await bench.engine()
    const run = await engine.start(workflow.declare('w'), undefined, { attributes: { n: -0 } })
    expect((await run.describe()).attributes).toStrictEqual({ n: 0 })
  })

  test('starting what is no workflow, twice-timed or badly named is refused', async () => {
    const engine = await bench.engine()
    const go = workflow('go', async () => 1)
    const refused = { code: 'INPUT_INVALID' }
    const both = engine.start(go, undefined, { delay: '1s', runAt: new Date() })
    await expect(both).rejects.toMatchObject(refused)
    for (const runAt of [new Date(Number.NaN), 1e18 as unknown as Date]) {
      await expect(engine.start(go, undefined, { runAt })).rejects.toMatchObject(refused)
    }
    const thing = signal('thing') as unknown as typeof go
    await expect(engine.start(thing)).rejects.toMatchObject(refused)
    for (const workflowId of ['', 'a\u0000b', 'x'.repeat(513)]) {
      await expect(engine.start(go, undefined, { workflowId })).rejects.toMatchObject(refused)
    }
    expect(() => engine.work({ queues: [] })).toThrow(expect.objectContaining(refused))
    expect(() => engine.work({ concurrency: 0 })).toThrow(expect.objectContaining(refused))
    expect(() => engine.work({ lease: '1ms' })).toThrow(expect.objectContaining(refused))
  })
})

describe('definitions', () => {
  test('two of one name, a contract without code and a stranger are refused', async () => {
    const one = workflow('same', async () => 1)
    const two = workflow('same', async () => 2)
    await expect(open('memory:', { workflows: [one, two] })).rejects.toMatchObject({
      code: 'DEFINITION_CONFLICT',
      message: expect.stringContaining("'same'"),
    })
    const again = await open('memory:', { workflows: [one, one] })
    await again.close()
    const contract = workflow.declare('bare') as unknown as typeof one
    await expect(open('memory:', { workflows: [contract] })).rejects.toMatchObject({
      code: 'DEFINITION_INVALID',
      message: expect.stringMatching(/'bare'.*contract without code.*implement/),
    })
    const stranger = activity('thing', async () => 1) as unknown as typeof one
    await expect(open('memory:', { workflows: [stranger] })).rejects.toMatchObject({
      code: 'DEFINITION_INVALID',
      message: expect.stringContaining('is not a workflow'),
    })
  })

  test.each<[string, RegExp]>([
    ['mysql://localhost/x', /no store for 'mysql:'.*'sqlite:\.\/pawl\.db'/],
    ['pawl.db', /no scheme.*'sqlite:\.\/pawl\.db'/],
    ['', /no scheme/],
    ['sqlite:', /names no file/],
    ['sqlite::memory:', /names no file.*'memory:'/],
    ['postgres://localhost/x?schema=Bad-Name', /schema 'Bad-Name'/],
    ['postgres://localhost/x?pool=1', /pool must be/],
    ['postgres://user:p@ss:word@/x:y', /cannot be read.*percent-encoded/],
  ])('the store URL %s is refused', async (url, message) => {
    await expect(open(url)).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringMatching(message),
    })
  })
})

describe('a SQLite file', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-refusals-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('in a folder that does not exist is refused, and the folder is named', async () => {
    await expect(open(`sqlite:${folder}/nowhere/pawl.db`)).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringContaining(`the folder ${folder}/nowhere does not exist`),
    })
  })

  test('that is a folder is refused', async () => {
    await expect(open(`sqlite:${folder}`)).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringContaining('is a folder'),
    })
  })

  test('that is something else is refused', async () => {
    const file = join(folder, 'letter.txt')
    await writeFile(file, 'Dear Sir or Madam, '.repeat(100))
    await expect(open(`sqlite:${file}`)).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringContaining('is not a SQLite database'),
    })
  })

  test('that may not be written is refused, unless this user may write anything', async () => {
    const file = join(folder, 'read-only.db')
    await (await open(`sqlite:${file}`)).close()
    await chmod(file, 0o444)
    const outcome = await open(`sqlite:${file}`).then(
      async (engine) => {
        await engine.close()
        return 'opened'
      },
      (error: { code?: string }) => error.code,
    )
    // The superuser is not stopped by the mode of a file.
    expect(outcome).toBe(process.getuid?.() === 0 ? 'opened' : 'STORE_READ_ONLY')
  })

  test('that a newer pawl wrote is refused, and left as it is', async () => {
    const file = join(folder, 'newer.db')
    await (await open(`sqlite:${file}`)).close()
    const database = new DatabaseSync(file)
    database.exec('pragma user_version = 999')
    database.close()
    await expect(open(`sqlite:${file}`)).rejects.toMatchObject({
      code: 'SCHEMA_TOO_NEW',
      message: expect.stringMatching(/newer pawl \(schema 999.*Upgrade pawl/),
    })
  })
})

describe('a Postgres server', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase(inject('postgresUrl'))
  })
  afterAll(() => database.drop())

  function url(change: (url: URL) => void): string {
    const changed = new URL(database.url)
    change(changed)
    return changed.href
  }

  test.each(['127.0.0.1', 'localhost'])(
    'that cannot be reached at %s is unavailable, and the reason is told',
    async (host) => {
      const error = await rejection(openStore(`postgres://nobody@${host}:1/x`, systemClock))
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
      expect(String(error)).toMatch(/ECONNREFUSED/)
    },
  )

  test('that knows no such database or user is refused with advice', async () => {
    const nowhere = url((each) => {
      each.pathname = '/nowhere'
    })
    await expect(open(nowhere)).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringMatching(/database "nowhere" does not exist.*Create the database/),
    })
    const nobody = url((each) => {
      each.username = 'nobody_here'
      each.password = 'wrong'
    })
    await expect(open(nobody)).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringMatching(/Check the user/),
    })
  })

  test('that takes no writes is refused if there is something to write, and can be read', async () => {
    const readOnly = url((each) => {
      each.searchParams.set('options', '-c default_transaction_read_only=on')
    })
    await expect(open(readOnly)).rejects.toMatchObject({
      code: 'STORE_READ_ONLY',
      message: expect.stringMatching(/connect to the primary/),
    })
    await (await open(database.url)).close()
    const engine = await open(readOnly)
    expect(await engine.count()).toBe(0)
    await engine.close()
    // A client would try again for a while: after a switch-over the server takes writes again.
    const store = await openStore(readOnly, systemClock)
    const beat = { session: 7, worker: 'w', beat: 1, ttlMs: 30_000, tasks: [], about: '{}' }
    await expect(store.renew(beat)).rejects.toMatchObject({ code: 'STORE_READ_ONLY' })
    await store.close()
  })

  test('whose schema a newer pawl wrote is refused', async () => {
    const newer = url((each) => each.searchParams.set('schema', 'newer'))
    await (await open(newer)).close()
    const client = new pg.Client({ connectionString: database.url })
    await client.connect()
    await client.query('update newer.about set version = 999, oldest = 999')
    await client.end()
    await expect(open(newer)).rejects.toMatchObject({
      code: 'SCHEMA_TOO_NEW',
      message: expect.stringMatching(/"newer" was written by a newer pawl \(version 999/),
    })
  })
})
