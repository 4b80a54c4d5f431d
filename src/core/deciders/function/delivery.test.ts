// How results reach suspended code: one at a time, in one order, live and replayed.
import { setImmediate as nextLoop } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { asked, completed, Play, record } from '../../../../test/workflows/replay.ts'
import { ActivityError, CancelledError, signal, TIMEOUT } from '../../../index.ts'
import type { Context } from '../../definitions/context.ts'

const go = signal<string>('go')
const nothing = (): undefined => undefined

function step(ctx: Context, name: string): Promise<unknown> {
  return ctx.run(name, nothing)
}

describe('delivery', () => {
  test('Promise.all sees results in the order they are recorded, and replays see the same', async () => {
    const seen: string[][] = []
    const code = async (ctx: Context): Promise<unknown> => {
      const order: string[] = []
      seen.push(order)
      await Promise.all(
        ['a', 'b', 'c'].map(async (name) => {
          await step(ctx, name)
          order.push(name)
          await step(ctx, `${name}2`)
          order.push(`${name}2`)
        }),
      )
      return ctx.wait(go)
    }
    const play = new Play(code)
    await play.begin()
    await play.settle([completed('step:c#1'), completed('step:a#1')])
    await play.settle([completed('step:a2#1')])
    await play.settle([completed('step:b#1'), completed('step:c2#1')])
    await play.settle([completed('step:b2#1')])
    await new Play(code, play.events).begin()
    expect(seen[0]).toEqual(['c', 'a', 'a2', 'b', 'c2', 'b2'])
    expect(seen[1]).toEqual(seen[0])
  })

  test('results that come in one turn are delivered one by one, with the code at rest between', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      const order: string[] = []
      const branch = async (name: string): Promise<void> => {
        await step(ctx, name)
        for (let depth = 0; depth < 20; depth++) await Promise.resolve()
        order.push(name)
      }
      await Promise.all([branch('a'), branch('b')])
      return order
    }
    const play = new Play(code)
    await play.begin()
    await play.settle([completed('step:b#1'), completed('step:a#1')])
    expect(play.result).toEqual(['b', 'a'])
  })

  test('a race is won by the same branch on replay, although its loser has finished since', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      const winner = await Promise.race(
        ['slow', 'fast'].map(async (name) => {
          await step(ctx, name)
          return name
        }),
      )
      await ctx.wait(go)
      return winner
    }
    const play = new Play(code)
    await play.begin()
    await play.complete('step:fast#1')
    await play.complete('step:slow#1')
    const replayed = new Play(code, play.events)
    expect(await replayed.begin()).toEqual([])
    await replayed.signal('go', '')
    expect(replayed.result).toBe('fast')
  })

  test('a result recorded before its step is asked for waits for the request', async () => {
    const v1 = async (ctx: Context): Promise<unknown> => Promise.all([step(ctx, 'a'), step(ctx, 'b')])
    const v2 = async (ctx: Context): Promise<unknown> => {
      const a = await step(ctx, 'a')
      return [a, await step(ctx, 'b')]
    }
    const play = new Play(v1)
    await play.begin()
    await play.complete('step:b#1', 'b')
    const replayed = new Play(v2, play.events)
    expect(await replayed.begin()).toEqual([])
    await replayed.complete('step:a#1', 'a')
    expect(replayed.result).toEqual(['a', 'b'])
  })

  test('a step that was begun and is not settled is attached to, never asked for again', async () => {
    const code = async (ctx: Context): Promise<unknown> => step(ctx, 'a')
    const replayed = new Play(code, await record(code, () => true))
    expect(await replayed.begin()).toEqual([])
    expect(replayed.execution.step('step:a#1')).toMatchObject({ retry: { maxAttempts: 5 } })
    await replayed.complete('step:a#1', 'late')
    expect(replayed.result).toBe('late')
  })

  test('failures arrive as errors with their data', async () => {
    const code = async (ctx: Context): Promise<unknown> =>
      step(ctx, 'a').catch((error: unknown) =>
        error instanceof ActivityError ? [error.activity, error.failure.message] : error,
      )
    const play = new Play(code)
    await play.begin()
    await play.fail('step:a#1', 'broken')
    expect(play.result).toEqual(['a', 'broken'])
  })

  test('steps that nobody awaited are not begun when the function returns', async () => {
    const play = new Play(async (ctx) => {
      void step(ctx, 'unawaited')
      void ctx.sleep('1h')
      return 'done'
    })
    expect(asked(await play.begin())).toEqual(['CompleteRun'])
    expect(play.events).toEqual([])
  })

  test('a rejected step that nobody awaits is no unhandled rejection', async () => {
    const play = new Play(async (ctx) => {
      void step(ctx, 'left')
      await step(ctx, 'kept')
      return 'done'
    })
    await play.begin()
    await play.fail('step:left#1')
    await nextLoop()
    await play.complete('step:kept#1')
    expect(play.result).toBe('done')
  })

  test('a thousand deliveries let the process breathe, and come out right', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      let sum = 0
      for (let n = 0; n < 1_000; n++) sum += String(await step(ctx, 'n')).length > 0 ? 1 : 0
      await ctx.wait(go)
      return sum
    }
    const play = new Play(code, await record(code))
    expect(await play.begin()).toEqual([])
    await play.signal('go', '')
    expect(play.result).toBe(1_000)
  })

  test('time stands at the last thing that happened, and never goes back', async () => {
    const times: number[] = []
    const code = async (ctx: Context): Promise<unknown> => {
      times.push(ctx.now())
      await step(ctx, 'a')
      times.push(ctx.now())
      await ctx.wait(go)
      times.push(ctx.now())
      return ctx.wait(go)
    }
    const play = new Play(code)
    await play.begin()
    play.now += 10
    await play.signal('go', 'early')
    play.now += 10
    await play.complete('step:a#1')
    expect(times).toEqual([1_000, 1_020, 1_020])
    await new Play(code, play.events).begin()
    expect(times.slice(3)).toEqual([1_000, 1_020, 1_020])
  })
})

describe('signals and time-outs', () => {
  const patient = async (ctx: Context): Promise<unknown> => {
    const first = await ctx.wait(go, { timeout: '1s' })
    const second = await ctx.wait(go, { timeout: '1s' })
    return [first, second].map((each) => (each === TIMEOUT ? 'TIMEOUT' : each))
  }

  test('at the same moment the signal wins, and the time-out is gone', async () => {
    const play = new Play(patient)
    await play.begin()
    play.now += 1_000
    await play.signal('go', 'just in time')
    await play.pass(1_000)
    expect(play.result).toEqual(['just in time', 'TIMEOUT'])
  })

  test('a signal after the time-out is for the next wait, on replay as well', async () => {
    const play = new Play(patient)
    await play.begin()
    await play.pass(1_000)
    await play.signal('go', 'late')
    expect(play.result).toEqual(['TIMEOUT', 'late'])
    const replayed = new Play(patient, play.events)
    await replayed.begin()
    expect(replayed.result).toEqual(['TIMEOUT', 'late'])
  })

  test('signals that came first are taken in order by waits made later', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      await step(ctx, 'a')
      return [await ctx.wait(go), await ctx.wait(go)]
    }
    const play = new Play(code)
    await play.begin()
    await play.meanwhile([play.signalMessage('go', 1), play.signalMessage('go', 2)])
    await play.complete('step:a#1')
    expect(play.result).toEqual([1, 2])
  })

  test('a wait that lost a race takes the next signal all the same: it is first in line', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      const first = await Promise.race([ctx.wait(go), step(ctx, 'a')])
      return [first, await ctx.wait(go)]
    }
    const play = new Play(code)
    await play.begin()
    await play.complete('step:a#1', 'a')
    await play.signal('go', 'to the loser')
    expect(play.ending).toBeUndefined()
    await play.signal('go', 'to the next')
    expect(play.result).toEqual(['a', 'to the next'])
  })

  test('timers due together fire in the order they were asked for', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      const order: number[] = []
      const nap = async (n: number): Promise<void> => {
        await ctx.sleep('1s')
        order.push(n)
      }
      await Promise.all([nap(1), nap(2), nap(3)])
      return order
    }
    const play = new Play(code)
    await play.begin()
    await play.pass(5_000)
    expect(play.result).toEqual([1, 2, 3])
  })
})

describe('cancellation', () => {
  test('reaches open requests one by one, in the order they were made, and every later one', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      const order: string[] = []
      const branch = (name: string, promise: Promise<unknown>): Promise<unknown> =>
        promise.catch(async (error: unknown) => {
          for (let depth = 0; depth < 10; depth++) await Promise.resolve()
          order.push(`${name} ${(error as CancelledError).reason}`)
        })
      await Promise.all([
        branch('step', step(ctx, 'a')),
        branch('sleep', ctx.sleep('1h')),
        branch('wait', ctx.wait(go)),
      ])
      await branch('later', step(ctx, 'b'))
      return order
    }
    const play = new Play(code)
    await play.begin()
    await play.cancel('stop')
    const expected = ['step stop', 'sleep stop', 'wait stop', 'later stop']
    expect(play.result).toEqual(expected)
    const replayed = new Play(code, play.events)
    await replayed.begin()
    expect(replayed.result).toEqual(expected)
  })

  test('that comes with a result: the result first, because it was recorded first', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      const a = await step(ctx, 'a')
      return step(ctx, 'b').catch(() => a)
    }
    const play = new Play(code)
    await play.begin()
    await play.complete('step:a#1', 'kept')
    await play.cancel()
    expect(play.result).toBe('kept')
  })

  test('ends the run as cancelled if the code lets it through', async () => {
    const play = new Play(async (ctx) => ctx.wait(go))
    await play.begin()
    await play.cancel('why not')
    expect(play.ending).toEqual({ type: 'RunCancelled', reason: 'why not' })
  })

  test('an error of the same class that the code made itself is a failure', async () => {
    const play = new Play(async () => {
      throw new CancelledError('mine')
    })
    await play.begin()
    expect(play.ending).toMatchObject({ type: 'RunFailed', failure: { type: 'CancelledError' } })
  })
})
