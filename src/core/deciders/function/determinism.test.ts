// Changed code on old histories: the rules of step identity, on the decider alone.
import { describe, expect, test } from 'vitest'
import { asked, Play, record } from '../../../../test/workflows/replay.ts'
import { activity, signal, workflow } from '../../../index.ts'
import { digestPayload } from '../../base/digest.ts'
import { PawlError } from '../../base/errors.ts'
import type { Context } from '../../definitions/context.ts'
import type { HistoryEvent } from '../../kernel/event.ts'

const go = signal('go')
const ship = activity('ship', async (item: string) => item)
const nothing = (): undefined => undefined

function step(ctx: Context, name: string, options = {}): Promise<unknown> {
  return ctx.run(name, options, nothing)
}

/** Runs code on a history and gives the error it parks with. */
async function parks(play: Play): Promise<PawlError> {
  const error = await play.begin().then(nothing, (thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PawlError)
  return error as PawlError
}

describe('worked example 1: a step inserted before the wait a run sits in', () => {
  const v1 = async (ctx: Context): Promise<unknown> => {
    await step(ctx, 'a')
    return ctx.wait(go)
  }
  const v2 = async (ctx: Context): Promise<unknown> => {
    await step(ctx, 'a')
    await step(ctx, 'n')
    return ctx.wait(go)
  }

  test('simply runs, and then the recorded wait goes on', async () => {
    const play = new Play(v2, await record(v1))
    expect(asked(await play.begin())).toEqual(['step:n#1'])
    await play.signal('go')
    expect(await play.complete('step:n#1')).toMatchObject([{ type: 'CompleteRun' }])
  })

  test('is not marked as past', async () => {
    const play = new Play(v2, await record(v1))
    expect((await play.begin())[0]).not.toHaveProperty('past')
  })
})

describe('worked example 2: a step inserted before a completed effect', () => {
  const v1 = async (ctx: Context): Promise<unknown> => {
    for (const name of ['a', 'b', 'c']) await step(ctx, name)
    return ctx.wait(go)
  }
  const inserted =
    (options: object) =>
    async (ctx: Context): Promise<unknown> => {
      await step(ctx, 'a')
      await step(ctx, 'n', options)
      const b = await step(ctx, 'b')
      await step(ctx, 'c')
      await ctx.wait(go)
      return b
    }

  test('parks the run, and the difference can be read', async () => {
    const error = await parks(new Play(inserted({}), await record(v1)))
    expect(error.code).toBe('DETERMINISM')
    expect(error.message).toContain("the code of workflow 'test' does not fit this run's history")
    expect(error.message).toMatch(/recorded: +#3 step:b#1/)
    expect(error.message).toMatch(/requested: step:n#1/)
    expect(error.message).toMatch(/was:[\s\S]*ifPast:[\s\S]*key:/)
    expect(error.details).toEqual({
      recorded: ['#3 step:b#1', '#5 step:c#1'],
      requested: ['step:n#1'],
    })
  })

  test('writes nothing to history when it parks', async () => {
    const past = await record(v1)
    const play = new Play(inserted({}), past)
    await parks(play)
    expect(play.events).toEqual(past)
    await expect(play.begin()).rejects.toThrow('does not fit')
  })

  test("runs with ifPast: 'run', marked past, and every replay gives the same order", async () => {
    const code = inserted({ ifPast: 'run' })
    const play = new Play(code, await record(v1))
    expect(await play.begin()).toMatchObject([{ key: 'step:n#1', past: true }])
    expect(await play.complete('step:n#1', 'new')).toEqual([])
    const replayed = new Play(code, play.events)
    expect(await replayed.begin()).toEqual([])
    await replayed.signal('go')
    expect(replayed.result).toBe('result of step:b#1')
  })

  test("runs with ifPast: 'run' for the whole workflow", async () => {
    const play = new Play(inserted({}), await record(v1), { ifPast: 'run' })
    expect(await play.begin()).toMatchObject([{ key: 'step:n#1', past: true }])
  })

  test('a past step cannot carry the position over a renamed one', async () => {
    const v3 = async (ctx: Context): Promise<unknown> => {
      await step(ctx, 'a')
      await step(ctx, 'n', { ifPast: 'run' })
      return step(ctx, 'renamed b')
    }
    const play = new Play(v3, await record(v1))
    await play.begin()
    await expect(play.complete('step:n#1')).rejects.toMatchObject({ code: 'DETERMINISM' })
  })

  test('timers, waits and side effects that are inserted run without asking', async () => {
    const v3 = async (ctx: Context): Promise<unknown> => {
      await step(ctx, 'a')
      await Promise.all([ctx.sleep('1s'), ctx.wait(go), ctx.sideEffect(nothing)])
      return step(ctx, 'b')
    }
    const play = new Play(v3, await record(v1))
    const commands = await play.begin()
    expect(asked(commands)).toEqual(['sleep:sleep#1', 'sideEffect:sideEffect#1'])
    expect(commands.every((each) => 'past' in each)).toBe(true)
  })
})

describe('worked example 3: a rename', () => {
  const v1 = async (ctx: Context): Promise<unknown> => {
    await step(ctx, 'a')
    await step(ctx, 'charge')
    return ctx.wait(go)
  }
  const renamed =
    (options: object) =>
    async (ctx: Context): Promise<unknown> => {
      await step(ctx, 'a')
      const charged = await step(ctx, 'chargeCard', options)
      await ctx.wait(go)
      return charged
    }

  test('parks instead of charging twice', async () => {
    const error = await parks(new Play(renamed({}), await record(v1)))
    expect(error.message).toMatch(/step:chargeCard#1, which this run never recorded/)
  })

  test('says how to write `was` in this call, and what else may be the cause', async () => {
    const { message } = await parks(new Play(renamed({}), await record(v1)))
    expect(message).toContain("ctx.run('chargeCard', { was: 'old name' }, fn)")
    expect(message).toContain('If you did not change the code')
    expect(message).toContain('ctx.sideEffect')
    const shipped = async (ctx: Context): Promise<unknown> => ctx.run(ship, 'x').then(() => ctx.wait(go))
    const play = new Play(
      async (ctx) =>
        ctx.run(
          activity('send', async (item: string) => item),
          'x',
        ),
      await record(shipped),
    )
    expect((await parks(play)).message).toContain("ctx.run(step, input, { was: 'old name' })")
  })

  test('goes on with `was`, and again on the next replay', async () => {
    const code = renamed({ was: 'charge' })
    const play = new Play(code, await record(v1))
    expect(await play.begin()).toEqual([])
    await play.signal('go')
    expect(play.result).toBe('result of step:charge#1')
  })

  test('a run begun by the new code is recorded under the new name', async () => {
    const events = await record(renamed({ was: 'charge' }))
    expect(events.map((each) => ('key' in each ? each.key : each.type))).toContain('step:chargeCard#1')
    const replayed = new Play(renamed({ was: 'charge' }), events)
    expect(await replayed.begin()).toEqual([])
  })

  test('of an activity or a child works alike', async () => {
    const old = workflow('old child', async (_ctx, n: number) => n)
    const renamedChild = workflow('new child', async (_ctx, n: number) => n)
    const before = async (ctx: Context): Promise<unknown> => ctx.child(old, 1)
    const after = async (ctx: Context): Promise<unknown> => ctx.child(renamedChild, 1, { was: 'old child' })
    const past = await record(before)
    expect(await new Play(after, past).begin()).toEqual([])
    const without = async (ctx: Context): Promise<unknown> => ctx.child(renamedChild, 1)
    await expect(new Play(without, past).begin()).rejects.toMatchObject({ code: 'DETERMINISM' })
  })
})

test('worked example 4: a removed step is ignored, and what follows runs', async () => {
  const v1 = async (ctx: Context): Promise<unknown> => {
    await step(ctx, 'a')
    await step(ctx, 'b')
    await ctx.wait(go)
    return step(ctx, 'c')
  }
  const v2 = async (ctx: Context): Promise<unknown> => {
    await step(ctx, 'a')
    await ctx.wait(go)
    return step(ctx, 'c')
  }
  const play = new Play(v2, await record(v1))
  expect(await play.begin()).toEqual([])
  expect(await play.signal('go')).toMatchObject([{ key: 'step:c#1' }])
  expect((await play.complete('step:c#1', 'c'))[0]).toMatchObject({ type: 'CompleteRun' })
})

test('worked example 5: a branch added to Promise.all runs, and old results keep their order', async () => {
  const order: string[] = []
  const note = async (name: string, promise: Promise<unknown>): Promise<void> => {
    await promise
    order.push(name)
  }
  const v1 = async (ctx: Context): Promise<unknown> => Promise.all([step(ctx, 'x'), step(ctx, 'y')])
  const v2 = async (ctx: Context): Promise<unknown> =>
    Promise.all(['n', 'x', 'y'].map((name) => note(name, step(ctx, name))))
  const play = new Play(v2, await record(v1, (key) => key === 'step:y#1'))
  expect(await play.begin()).toMatchObject([{ key: 'step:n#1' }])
  await play.complete('step:y#1')
  await play.complete('step:n#1')
  expect(order).toEqual(['x', 'y', 'n'])
  expect(play.ending?.type).toBe('RunCompleted')
})

describe('worked example 6: a loop of one activity', () => {
  const loop =
    (items: readonly string[], keyed: boolean, ifPast?: 'run') =>
    async (ctx: Context): Promise<unknown> => {
      const done: unknown[] = []
      for (const item of items) {
        const options = { ...(keyed && { key: item }), ...(ifPast && { ifPast }) }
        done.push(await ctx.run(ship, item, options))
      }
      await ctx.wait(go)
      return done
    }

  test('in another order is a determinism error with both inputs', async () => {
    const past = await record(loop(['pear', 'apple'], false))
    const error = await parks(new Play(loop(['apple', 'pear'], false), past))
    expect(error.code).toBe('DETERMINISM')
    expect(error.message).toMatch(/recorded: +#1 activity:ship#1 "pear"/)
    expect(error.message).toMatch(/requested: activity:ship#1 "apple"/)
    expect(error.message).toMatch(/may belong to another item/)
  })

  test('with keys finds each result in any order, and forgets removed items', async () => {
    const past = await record(loop(['pear', 'apple', 'fig'], true))
    const play = new Play(loop(['fig', 'pear'], true), past)
    expect(await play.begin()).toEqual([])
    await play.signal('go')
    expect(play.result).toEqual(['result of [fig]', 'result of [pear]'])
  })

  test('with keys: an item added at the end is new, one in between is past', async () => {
    const past = await record(loop(['pear', 'apple'], true))
    const atEnd = new Play(loop(['pear', 'apple', 'fig'], true), past)
    expect(await atEnd.begin()).toMatchObject([{ key: '[fig]' }])
    await parks(new Play(loop(['pear', 'fig', 'apple'], true), past))
    const allowed = new Play(loop(['pear', 'fig', 'apple'], true, 'run'), past)
    expect(await allowed.begin()).toMatchObject([{ key: '[fig]', past: true }])
  })

  test('that had one item and now has two with another first is a determinism error', async () => {
    const past = await record(loop(['pear'], false))
    const error = await parks(new Play(loop(['apple', 'pear'], false), past))
    expect(error.message).toMatch(/activity:ship#1 "pear"[\s\S]*"apple"/)
  })
})

describe('inputs', () => {
  const once =
    (item: string, key?: string) =>
    async (ctx: Context): Promise<unknown> => {
      const shipped = await ctx.run(ship, item, key === undefined ? {} : { key })
      await ctx.wait(go)
      return shipped
    }

  test('of a step whose name occurs once may change: the recorded result stands', async () => {
    const play = new Play(once('apple'), await record(once('pear')))
    expect(await play.begin()).toEqual([])
    await play.signal('go')
    expect(play.result).toBe('result of activity:ship#1')
  })

  test('of a step with a key may change too', async () => {
    const play = new Play(once('apple', 'the one'), await record(once('pear', 'the one')))
    expect(await play.begin()).toEqual([])
  })

  test('are compared by digest: notes count, and so does the order of properties', () => {
    const digests = [
      { json: { a: 1, b: 2 } },
      { json: { b: 2, a: 1 } },
      { json: null },
      { json: null, notes: [['undefined']] as const },
    ].map(digestPayload)
    expect(new Set(digests).size).toBe(4)
    expect(digestPayload({ json: { a: 1, b: 2 } })).toBe(digests[0])
  })

  test('a recorded deadline stands, whatever today’s code says', async () => {
    const nap = (ms: number) => async (ctx: Context) => ctx.sleep(ms)
    const play = new Play(nap(1), await record(nap(60_000)))
    await play.begin()
    await play.pass(59_999)
    expect(play.ending).toBeUndefined()
    await play.pass(1)
    expect(play.ending?.type).toBe('RunCompleted')
  })
})

describe('explicit keys', () => {
  const past = async (): Promise<HistoryEvent[]> =>
    record(async (ctx) => {
      await ctx.run('pack', { key: 'k' }, nothing)
      return ctx.wait(go)
    })

  test.each<[string, (ctx: Context) => Promise<unknown>]>([
    ['another kind', (ctx) => ctx.run(ship, 'x', { key: 'k' })],
    ['another name', (ctx) => ctx.run('unpack', { key: 'k' }, nothing)],
    ['a timer', (ctx) => ctx.sleep('1s', { key: 'k' })],
    ['a wait', (ctx) => ctx.wait(go, { key: 'k' })],
  ])('that now mean %s are a determinism error', async (_what, code) => {
    const error = await parks(new Play(code, await past()))
    expect(error).toMatchObject({ code: 'DETERMINISM' })
    expect(error.message).toMatch(/the key \[k\] was recorded as #1 \[k\]/)
  })

  test('with `was` may name a step by another name', async () => {
    const code = async (ctx: Context): Promise<unknown> => {
      await ctx.run('unpack', { key: 'k', was: 'pack' }, nothing)
      return ctx.wait(go)
    }
    expect(await new Play(code, await past()).begin()).toEqual([])
  })

  test('must be unique, and the error says so at once', async () => {
    const error = await parks(
      new Play(
        async (ctx) => {
          await step(ctx, 'a', { key: 'same' })
          return step(ctx, 'b', { key: 'same' })
        },
        await record(async (ctx) => step(ctx, 'a', { key: 'same' })),
      ),
    )
    expect(error).toMatchObject({ code: 'DUPLICATE_STEP_KEY' })
    expect(error.message).toContain("'[same]'")
  })

  test('with characters of the key’s own grammar cannot be taken for others', async () => {
    const code = async (ctx: Context): Promise<unknown> =>
      Promise.all([step(ctx, 'a#1'), step(ctx, 'a', { key: 'step:a#1' }), step(ctx, '[a]'), step(ctx, 'a')])
    const keys = asked(await new Play(code).begin())
    expect(keys).toEqual(['step:a%231#1', '[step%3Aa%231]', 'step:%5Ba%5D#1', 'step:a#1'])
  })
})
