// ctx.saga: what was done is undone when it does not come to a good end, newest first, whatever happens meanwhile.
import {
  activity,
  CancelledError,
  type Context,
  PermanentError,
  RunError,
  type RunHandle,
  signal,
  workflow,
} from 'pawl'
import { testEngine } from 'pawl/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { using, ways } from '../graphs/support.ts'
import { Gate, historyOf, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal('go')
const log: string[] = []
beforeEach(() => {
  log.length = 0
})

/** A step that can be undone: both say so. */
async function done(
  ctx: Context & { compensate(undo: (ctx: Context) => Promise<unknown>): void },
  name: string,
  undoes: () => unknown = () => {},
): Promise<string> {
  const result = await ctx.run(name, () => {
    log.push(name)
    return name
  })
  ctx.compensate((undo) =>
    undo.run(`undo ${name}`, async () => {
      log.push(`undo ${name}`)
      await undoes()
    }),
  )
  return result
}

const no = (): never => {
  throw new PermanentError('no')
}

/** Three steps that are undone, and one that fails. */
const trip = workflow('trip', (ctx, undoes: 'well' | 'badly') =>
  ctx.saga(async (saga) => {
    await done(saga, 'flight')
    await done(saga, 'hotel', () => {
      if (undoes === 'badly') throw new PermanentError('the hotel does not answer')
    })
    await done(saga, 'car')
    await saga.run('pay', { retry: 'none' }, no)
  }),
)

const waiting = workflow('waiting', (ctx) =>
  ctx.saga(async (saga) => {
    await done(saga, 'flight')
    await done(saga, 'hotel')
    await saga.wait(go)
    return 'booked'
  }),
)

const nested = workflow('nested', (ctx) =>
  ctx.saga(async (outer) => {
    await done(outer, 'a')
    const inner = await outer
      .saga(async (saga) => {
        await done(saga, 'b')
        await saga.run('fails', { retry: 'none' }, no)
      })
      .catch(() => 'undone')
    await done(outer, 'c')
    await outer.run('fails', { retry: 'none' }, no)
    return inner
  }),
)

const mapped = workflow('mapped', (ctx) =>
  ctx.map(['x', 'y', 'z'], { key: (item) => item, tolerate: 1 }, (each, item) =>
    each.saga(async (saga) => {
      await done(saga, item)
      if (item === 'y') await saga.run('fails', { retry: 'none' }, no)
      return item
    }),
  ),
)

/** A saga that loses a race: the winner ends the run, but not before all is undone. */
const racing = workflow('racing', async (ctx) => {
  const { winner } = await ctx.race({
    booking: (branch) =>
      branch.saga(async (saga) => {
        await done(saga, 'flight')
        await saga.wait(go)
      }),
    time: (branch) => branch.sleep('20ms'),
  })
  return winner
})

/** It catches what its saga failed with, and goes on. */
const forgiving = workflow('forgiving', async (ctx) => {
  const first = await ctx
    .saga(async (saga) => {
      await done(saga, 'flight')
      await saga.run('pay', { retry: 'none' }, no)
      return 'flown'
    })
    .catch(() => 'stayed')
  await ctx.wait(go)
  return first
})

const successful = workflow('successful', async (ctx) => {
  const booked = await ctx.saga(async (saga) => [await done(saga, 'a'), await done(saga, 'b')])
  await ctx.run('after', { retry: 'none' }, no)
  return booked
})

const all = [trip, waiting, nested, mapped, racing, forgiving, successful]

const undone = async (run: RunHandle<unknown>): Promise<string[]> => {
  const entries = await historyOf(run)
  return entries.flatMap(({ type, step = '' }) =>
    type === 'StepCompleted' && step.includes('undo') ? [step.replace(/^.*step:undo /, '')] : [],
  )
}

describe.each(ways)('%s', (_, alwaysReplay) => {
  test('R7: what was done is undone newest first, and the error goes on as it was', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const run = await engine.start(trip, 'well')
      const error = await rejection(run.result())
      expect(error).toBeInstanceOf(RunError)
      const { failure, compensationFailures } = error as RunError
      expect([failure.type, failure.cause?.message]).toEqual(['ActivityError', 'no'])
      expect(compensationFailures).toEqual([])
      expect(log).toEqual(['flight', 'hotel', 'car', 'undo car', 'undo hotel', 'undo flight'])
      const types = (await historyOf(run)).map(({ type }) => type)
      expect(types.slice(types.indexOf('CompensationBegan'))).toEqual([
        'CompensationBegan',
        ...['car', 'hotel', 'flight'].flatMap(() => ['StepStarted', 'StepCompleted']),
        'RunFailed',
      ])
    }))

  test('R7: what cannot be undone stops nobody, and the run says so', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const run = await engine.start(trip, 'badly')
      const { compensationFailures } = (await rejection(run.result())) as RunError
      expect(compensationFailures.map(({ cause }) => cause?.message)).toEqual(['the hotel does not answer'])
      expect(log.slice(3)).toEqual(['undo car', 'undo hotel', 'undo flight'])
      expect((await run.describe()).compensationFailures).toEqual(compensationFailures)
    }))

  test('R7: a cancelled saga undoes what it did; then the run is cancelled', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const run = await engine.start(waiting)
      await engine.idle()
      await run.cancel('changed my mind')
      expect(await rejection(run.result())).toBeInstanceOf(CancelledError)
      expect(await run.describe()).toMatchObject({ status: 'cancelled' })
      expect(log).toEqual(['flight', 'hotel', 'undo hotel', 'undo flight'])
    }))

  test('R7: a saga that comes to a good end is not undone by what fails after it', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const run = await engine.start(successful)
      await rejection(run.result())
      expect(log).toEqual(['a', 'b'])
      const fine = await engine.start(waiting)
      await fine.signal(go)
      expect(await fine.result()).toBe('booked')
    }))

  test('R7: the inner saga undoes its own, the outer one the rest', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const run = await engine.start(nested)
      await rejection(run.result())
      expect(log).toEqual(['a', 'b', 'undo b', 'c', 'undo c', 'undo a'])
    }))

  test('R7: each item of a map has a saga of its own', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const results = await engine.execute(mapped)
      expect(results.map(({ ok }) => ok)).toEqual([true, false, true])
      expect(log.filter((each) => each.startsWith('undo'))).toEqual(['undo y'])
    }))

  test('R7: a saga that loses a race has undone what it did before the run ends', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const run = await engine.start(racing)
      expect(await run.result()).toBe('time')
      expect(log).toEqual(['flight', 'undo flight'])
      const types = (await historyOf(run)).map(({ type }) => type)
      expect(types.slice(-2)).toEqual(['StepCompleted', 'RunCompleted'])
      expect(await undone(run)).toEqual(['flight#1'])
    }))

  test('R7: who catches the error goes on', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const run = await engine.start(forgiving)
      await engine.idle()
      expect(await run.describe()).toMatchObject({ status: 'waiting' })
      expect(log).toEqual(['flight', 'undo flight'])
      await run.signal(go)
      expect(await run.result()).toBe('stayed')
      expect((await run.describe()).compensationFailures).toBeUndefined()
    }))

  test('R7: a cancellation while it undoes changes nothing about that', () =>
    using([], { alwaysReplay }, async () => {
      let failing = true
      const stubborn = workflow('stubborn', (ctx) =>
        ctx.saga(async (saga) => {
          await saga.run('a', () => 'a')
          const retry = { maxAttempts: 100, initial: '1m', factor: 1 } as const
          saga.compensate((undo) =>
            undo.run('undo a', { retry }, () => {
              log.push('undo a')
              if (failing) throw new Error('not now')
            }),
          )
          await saga.run('b', { retry: 'none' }, no)
        }),
      )
      const engine = await testEngine({ workflows: [stubborn], alwaysReplay })
      const run = await engine.start(stubborn)
      await engine.clock.advance('90s')
      expect(await run.describe()).toMatchObject({ status: 'compensating' })
      await run.cancel()
      await engine.clock.advance('1m')
      failing = false
      await rejection(run.result())
      expect(await undone(run)).toEqual(['a#1'])
      await engine.close()
    }))

  test('R7: a crash before or after any turn leaves each undone once, in order', async () => {
    for (const [definition, steps] of [
      [trip, ['car#1', 'hotel#1', 'flight#1']],
      [racing, ['flight#1']],
      [nested, ['b#1', 'c#1', 'a#1']],
    ] as const) {
      await using(all, { alwaysReplay }, async (engine) => {
        for (let crash = 0; ; crash++) {
          const [turn, when] = [(crash >> 1) + 1, crash % 2 === 0 ? 'before' : 'after'] as const
          const met = engine.crashAtTurn(turn, when)
          const run = await engine.start(definition as typeof trip, 'well')
          await run.result().catch(() => {})
          expect(await undone(run)).toEqual(steps)
          if (met()) continue
          expect(crash).toBeGreaterThan(4)
          break
        }
      })
    }
  })

  test('V9: a retry of what a saga has undone is refused with advice; a reset to before it does all again', () =>
    using(all, { alwaysReplay }, async (engine) => {
      const run = await engine.start(trip, 'well')
      await rejection(run.result())
      log.length = 0
      const error = (await rejection(run.retry())) as Error
      expect(error).toMatchObject({ code: 'NOT_SUPPORTED' })
      const step = /Reset the run to the first step of the saga instead: '(.*)'/.exec(error.message)?.[1] ?? ''
      expect(step).toBe('saga#1/step:flight#1')
      await run.reset({ step })
      await rejection(run.result())
      expect(log).toEqual(['flight', 'hotel', 'car', 'undo car', 'undo hotel', 'undo flight'])
    }))
})

describe.each(ways)('%s, beside others', (_, alwaysReplay) => {
  const seen = new Set<string>()
  const noted = (text: string) => (): void => void seen.add(text)

  test('R7: what is done beside a failure, after it, is undone, too', async () => {
    seen.clear()
    const definition = workflow('beside', async (ctx) => {
      const saga = ctx.saga(async (inner) => {
        const slow = async () => {
          await inner.sleep('10s')
          await inner.run('slow', noted('slow'))
          inner.compensate((undo) => undo.run('undo slow', noted('undo slow')))
        }
        const fails = inner.run('fails', { retry: 'none' }, () => {
          throw new Error('no')
        })
        await Promise.all([slow(), fails])
      })
      await saga.catch(() => {})
      await ctx.sleep('1m')
    })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await run.result()
      expect([...seen]).toEqual(['slow', 'undo slow'])
    })
  })

  test('R7: a saga that continues as new has not failed', async () => {
    seen.clear()
    const definition = workflow('rounds', async (ctx, round: number): Promise<number> => {
      await ctx.saga(async (inner) => {
        await inner.run('work', noted(`work ${round}`))
        inner.compensate((undo) => undo.run('undo', noted(`undo ${round}`)))
        if (round < 2) ctx.continueAsNew(round + 1)
      })
      return round
    })
    await using([definition], { alwaysReplay }, async (engine) => {
      expect(await engine.execute(definition, 1)).toBe(2)
      expect([...seen]).toEqual(['work 1', 'work 2'])
    })
  })
})

describe.each(['memory', 'sqlite', 'postgres', 'file', 's3'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('Q1: a run that undoes what it did is compensating, and is found by that; afterwards it is not', async () => {
    const gate = new Gate()
    const undo = activity('undo', () => gate.opened)
    const slow = workflow('slow', async (ctx, caught: boolean) => {
      const saga = ctx.saga(async (inner) => {
        await inner.run('a', () => 'a')
        inner.compensate((undoing) => undoing.run(undo))
        await inner.run('b', { retry: 'none' }, no)
      })
      if (!caught) return saga
      await saga.catch(() => {})
      await ctx.wait(go)
    })
    const engine = await bench.serve({ workflows: [slow], activities: [undo] })
    const [run, other] = [await engine.start(slow, false), await engine.start(slow, true)]
    for (const each of [run, other])
      await until(
        () => each.describe(),
        ({ status }) => status === 'compensating',
      )
    const found = async () => (await engine.list({ status: 'compensating' })).items.map(({ runId }) => runId).toSorted()
    await until(found, (ids) => ids.length === 2)
    expect(await found()).toEqual([run.runId, other.runId].toSorted())
    expect(await engine.count({ status: ['waiting', 'running'] })).toBe(0)
    gate.open()
    await rejection(run.result())
    await waitsFor(other, 'signal')
    expect((await other.describe()).status).toBe('waiting')
    expect((await run.describe()).status).toBe('failed')
    expect(await engine.count({ status: 'compensating' })).toBe(0)
    await other.signal(go)
    await other.result()
  })
})
