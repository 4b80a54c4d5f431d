// A store that answers every call with an error of its infrastructure for a while: wrong credentials, missing rights,
// another schema. Nothing in them is the fault of what was sent, so they cost time and nothing else.
import { activity, type Engine, PawlError, RetryableError, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import type { Store } from '../../src/core/stores/store.ts'
import { wrapped } from '../../src/core/stores/wrapped.ts'
import { Engine as EngineOf, registryOf } from '../../src/engine.ts'
import { openStore } from '../../src/stores/open.ts'
import { type Bench, type Kind, until, useStore } from './each-store.ts'

const errors = [
  new PawlError('STORE_URL_INVALID', 'role "app" is not permitted to log in'),
  new PawlError('STORE_READ_ONLY', 'permission denied for table live'),
  new PawlError('STORE_UNSUITABLE', 'a segment is missing'),
  new PawlError('SCHEMA_TOO_NEW', 'the schema was written by a newer pawl'),
  Object.assign(new Error('function pawl.commit_turns does not exist'), { code: '42883' }),
  new TypeError('cannot read properties of undefined'),
]

/** Every method fails while there is trouble, before it was carried out or after. */
class Troubled {
  on = false
  readonly failed = new Set<string>()
  #count = 0

  around(store: Store): Store {
    return wrapped(store, (method, call) => async (...args) => {
      if (!this.on) return call(...args)
      this.failed.add(method)
      const n = this.#count++
      if (n % 2 === 0) await call(...args)
      throw errors[n % errors.length]
    })
  }
}

async function engineOn(bench: Bench, trouble: Troubled, options: object): Promise<Engine> {
  const store =
    bench.kind === 'memory' ? new MemoryStore({ clock: systemClock }) : await openStore(bench.url, systemClock, {})
  const log = (level: string, message: string) => bench.logged.push({ level, message })
  const world = { clock: systemClock, random: systemRandom }
  return new EngineOf(trouble.around(store), registryOf(options), { logger: { log }, ...options }, world)
}

const go = signal('go')

describe.each(['memory', 'sqlite', 'postgres', 'file'] as const)(
  'stores D1: infrastructure that fails for a while, on %s',
  (kind: Kind) => {
    const bench = useStore(kind)

    test('fails, pauses and charges nothing; it is told once, and again when it is over', async () => {
      const begun = new Map<string, number>()
      const body = (name: string) => async () => {
        begun.set(name, (begun.get(name) ?? 0) + 1)
        await new Promise((resolve) => setTimeout(resolve, 15))
        return name
      }
      const busy = workflow('busy', async (ctx, n: number) => {
        for (let k = 0; k < 6; k++) await ctx.run(`step ${k}`, body(`${n}.${k}`))
        await ctx.run('once', { retry: 'none' }, body(`${n}.once`))
        await ctx.wait(go, { timeout: '1h' })
        return n
      })
      const trouble = new Troubled()
      const engine = await engineOn(bench, trouble, { workflows: [busy] })
      try {
        engine.work({ signals: false, lease: '10s' })
        const runs = await Promise.all(Array.from({ length: 20 }, (_, n) => engine.start(busy, n)))
        await until(
          () => begun.size,
          (size) => size >= 30,
        )
        trouble.on = true
        const told = () => bench.logged.filter(({ message }) => message.includes('its store'))
        await until(told, (lines) => lines.length > 0)
        await until(
          () => trouble.failed.size,
          (size) => size >= 2,
        )
        await new Promise((resolve) => setTimeout(resolve, 1_500))
        trouble.on = false
        for (const run of runs) await run.signal(go)
        expect(await Promise.all(runs.map((run) => run.result()))).toEqual(runs.map((_, n) => n))
        expect([...begun.values()].filter((times) => times !== 1)).toEqual([])
        expect(begun.size).toBe(20 * 7)
        await until(told, (lines) => lines.length > 1)
        expect(told().map(({ level }) => level)).toEqual(['error', 'info'])
        const loud = bench.logged.filter(({ message }) => !message.includes('its store'))
        expect(loud).toEqual([])
      } finally {
        trouble.on = false
        await engine.close()
      }
    })

    test('a client waits for it, and is told at once of what waiting does not change', async () => {
      const quick = workflow('quick', async () => 'done')
      const trouble = new Troubled()
      const engine = await engineOn(bench, trouble, { workflows: [quick] })
      try {
        engine.work({ signals: false })
        trouble.on = true
        const started = engine.start(quick).then((run) => run.result())
        const seen = started.catch((error: unknown) => error)
        await until(
          () => trouble.failed.has('create'),
          (has) => has,
        )
        trouble.on = false
        const end = await seen
        // Among the errors is one that only another release can change.
        if (end instanceof PawlError) expect(end.code).toBe('SCHEMA_TOO_NEW')
        else expect(end).toBe('done')
      } finally {
        await engine.close()
      }
    })
  },
)

test('stores D1: a definition that cannot be looked up for a while pauses no run', async () => {
  const memory = new MemoryStore({ clock: systemClock })
  let failures = 0
  const store = wrapped(memory, (method, call) => async (...args) => {
    if (method === 'records' && failures > 0) {
      failures--
      throw new PawlError('SCHEMA_TOO_NEW', 'the schema was written by a newer pawl')
    }
    return call(...args)
  })
  const tell = activity('tell', async () => 'told')
  const world = { clock: systemClock, random: systemRandom }
  const options = { activities: [tell], logger: { log() {} } }
  const engine = new EngineOf(store, registryOf(options), options, world)
  const paused: string[] = []
  engine.on('run.paused', ({ runId }) => paused.push(runId))
  const telling = workflow.declare<object, unknown>('telling')
  try {
    await engine.submit({ name: 'telling', nodes: [{ id: 'tell', handler: 'tell' }] })
    const runs = await Promise.all([1, 2, 3].map(() => engine.start(telling, {})))
    const worker = engine.work({ signals: false })
    await worker.ready
    failures = 5
    for (const run of runs) await run.result()
    expect([paused, failures]).toEqual([[], 0])
  } finally {
    await engine.close()
  }
})

describe('stores D1: a database that goes away inside a transaction', () => {
  const bench = useStore('postgres')

  test('costs the step no attempt', async () => {
    const attempts: number[] = []
    const flow = workflow('moves', async (ctx) =>
      ctx.transaction('move', async (sql) => {
        attempts.push(attempts.length)
        const [row] = (await sql.query('select 1 as one')) as { one: number }[]
        return row?.one
      }),
    )
    const store = await openStore(bench.url, systemClock, {})
    const { transact } = store
    let failures = 3
    const flaky: Store = wrapped(store, (_method, call) => call, {
      transact: async (of, body) => {
        if (failures-- > 0) throw new PawlError('STORE_UNAVAILABLE', 'connection terminated')
        if (!transact) throw new RetryableError('this store is a database')
        return transact.call(store, of, body)
      },
    })
    const world = { clock: systemClock, random: systemRandom }
    const engine = new EngineOf(flaky, registryOf({ workflows: [flow] }), {}, world)
    try {
      engine.work({ signals: false })
      const run = await engine.start(flow)
      expect(await run.result()).toBe(1)
      const history = []
      for await (const event of run.history()) history.push(event.type)
      expect(history).not.toContain('StepRetried')
      expect(attempts.length).toBe(1)
    } finally {
      await engine.close()
    }
  })
})
