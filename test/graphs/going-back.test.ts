// A graph that is tried again after it has undone what it did, and one that goes on from another past.
import { activity, graph, type Schema } from 'pawl'
import { describe, expect, test } from 'vitest'
import { using, ways } from './support.ts'

/** Makes ten times as much of a number. */
const tenfold: Schema<number, unknown> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: Number(value) * 10 }) },
}

describe.each(ways)('%s', (_, alwaysReplay) => {
  const log: string[] = []
  let works = false
  const noted =
    (name: string, isGood = () => true) =>
    ({ idempotencyKey }: { idempotencyKey: string }): string => {
      log.push(`${name} ${idempotencyKey.slice(-1)}`)
      if (!isGood()) throw new Error(`${name} failed`)
      return name.toUpperCase()
    }
  const once = { retry: 'none' } as const

  test('V9: a step that failed and was undone all the same is begun under another key', async () => {
    log.length = 0
    works = false
    const definition = graph('charge')
      .step(
        'charge',
        once,
        noted('charge', () => works),
      )
      .compensate({ ownFailure: true }, () => void log.push('refund'))
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('charge failed')
      works = true
      await run.retry()
      await run.result()
      expect(log).toEqual(['charge 1', 'refund', 'charge 2'])
    })
  })

  test('V9: a list that was undone is done again from its first item', async () => {
    log.length = 0
    works = false
    const definition = graph('packing')
      .each('pack', { ...once, over: () => [0, 1, 2], parallel: 1 }, ({ item }) => {
        log.push(`pack ${item}`)
        if (item === 2 && !works) throw new Error('no box')
        return item
      })
      .compensate({ ownFailure: true }, () => void log.push('unpack'))
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('no box')
      works = true
      await run.retry()
      expect(await run.result()).toEqual({ pack: [0, 1, 2] })
      expect(log.slice(3)).toEqual(['unpack', 'pack 0', 'pack 1', 'pack 2'])
    })
  })

  test('V9: what comes after a step that was undone waits until it is done again', async () => {
    log.length = 0
    works = false
    const definition = graph('order')
      .step('reserve', noted('reserve'))
      .compensate(() => void log.push('release'))
      .step('notify', { after: ['reserve'] }, noted('notify'))
      .step(
        'charge',
        { ...once, after: ['notify'] },
        noted('charge', () => works),
      )
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('charge failed')
      works = true
      await run.retry()
      await run.result()
      expect(log.slice(3)).toEqual(['release', 'reserve 2', 'charge 1'])
    })
  })

  test('V9: who looks after a failure of a step does so when it fails the second time', async () => {
    log.length = 0
    works = true
    const definition = graph('handled')
      .step(
        'a',
        once,
        noted('a', () => works),
      )
      .compensate(() => void log.push('undo a'))
      .step(
        'b',
        { ...once, after: ['a'] },
        noted('b', () => false),
      )
      .step('handle', { after: ['a'], rule: 'oneFailed' }, noted('handle'))
      .step('tell', { after: ['handle'] }, noted('tell'))
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('b failed')
      works = false
      await run.retry()
      await expect(run.result()).rejects.toThrow('a failed')
      expect(log).toEqual(['a 1', 'b 1', 'undo a', 'a 2', 'handle 1', 'tell 1'])
    })
  })

  test('R7: an undoing whose input cannot be made stops nobody, and is told of', async () => {
    const log: unknown[] = []
    const give = activity('give', async (value: { n: number }) => value)
    const refuse = activity('refuse', { retry: 'none' }, async () => {
      throw new Error('refused')
    })
    const undo = activity('undo', async ({ n }: { n: number }) => void log.push(n))
    const compensate = (field: string) => ({
      handler: 'undo',
      with: { n: `{{ result.${field} }}` },
    })
    const definition = graph.parse({
      name: 'data',
      nodes: [
        { id: 'a', handler: 'give', with: { n: 1 }, compensate: compensate('n') },
        { id: 'b', handler: 'give', after: ['a'], with: { n: 2 }, compensate: compensate('m') },
        { id: 'c', handler: 'refuse', after: ['b'] },
      ],
    })
    const activities = [give, refuse, undo]
    await using([definition], { alwaysReplay, activities }, async (engine) => {
      const run = await engine.start(definition, {})
      await expect(run.result()).rejects.toThrow('refused')
      expect(log).toEqual([1])
      const { compensationFailures } = await run.describe()
      expect(compensationFailures?.map(({ message }) => message)).toEqual([
        expect.stringContaining('there is no result.m'),
      ])
      await run.retry()
      await expect(run.result()).rejects.toThrow('refused')
      expect(log).toEqual([1, 1])
    })
  })

  test('V9: a fork decides anew what came after its step: lists, conditions, and what was refused', async () => {
    const double = activity('double', async (value: number) => value * 2)
    const definition = graph('deciding')
      .step('list', (): number[] => [])
      .each('items', { after: ['list'], over: ({ results }) => results.list }, ({ item }) => item)
      .step('some', { after: ['list'], when: ({ results }) => results.list.length > 0 }, () => 'some')
      .run('first', { after: ['list'] }, double, ({ results: { list } }) => {
        const [first] = list
        if (first === undefined) throw new Error('there is none')
        return first
      })
    await using([definition], { alwaysReplay, activities: [double] }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('there is none')
      const fork = await run.fork({ step: 'list', results: { list: [3, 4] } })
      expect(await fork.result()).toEqual({ list: [3, 4], items: [3, 4], some: 'some', first: 6 })
      const other = await fork.fork({ step: 'first', results: { first: 7 } })
      expect(await other.result()).toMatchObject({ first: 7 })
    })
  })

  test('V9: a fork takes a result that it is given for a step that was undone', async () => {
    log.length = 0
    works = false
    const definition = graph('undone')
      .step('a', noted('a'))
      .compensate(() => void log.push('undo a'))
      .step('b', { after: ['a'], delay: '1s' }, noted('b'))
      .compensate(() => void log.push('undo b'))
      .step(
        'c',
        { ...once, after: ['b'] },
        noted('c', () => works),
      )
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('c failed')
      works = true
      log.length = 0
      const fork = await run.fork({ step: 'b', results: { b: 'by hand' } })
      expect(await fork.result()).toEqual({ a: 'A', b: 'by hand', c: 'C' })
      expect(log).toEqual(['a 2', 'c 1'])
    })
  })

  test('V9: another input of a fork is parsed', async () => {
    const definition = graph('parsed', { input: tenfold })
      .step('a', ({ input }) => input)
      .step('b', { after: ['a'] }, ({ input }) => input)
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition, 1)
      expect(await run.result()).toEqual({ a: 10, b: 10 })
      const fork = await run.fork({ step: 'b', input: 5 })
      expect(await fork.result()).toEqual({ a: 10, b: 50 })
    })
  })

  test('V9: what cleans up after a failure has a key of its own each time', async () => {
    const keys: string[] = []
    const definition = graph('cleaned')
      .step('fails', { retry: 'none' }, (): string => {
        throw new Error('no')
      })
      .step('clean up', { after: ['fails'], rule: 'allDone' }, ({ idempotencyKey }) => {
        keys.push(idempotencyKey.slice(36))
      })
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('no')
      await run.retry()
      await expect(run.result()).rejects.toThrow('no')
      await run.retry()
      await expect(run.result()).rejects.toThrow('no')
      expect(keys).toEqual([':1:step:clean up#1', ':1:step:clean up#2', ':1:step:clean up#3'])
    })
  })

  test.each(['/', '#', '[0]', ':', '__proto__', '🐈', 'shield#1/', '%2F', 'undo x', 'toString', 'step:a#1'])(
    'a step may be called %s',
    async (name) => {
      const definition = graph('named')
        .step(name as 'odd', () => 1)
        .compensate(() => {})
        .step('last', { after: [name as 'odd'] }, ({ results }) => Object.entries(results))
      await using([definition], { alwaysReplay }, async (engine) => {
        expect(await engine.execute(definition)).toEqual(
          Object.fromEntries([
            [name, 1],
            ['last', [[name, 1]]],
          ]),
        )
      })
    },
  )
})
