// Runs that waited to be triggered: how long they may take, and what they were told before.
import { signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { using, ways } from '../graphs/support.ts'
import { rejection, useStore } from './each-store.ts'

const go = signal<string>('go')

const rounds = workflow('rounds', async (ctx, round: number): Promise<number> => {
  await ctx.sleep('1m')
  return round < 3 ? ctx.continueAsNew(round + 1) : round
})

const sizes = workflow('sizes', async (ctx) => (await ctx.wait(go)).length)

describe.each(ways)('%s', (_, alwaysReplay) => {
  test('R9: all generations together have the time they are given, from the trigger on', async () => {
    await using([rounds], { alwaysReplay }, async (engine) => {
      const limits = { pending: true, executionTimeout: '150s' } as const
      const run = await engine.start(rounds, 1, limits)
      const shorter = await engine.start(rounds, 2, limits)
      await engine.clock.advance('2h')
      await run.trigger()
      await shorter.trigger()
      await expect(run.result()).rejects.toThrow('longer than 150000 ms')
      expect(await shorter.result()).toBe(3)
    })
  })

  test('L5: what one was told before the trigger and cannot be stored at once fails it', async () => {
    await using([sizes], { alwaysReplay }, async (engine) => {
      const run = await engine.start(sizes, undefined, { pending: true })
      const large = 'x'.repeat(1_000_000)
      await Promise.all(Array.from({ length: 17 }, () => run.signal(go, large)))
      await run.trigger()
      await expect(run.result()).rejects.toThrow('cannot be stored')
    })
  })
})

describe.each(['memory', 'sqlite', 'postgres', 'file'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('users: a second trigger with another input is refused, also before a worker has taken the first', async () => {
    const echo = workflow('echo', async (_, text: string) => text)
    const engine = await bench.engine()
    const run = await engine.start(echo, 'started', { pending: true })
    await run.trigger('first')
    expect(await rejection(run.trigger('second'))).toMatchObject({ code: 'TRY_LATER' })
    const worker = await bench.serve({ workflows: [echo] })
    expect(await run.result()).toBe('first')
    expect(await rejection(worker.get(run.runId).trigger('second'))).toMatchObject({
      code: 'RUN_ALREADY_EXISTS',
    })
    await run.trigger('first')
    // Two at once: one of them counts, and the other is told.
    const other = await worker.start(echo, 'started', { pending: true })
    const ends = await Promise.allSettled([other.trigger('a'), other.trigger('b')])
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })
})
