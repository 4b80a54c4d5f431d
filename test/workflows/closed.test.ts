// What an engine that was closed says to those who still ask.
import { signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, rejection, useStore } from './each-store.ts'

const go = signal<string>('go')
const waits = workflow('waits', async (ctx) => ctx.wait(go))

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('every call to an engine that is closed is refused at once', async () => {
    const engine = await bench.engine({ workflows: [waits] })
    const run = await engine.start(waits)
    await engine.close()
    const stopped = { code: 'WORKER_STOPPED', message: expect.stringContaining('closed') }
    for (const call of [
      () => engine.start(waits),
      () => engine.list({}),
      () => engine.count({}),
      () => run.signal(go, 'late'),
      () => run.describe(),
      () => run.why(),
    ])
      expect(await rejection(call())).toMatchObject(stopped)
  })

  test('calls in progress when the engine is closed come to an end', async () => {
    const engine = await bench.engine({ workflows: [waits] })
    const run = await engine.start(waits)
    const signals = ['a', 'b', 'c'].map((text) => run.signal(go, text))
    await new Promise((resolve) => setImmediate(resolve))
    await engine.close()
    for (const each of await Promise.allSettled(signals)) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'WORKER_STOPPED' })
    }
  })
})
