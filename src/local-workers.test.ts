import { expect, test } from 'vitest'
import { activity, open } from './index.ts'
import { LocalWorkers } from './local-workers.ts'

test('workers that have stopped are forgotten, and those with a running body are not', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const begun = Promise.withResolvers<void>()
  const stubborn = activity('stubborn', { retry: 'none' }, async () => {
    begun.resolve()
    return promise
  })
  const engine = await open('memory:', { activities: [stubborn] })
  const busy = engine.work({ signals: false })
  const run = await engine.start(stubborn)
  await begun.promise
  await busy.drain(1)
  const idle = engine.work({ signals: false })
  await idle.drain()

  const workers = new LocalWorkers()
  const forgotten: string[] = []
  workers.add(busy, () => forgotten.push('busy'))
  workers.add(idle, () => forgotten.push('idle'))
  workers.add(idle, () => forgotten.push('idle again'))
  expect(forgotten).toEqual(['idle'])
  expect(workers.stepsRunning).toBe(1)
  resolve('done')
  await expect.poll(() => workers.stepsRunning).toBe(0)
  await workers.drain()
  expect(forgotten).toEqual(['idle', 'busy', 'idle again'])
  expect((await run.describe()).runId).toBe(run.runId)
  await engine.close()
})
