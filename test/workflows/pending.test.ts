// Runs that waited to be triggered: how long they may take, and what they were told before.
import { signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { using, ways } from '../graphs/support.ts'

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
