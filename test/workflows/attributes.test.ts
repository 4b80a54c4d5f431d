// Attributes that are removed or are lists of texts, and what a run's own code sees of them.
import { type Attributes, type Engine, type RunHandle, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import { asItIs, wrapped } from '../../src/core/stores/wrapped.ts'
import { Engine as EngineOf, registryOf } from '../../src/engine.ts'
import { kinds, rejection, useStore, waitsFor } from './each-store.ts'

const go = signal('go')

const tagged = workflow('tagged', async (ctx, tags: readonly string[]) => {
  ctx.setAttributes({ tags, stage: 'new' })
  await ctx.wait(go)
  ctx.setAttributes({ stage: null, tags: [...tags, 'done'] })
  await ctx.wait(go)
  ctx.setAttributes({ tags: null, absent: null })
  return ctx.info.attributes
})

const told = workflow('told', async (ctx) => {
  const seen: Attributes[] = [ctx.info.attributes]
  ctx.setAttributes({ n: 1, due: new Date(5), tags: ['a', 'b', 'a'] })
  seen.push(ctx.info.attributes)
  await ctx.wait(go)
  ctx.setAttributes({ n: null, region: 'us' })
  seen.push(ctx.info.attributes)
  await ctx.wait(go)
  seen.push(ctx.info.attributes)
  return seen
})

async function idsBy(engine: Engine, attributes: Attributes): Promise<string[]> {
  const { items } = await engine.list({ attributes } as Parameters<Engine['list']>[0])
  return items.map(({ runId }) => runId)
}

const attributesOf = async (run: RunHandle<unknown>): Promise<Attributes> => (await run.describe()).attributes

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('api gap 8: code removes attributes and sets lists; runs are found by each text of a list', async () => {
    const engine = await bench.serve({ workflows: [tagged] }, { warm: 0 })
    const attributes = { tags: ['old'], owner: 'ops' }
    const run = await engine.start(tagged, ['a', 'b', 'a'], { attributes })
    await waitsFor(run, 'signal')
    expect(await attributesOf(run)).toEqual({ tags: ['a', 'b'], stage: 'new', owner: 'ops' })
    expect(await idsBy(engine, { tags: 'b', owner: 'ops' })).toEqual([run.runId])
    expect(await idsBy(engine, { tags: 'old' })).toEqual([])
    await run.signal(go)
    await waitsFor(run, 'signal')
    expect(await attributesOf(run)).toEqual({ tags: ['a', 'b', 'done'], owner: 'ops' })
    expect(await idsBy(engine, { stage: 'new' })).toEqual([])
    expect(await engine.count({ attributes: { tags: { gte: '' } } })).toBe(0)
    await run.signal(go)
    expect(await run.result()).toEqual({ owner: 'ops' })
    expect(await attributesOf(run)).toEqual({ owner: 'ops' })
    expect(await idsBy(engine, { tags: 'done' })).toEqual([])
  })

  test('api gap 8: ctx.info.attributes is what the run is found by, cold and warm alike', async () => {
    for (const warm of [0, 100]) {
      const engine = await bench.serve({ workflows: [told] }, { warm })
      const run = await engine.start(told, undefined, {
        attributes: { region: 'eu', at: new Date(7) },
      })
      for (let n = 0; n < 2; n++) {
        await waitsFor(run, 'signal')
        await run.signal(go)
      }
      const [first, second, third, fourth] = await run.result()
      expect(first).toEqual({ region: 'eu', at: new Date(7) })
      expect(second).toEqual({ ...first, n: 1, due: new Date(5), tags: ['a', 'b'] })
      expect(third).toEqual({ region: 'us', at: new Date(7), due: new Date(5), tags: ['a', 'b'] })
      expect(fourth).toEqual(third)
      expect(await attributesOf(run)).toEqual(third)
      await engine.close()
    }
  })

  test('api gap 8: what a run is found by goes with it when it continues, is retried, reset and forked', async () => {
    let broken = true
    const stages = workflow('stages', async (ctx, round: number): Promise<Attributes[]> => {
      const began = ctx.info.attributes
      ctx.setAttributes({ round, [`in${round}`]: true })
      if (round === 1) return ctx.continueAsNew(2)
      await ctx.run('one', () => undefined)
      ctx.setAttributes({ stage: 'two', in1: null, region: 'us' })
      await ctx.run('two', { retry: 'none' }, () => {
        if (broken) throw new Error('broken')
      })
      ctx.setAttributes({ stage: 'three', list: ['x'] })
      await ctx.run('three', () => undefined)
      return [began, ctx.info.attributes]
    })
    const engine = await bench.serve({ workflows: [stages] }, { warm: 0 })
    const run = await engine.start(stages, 1, { attributes: { region: 'eu', owner: 'ops' } })
    await rejection(run.result())
    const began = { region: 'eu', owner: 'ops', round: 1, in1: true }
    const two = { region: 'us', owner: 'ops', round: 2, in2: true, stage: 'two' }
    const three = { ...two, stage: 'three', list: ['x'] }
    expect(await attributesOf(run)).toEqual(two)
    broken = false
    await run.retry()
    expect(await run.result()).toEqual([began, three])
    expect(await attributesOf(run)).toEqual(three)

    const fork = await run.fork({ step: 'three' })
    expect(await fork.result()).toEqual([began, three])
    expect(await attributesOf(fork)).toEqual(three)
    broken = true
    const other = await run.fork({ step: 'two' })
    await rejection(other.result())
    expect(await attributesOf(other)).toEqual(two)

    await run.reset({ step: 'one' })
    await rejection(run.result())
    expect(await attributesOf(run)).toEqual(two)
    expect(await idsBy(engine, { list: 'x' })).toEqual([fork.runId])
    broken = false
    await run.retry()
    expect(await run.result()).toEqual([began, three])
  })

  test('api gap 8: children and schedules start runs with lists, which their code sees', async () => {
    const child = workflow('child', async (ctx) => ctx.info.attributes)
    const parent = workflow('parent', async (ctx) =>
      ctx.child(child, undefined, { attributes: { tags: ['of', 'parent'] } }),
    )
    const engine = await bench.serve({ workflows: [child, parent] }, { warm: 0 })
    expect(await engine.execute(parent)).toEqual({ tags: ['of', 'parent'] })
    expect(await engine.count({ workflow: child, attributes: { tags: 'parent' } })).toBe(1)
    const attributes = { tags: ['of', 'schedule'] }
    const nightly = await engine.schedules.set('nightly', {
      every: '1d',
      workflow: child,
      run: { attributes },
    })
    const run = await nightly.trigger()
    expect(await run.result()).toEqual({ ...attributes, schedule: 'nightly' })
    const wrong = { every: '1d', workflow: child, run: { attributes: { tags: null } } } as never
    expect(await rejection(engine.schedules.set('wrong', wrong))).toMatchObject(invalid('tags'))
  })
})

const old = workflow('old', async (ctx) => {
  const began = ctx.info.attributes
  await ctx.run('one', () => undefined)
  ctx.setAttributes({ stage: 'end', owner: 'me' })
  await ctx.run('two', () => undefined)
  return [began, ctx.info.attributes]
})

const invalid = (about: string) => ({
  code: 'INPUT_INVALID',
  message: expect.stringContaining(about) as string,
})

describe('what is refused', () => {
  const bench = useStore('memory')

  test('api gap 8: what cannot be an attribute, at the start and in a filter, with what to do', async () => {
    const engine = await bench.engine()
    const many = Array.from({ length: limits.attributeItemsMax + 1 }, (_, n) => `${n}`)
    const long = Array.from({ length: 9 }, (_, n) => `${n}`.repeat(1_000))
    const objects: unknown[] = [5, 'eu', null, ['eu'], new Map([['region', 'eu']])]
    const wrong: [unknown, string][] = [
      ...objects.map((given): [unknown, string] => [given, 'expected an object of attributes']),
      [{ a: null }, "attribute 'a' is null, but a new run has no attribute to remove. Leave it out."],
      [{ a: undefined }, "attribute 'a' is undefined; expected a string"],
      [{ a: {} }, "attribute 'a' is of another type"],
      [{ a: [1] }, 'Convert each value to a string'],
      [{ a: ['x', null] }, 'a list with a value that is not a string'],
      [{ a: [['x']] }, 'a list with a value that is not a string'],
      [{ a: ['x'.repeat(2_000)] }, 'has a string of 2000 bytes; expected at most 1900'],
      [{ a: ['\ud800'] }, 'has a string with a NUL or a lone surrogate'],
      [{ a: many }, `a list of 65 strings with 120 bytes; expected at most ${limits.attributeItemsMax} strings`],
      [{ a: long }, 'a list of 9 strings with 9000 bytes'],
    ]
    for (const [attributes, message] of wrong) {
      const start = engine.start(told, undefined, { attributes } as never)
      expect(await rejection(start)).toMatchObject(invalid(message))
    }
    const filters: [unknown, string][] = [
      [{ tags: ['a'] }, "attribute 'tags' is compared with a list; expected one string"],
      [{ tags: { gt: ['a'] } }, 'compared with a list'],
      [{ tags: null }, "attribute 'tags' is compared with null"],
      [{ tags: undefined }, "attribute 'tags' is undefined"],
    ]
    for (const [attributes, message] of filters) {
      expect(await rejection(engine.list({ attributes } as never))).toMatchObject(invalid(message))
    }
    expect((await engine.list({})).items).toEqual([])
    const run = await engine.start(told, undefined, { attributes: { a: [], b: many.slice(1) } })
    expect(await attributesOf(run)).toEqual({ a: [], b: many.slice(1) })
  })

  test('api gap 8: the number of attributes is limited to what the run has after a change', async () => {
    const each = <V>(prefix: string, count: number, value: V): Record<string, V> =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, value]))
    const some = (prefix: string, count: number) => each(prefix, count, 'x')
    const greedy = workflow('greedy', async (ctx) => {
      const problems: string[] = []
      const attempt = (changes: Parameters<typeof ctx.setAttributes>[0]): void => {
        try {
          ctx.setAttributes(changes)
        } catch (error) {
          problems.push((error as Error).message)
        }
      }
      for (const wrong of [null, undefined, 'eu', new Map()]) attempt(wrong as never)
      attempt(some('b', 34))
      await ctx.wait(go)
      attempt({ more: 1 })
      attempt({ ...each('a', 20, null), more: 1, ...some('c', 19) })
      attempt({ ...each('d', 65, null), c0: 'y' })
      await ctx.wait(go)
      attempt({ yetMore: 1 })
      return [problems.length, problems[4], Object.keys(ctx.info.attributes).length]
    })
    const engine = await bench.serve({ workflows: [greedy] }, { warm: 0 })
    const run = await engine.start(greedy, undefined, { attributes: some('a', 30) })
    for (let n = 0; n < 2; n++) {
      await waitsFor(run, 'signal')
      await run.signal(go)
    }
    const message = expect.stringMatching(/^a run would have 65 attributes; expected at most 64.*null/)
    expect(await run.result()).toEqual([6, message, limits.attributesMax])
    expect(Object.keys(await attributesOf(run))).toHaveLength(limits.attributesMax)
  })

  test('api gap 8: code of a run that an older release started sees what it set itself, and a reset keeps the rest', async () => {
    // What a run was started with is not in its extras.
    const memory = new MemoryStore({ clock: systemClock })
    const store = wrapped(memory, asItIs, {
      create: (runs) => memory.create(runs.map(({ extras: _, ...run }) => run)),
    })
    const world = { clock: systemClock, random: systemRandom }
    const engine = new EngineOf(store, registryOf({ workflows: [old] }), {}, world)
    engine.work({ signals: false })
    const run = await engine.start(old, undefined, { attributes: { region: 'eu', owner: 'ops' } })
    expect(await run.result()).toEqual([{}, { stage: 'end', owner: 'me' }])
    expect(await attributesOf(run)).toEqual({ region: 'eu', stage: 'end', owner: 'me' })
    await run.reset({ step: 'one' })
    expect(await run.result()).toEqual([{}, { stage: 'end', owner: 'me' }])
    expect(await attributesOf(run)).toEqual({ region: 'eu', stage: 'end', owner: 'me' })
    await engine.close()
  })

  test('api gap 8: what a scope that was cancelled meanwhile has set, the run is not found by', async () => {
    const rash = workflow('rash', async (ctx) => {
      const seen: Attributes[] = []
      await ctx.scope('s', async (scope) => {
        scope.setAttributes({ a: 1 })
        scope.cancel()
        scope.setAttributes({ b: 1 })
        seen.push(ctx.info.attributes)
      })
      await ctx.wait(go)
      return [...seen, ctx.info.attributes]
    })
    const engine = await bench.serve({ workflows: [rash] }, { warm: 0 })
    const run = await engine.start(rash)
    await waitsFor(run, 'signal')
    await run.signal(go)
    expect(await run.result()).toEqual([{}, {}])
    expect(await attributesOf(run)).toEqual({})
  })
})
