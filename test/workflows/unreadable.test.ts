// A run whose history cannot be read: it is paused, and can be cancelled, and harms nobody beside it.

import { describe, expect, test } from 'vitest'
import { encrypt } from '../../src/addons/codecs/index.ts'
import { Registry } from '../../src/core/definitions/registry.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryDatabase, MemoryStore } from '../../src/core/stores/memory/store.ts'
import type { Store } from '../../src/core/stores/store.ts'
import { Engine } from '../../src/engine.ts'
import { type Logger, type OpenOptions, signal, workflow } from '../../src/index.ts'
import { SimulatedProcess } from '../../src/testing/simulated-process.ts'

test('R24: a run with a history from the future is paused, and cancelled without its code', async () => {
  const go = signal('go')
  const waits = workflow('waits', async (ctx) => ctx.wait(go))
  const database = new MemoryDatabase()
  const errors: string[] = []
  const logger: Logger = {
    log: (level, message) => void (level === 'error' && errors.push(message)),
  }
  const engine = (build: string): Engine => {
    const store = new MemoryStore({ clock: systemClock, database })
    const world = { clock: systemClock, random: systemRandom }
    return new Engine(store, new Registry([waits], []), { build, logger }, world)
  }
  const first = engine('one')
  const worker = first.work({ signals: false })
  const run = await first.start(waits)
  const other = await first.start(waits)
  await worker.drain()
  const [turn] = database.tables.turns.get(run.runId) ?? []
  Object.assign(turn ?? {}, { body: turn?.body.replace('"version":1', '"version":99') })
  await run.signal(go)
  const second = engine('two')
  const paused = new Promise((resolve) => second.on('run.paused', resolve))
  second.work({ signals: false })
  await paused
  expect((await run.describe()).failure?.code).toBe('SCHEMA_TOO_NEW')
  await run.cancel('unreadable')
  await expect.poll(() => database.tables.run(run.runId)?.status).toBe('cancelled')
  await other.signal(go)
  await expect(other.result()).resolves.toBeUndefined()
  // Had the worker stumbled over it, it would have dropped everything it held.
  expect(errors).toEqual([])
  await Promise.all([first.close(), second.close()])
})

describe('a worker dies in a step that must not run twice, and the next cannot go on with the run', () => {
  const keyed = (id: string) => encrypt({ keys: { [id]: new Uint8Array(32).fill(7) }, current: id })
  const codecs = { right: [keyed('k1')], wrong: [keyed('k2')] }
  let begun = 0
  const once = workflow('once', async (ctx) => {
    await ctx.sleep(1)
    return ctx.run('charge', { retry: 'none' }, () => {
      begun++
      return new Promise<number>(() => {})
    })
  })
  const other = workflow('once', async (ctx) => ctx.run('something else', () => 1))

  test.each([
    ['P12: without the key', once, codecs.wrong, 'CODEC_MISSING'],
    ['H9: because the code does not fit', other, codecs.right, 'DETERMINISM'],
  ] as const)('%s', async (_name, second, given, problem) => {
    begun = 0
    const store = new MemoryStore({ clock: systemClock })
    const mortal = new SimulatedProcess('first', systemClock)
    const engine = (code: typeof once, options: OpenOptions, on = store as Store) => {
      const world = { clock: on === store ? systemClock : mortal.clock, random: systemRandom }
      const quiet = { log() {} }
      return new Engine(on, new Registry([code], []), { logger: quiet, ...options }, world)
    }
    const first = engine(once, { build: 'one', codecs: codecs.right }, mortal.guard(store))
    first.work({ signals: false, lease: 200 })
    const { runId } = await first.start(once)
    await expect.poll(() => begun).toBe(1)
    mortal.kill()
    const blind = engine(second, { build: 'two', codecs: given })
    const paused = new Promise((resolve) => blind.on('run.paused', resolve))
    blind.work({ signals: false })
    expect(await paused).toMatchObject({ runId, failure: { code: problem } })
    const third = engine(once, { build: 'three', codecs: codecs.right })
    third.work({ signals: false })
    // Nobody knows whether it happened. What is certain is that it does not happen again.
    await expect(third.get(runId).result()).rejects.toThrow(/worker died|cut off|WorkerDied/)
    expect(begun).toBe(1)
    await Promise.all([blind.close(), third.close()])
  })
})

test('P12: two builds that can both not read a run do not hand it to and fro as fast as they can', async () => {
  const store = new MemoryStore({ clock: systemClock })
  const key = new Uint8Array(32)
  const keyed = (...ids: [string, ...string[]]) => [
    encrypt({ keys: Object.fromEntries(ids.map((id) => [id, key])), current: ids[0] }),
  ]
  const go = signal('go')
  const waits = workflow('waits', async (ctx) => ctx.wait(go))
  const quick = workflow('quick', async () => 1)
  const engine = (codecs: OpenOptions['codecs'] = []): Engine => {
    const world = { clock: systemClock, random: systemRandom }
    return new Engine(store, new Registry([waits, quick], []), { logger: { log() {} }, codecs }, world)
  }
  const client = engine(keyed('k1'))
  await client.start(waits)
  const blind = [engine(keyed('shared', 'k2')), engine(keyed('shared', 'k3'))]
  let pauses = 0
  for (const each of blind) {
    each.on('run.paused', () => void pauses++)
    each.work({ signals: false })
  }
  // Both have reason to look for work all the time.
  const other = engine(keyed('shared'))
  const until = Date.now() + 1_000
  while (Date.now() < until) {
    await other.execute(quick)
    // Timers have their turn, too.
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  expect(pauses).toBeGreaterThan(1)
  expect(pauses).toBeLessThan(7)
  await Promise.all([...blind, client, other].map((each) => each.close()))
})
