// A run whose history cannot be read: it is paused, and can be cancelled, and harms nobody beside it.
import { expect, test } from 'vitest'
import { Registry } from '../../src/definitions/registry.ts'
import { Engine, type Logger, signal, workflow } from '../../src/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { MemoryDatabase, MemoryStore } from '../../src/stores/memory/store.ts'

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
