// What the code of a workflow may not wait for, and what it may.
import { setImmediate as nextLoop } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { asked, Play } from '../../../../test/workflows/replay.ts'
import { workflow } from '../../../index.ts'
import type { Context } from '../../definitions/context.ts'
import { running } from './execution.ts'

const nothing = (): undefined => undefined

function step(ctx: Context, name: string): Promise<unknown> {
  return ctx.run(name, nothing)
}

describe('waits pawl cannot see', () => {
  test('with nothing durable pending are found at once', async () => {
    const play = new Play(async (ctx) => {
      await step(ctx, 'a')
      await nextLoop()
    })
    await play.begin()
    await expect(play.complete('step:a#1')).rejects.toMatchObject({
      code: 'NON_DURABLE_AWAIT',
      message: expect.stringMatching(/after step:a#1\. .*ctx\.run/),
    })
  })

  test('with a durable timer pending are found when the code wakes, with the place', async () => {
    const play = new Play(async (ctx) => {
      const timer = ctx.sleep('1h')
      await nextLoop()
      await step(ctx, 'after the loop')
      await timer
    })
    expect(asked(await play.begin())).toEqual(['sleep:sleep#1'])
    await nextLoop()
    await nextLoop()
    await expect(play.pass(1)).rejects.toMatchObject({
      code: 'NON_DURABLE_AWAIT',
      message: expect.stringContaining('before step:after the loop#1'),
    })
  })

  test('are found when the function returns out of turn', async () => {
    const play = new Play(async (ctx) => {
      void ctx.sleep('1h')
      await nextLoop()
      return 'done'
    })
    await play.begin()
    await nextLoop()
    await nextLoop()
    await expect(play.pass(1)).rejects.toMatchObject({
      code: 'NON_DURABLE_AWAIT',
      message: expect.stringContaining('before it ended'),
    })
  })

  test('do not include promises that are settled, async iterators over data, or microtasks', async () => {
    async function* numbers(): AsyncGenerator<number> {
      for (const n of [1, 2, 3]) yield Promise.resolve(n)
    }
    const play = new Play(async (ctx) => {
      let sum = 0
      for await (const n of numbers()) sum += n
      await new Promise<void>((resolve) => {
        queueMicrotask(resolve)
      })
      await new Promise<void>((resolve) => {
        process.nextTick(resolve)
      })
      await { then: (resolve: (value: string) => void) => resolve('thenable') }
      await step(ctx, 'a')
      return sum
    })
    expect(asked(await play.begin())).toEqual(['step:a#1'])
    await play.complete('step:a#1')
    expect(play.result).toBe(6)
  })

  test('ctx used inside the body of a step is refused there', async () => {
    let thrown: unknown
    const play = new Play(async (ctx) => {
      await ctx.run('outer', nothing)
      running.run('step', () => {
        try {
          void step(ctx, 'inner')
        } catch (error) {
          thrown = error
        }
      })
      return 'done'
    })
    await play.begin()
    await play.complete('step:outer#1')
    expect(thrown).toMatchObject({
      code: 'NESTED_DURABLE_CALL',
      message: expect.stringContaining('step:inner#1'),
    })
  })

  test('an execution that was disposed of never answers', async () => {
    let woke = false
    const play = new Play(async (ctx) => {
      await step(ctx, 'a').finally(() => {
        woke = true
      })
    })
    await play.begin()
    play.execution.dispose()
    await expect(play.complete('step:a#1')).rejects.toThrow('disposed')
    await nextLoop()
    expect(woke).toBe(false)
  })

  test('misuse of ctx fails the run with a readable message, not the worker', async () => {
    const child = workflow('child', async () => 1)
    const play = new Play(async (ctx) => ctx.run(child as never, 1 as never))
    await play.begin()
    expect(play.ending).toMatchObject({
      type: 'RunFailed',
      failure: {
        code: 'INPUT_INVALID',
        message: expect.stringMatching(/^ctx\.run expects an activity.*got workflow 'child'\. Call it as/),
      },
    })
  })

  test.each([
    ['run', (ctx: Context) => ctx.run('x', (() => 1) as never, { retry: 'none' } as never)],
    ['map', (ctx: Context) => ctx.map([1], (async () => 1) as never, { concurrency: 1 } as never)],
    ['scope', (ctx: Context) => ctx.scope('x', (async () => 1) as never, { timeout: '1s' } as never)],
  ])('options after the function of ctx.%s are refused, not ignored', async (call, ask) => {
    const play = new Play(async (ctx) => ask(ctx))
    await play.begin()
    expect(play.ending).toMatchObject({
      type: 'RunFailed',
      failure: {
        code: 'INPUT_INVALID',
        message: expect.stringMatching(new RegExp(`^ctx\\.${call} expects its options before the function, but got`)),
      },
    })
  })
})
