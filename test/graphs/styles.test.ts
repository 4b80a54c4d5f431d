// Each style can call the others, and going back works in graphs as it does in functions.
import {
  activity,
  type Engine,
  graph,
  machine,
  PermanentError,
  type RunHandle,
  signal,
  typed,
  type Workflow,
  workflow,
} from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, until, useStore, waitsFor } from '../workflows/each-store.ts'
import { eventsOf, using, ways } from './support.ts'

const double = activity('double', async (value: number) => value * 2)
const more = signal<number>('more')

/** Waits for a number and doubles it. */
const doubling = machine('doubling', {
  input: typed<number>(),
  state: typed<{ at: 'waiting' | 'doubling'; sum: number }>(),
  output: typed<number>(),
  activities: { double },
  signals: { more },
}).on({
  start: (sum, act) => [{ at: 'doubling', sum }, act.run('double', sum)],
  activityCompleted: {
    double: (state, { result }, act) =>
      result >= 100 ? [state, act.complete(result)] : [{ at: 'waiting', sum: result }],
  },
  signal: {
    more: ({ sum }, value, act) => [{ at: 'doubling', sum: sum + value }, act.run('double', sum + value)],
  },
})

const counting = workflow('counting', async (ctx, from: number) => {
  const doubled = await ctx.child(doubling, from, { workflowId: 'the-machine' })
  return ctx.run('plus one', () => doubled + 1)
})

const inner = graph<{ value: number }>('inner')
  .run('count', {}, counting, ({ input }) => input.value)
  .output(({ results }) => ({ counted: results.count }))

const outer = graph<{ value: number }>('outer')
  .step('first', ({ input }) => input.value + 1)
  .run('inner', { after: ['first'] }, inner, ({ results }) => ({ value: results.first }))
  .step('last', { after: ['inner'] }, ({ results }) => `counted ${results.inner.counted}`)
  .output(({ results }) => results.last)

const fromFunction = workflow('from function', (ctx, value: number) => ctx.child(outer, { value }))

/** Once there is one. */
async function theMachine(engine: Engine): Promise<RunHandle<unknown>> {
  await until(
    () => engine.count({ workflow: doubling }),
    (count) => count > 0,
  )
  return engine.get({ workflowId: 'the-machine' })
}

const all = { workflows: [fromFunction, outer, inner, counting, doubling], activities: [double] }

describe.each(kinds.filter((kind) => ['memory', 'sqlite', 'postgres', 'file'].includes(kind)))('on %s', (kind) => {
  const bench = useStore(kind)

  test('A1, A3: a function has a graph for a child, that a graph, that a function, and that a machine', async () => {
    const engine = await bench.serve(all)
    const run = await engine.start(fromFunction, 4)
    await waitsFor(run, 'child')
    const inside = await theMachine(engine)
    await waitsFor(inside, 'signal')
    await inside.signal(more, 40)
    expect(await run.result()).toBe('counted 101')
  })

  test('R24: cancelling the outermost cancels all of them', async () => {
    const engine = await bench.serve(all)
    const run = await engine.start(fromFunction, 4)
    await waitsFor(run, 'child')
    const inside = await theMachine(engine)
    await waitsFor(inside, 'signal')
    await run.cancel('enough')
    await expect(run.result()).rejects.toThrow('enough')
    await expect(inside.result()).rejects.toThrow('cancelled')
  })
})

describe.each(ways)('%s', (_, alwaysReplay) => {
  const log: string[] = []
  const noted =
    (name: string, works = () => true) =>
    (): string => {
      log.push(name)
      if (!works()) throw new PermanentError(`${name} failed`)
      return name.toUpperCase()
    }

  test('V9: a failed child of a graph is started anew when the graph is tried again', async () => {
    log.length = 0
    let works = false
    const child = workflow('child', (ctx) =>
      ctx.run(
        'work',
        noted('work', () => works),
      ),
    )
    const definition = graph('parent')
      .step('before', noted('before'))
      .run('sub', { after: ['before'] }, child, () => undefined)
    await using([definition, child], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('work failed')
      works = true
      await run.retry()
      expect(await run.result()).toEqual({ before: 'BEFORE', sub: 'WORK' })
      expect(log).toEqual(['before', 'work', 'work'])
    })
  })

  test('V9: reset does a step and all that was begun after it once more', async () => {
    log.length = 0
    const definition = graph('resettable')
      .step('a', noted('a'))
      .step('b', { after: ['a'] }, noted('b'))
      .each('c', { after: ['b'], over: () => [1, 2] }, noted('c'))
      .step('d', { after: ['c'] }, noted('d'))
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await run.result()
      await run.reset({ step: 'c' })
      expect(await run.result()).toEqual({ a: 'A', b: 'B', c: ['C', 'C'], d: 'D' })
      expect(log).toEqual(['a', 'b', 'c', 'c', 'd', 'c', 'c', 'd'])
      await expect(run.reset({ step: 'z' })).rejects.toThrow("no step 'z' was begun")
    })
  })

  test('V9: a failed item of a list is done again, and the others are not', async () => {
    log.length = 0
    let works = false
    const definition = graph('list').each('items', { over: () => ['x', 'y', 'z'], parallel: 1 }, ({ item }) => {
      log.push(item)
      if (item === 'y' && !works) throw new PermanentError('y')
      return item
    })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('y')
      works = true
      await run.retry()
      expect(await run.result()).toEqual({ items: ['x', 'y', 'z'] })
      expect(log).toEqual(['x', 'y', 'y', 'z'])
    })
  })

  test('V9: a fork goes on from a step with other results', async () => {
    log.length = 0
    const definition = graph('forked')
      .step('a', noted('a'))
      .step('b', { after: ['a'] }, ({ results }) => `${results.a}!`)
      .output(({ results }) => results.b)
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      expect(await run.result()).toBe('A!')
      const fork = await run.fork({ step: 'b', results: { a: 'other' } })
      expect(await fork.result()).toBe('other!')
      expect(log).toEqual(['a'])
      expect(await eventsOf(run)).toContain('RunCompleted')
    })
  })

  test('S8: updates are refused at once, and queries that nobody answers, too', async () => {
    const { query, update } = await import('pawl')
    const definition = graph('plain').wait('forever', {}, more)
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.update(update<void>('anything'))).rejects.toMatchObject({
        code: 'UPDATE_REJECTED',
      })
      await expect(run.query(query('anything'))).rejects.toMatchObject({ code: 'QUERY_NOT_FOUND' })
    })
  })

  test('D9: steps in progress are cancelled when a step fails, and nothing else begins', async () => {
    log.length = 0
    const definition = graph('failing')
      .step(
        'fails',
        { delay: '1s', retry: 'none' },
        noted('fails', () => false),
      )
      .wait('in progress', {}, more)
      .step('next', { after: ['in progress'] }, noted('next'))
      .step('unrelated', { delay: '1h' }, noted('unrelated'))
      .step('clean up', { after: ['in progress'], rule: 'allDone' }, noted('clean up'))
      .step('told', { after: ['fails'], rule: 'oneFailed' }, noted('told'))
      .step('not told', { after: ['fails'], rule: 'noneFailed' }, noted('not told'))
      .step('after told', { after: ['told'] }, noted('after told'))
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('fails failed')
      expect(log.toSorted()).toEqual(['after told', 'clean up', 'fails', 'told'])
    })
  })

  test('S1: a signal passes a cancelled wait, and goes to the one that still waits', async () => {
    const definition = graph('cancelled')
      .wait('first', {}, more)
      .step(
        'fails',
        { delay: '1s', retry: 'none' },
        noted('fails', () => false),
      )
      .step('told', { after: ['fails'], rule: 'oneFailed' }, noted('told'))
      .wait('approve', { after: ['told'] }, more)
      .step('clean up', { after: ['approve'] }, noted('clean up'))
    await using([definition], { alwaysReplay }, async (engine) => {
      log.length = 0
      const run = await engine.start(definition)
      await engine.clock.advance('5s')
      await run.signal(more, 1)
      await expect(run.result()).rejects.toThrow('fails failed')
      expect(log).toEqual(['fails', 'told', 'clean up'])
    })
  })

  test('a condition, a list or an input that throws is a failure of its step, and is undone for', async () => {
    log.length = 0
    const broken = (): never => {
      throw new PermanentError('no answer')
    }
    const definitions: Workflow<void, unknown>[] = [
      graph('when')
        .step('a', noted('a'))
        .compensate(() => void log.push('undo'))
        .step('b', { after: ['a'], when: broken }, noted('b')),
      graph('over')
        .step('a', noted('a'))
        .compensate(() => void log.push('undo'))
        .each('b', { after: ['a'], over: broken }, noted('b')),
      graph('list')
        .step('a', noted('a'))
        .compensate(() => void log.push('undo'))
        .each('b', { after: ['a'], over: () => 5 as never }, noted('b')),
      graph('input')
        .step('a', noted('a'))
        .compensate(() => void log.push('undo'))
        .run('b', { after: ['a'] }, double, broken),
      graph('output')
        .step('a', noted('a'))
        .compensate(() => void log.push('undo'))
        .output(broken),
    ]
    for (const definition of definitions) {
      log.length = 0
      await using([definition], { alwaysReplay, activities: [double] }, async (engine) => {
        const run = await engine.start(definition)
        await expect(run.result()).rejects.toThrow(/no answer|expects a list, but `over` returned 5/)
        expect(log).toEqual(['a', 'undo'])
      })
    }
  })
})
