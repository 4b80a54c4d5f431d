import { activity, graph, PermanentError, query, signal, TIMEOUT } from 'pawl'
import { describe, expect, test } from 'vitest'
import { waitsFor } from '../workflows/each-store.ts'
import { using, ways } from './support.ts'

const go = signal<number>('go')
const steps = query<void, { name: string; status: string }[]>('steps')

type Outcome = 'succeeds' | 'fails' | 'is skipped'

/** Whether a step with each rule begins after two steps, the second of which ends later. */
const rules = [
  ['allSucceeded', { both: true, oneSkipped: false, bothSkipped: false, oneFailed: false }],
  ['noneFailed', { both: true, oneSkipped: true, bothSkipped: true, oneFailed: false }],
  ['allDone', { both: true, oneSkipped: true, bothSkipped: true, oneFailed: true }],
  ['oneSucceeded', { both: true, oneSkipped: true, bothSkipped: false, oneFailed: true }],
  ['oneDone', { both: true, oneSkipped: true, bothSkipped: false, oneFailed: true }],
  ['oneFailed', { both: false, oneSkipped: false, bothSkipped: false, oneFailed: true }],
] as const

const outcomes: Record<string, readonly [Outcome, Outcome]> = {
  both: ['succeeds', 'succeeds'],
  oneSkipped: ['succeeds', 'is skipped'],
  bothSkipped: ['is skipped', 'is skipped'],
  oneFailed: ['fails', 'succeeds'],
}

function body(outcome: Outcome): () => string {
  return () => {
    if (outcome === 'fails') throw new PermanentError('as told')
    return outcome
  }
}

describe.each(ways)('%s', (_, alwaysReplay) => {
  test('A1, A14: a step has the input, and the results of the steps it comes after by their names', async () => {
    const double = activity('double', async (n: number) => n * 2)
    const definition = graph<number>('data')
      .step('a', ({ input }) => ({ n: input + 1 }))
      .run('b', { after: ['a'] }, double, ({ results }) => results.a.n)
      .step('c', { after: ['a'] }, ({ results }) => Object.keys(results))
      .step('d', { after: ['b', 'c'] }, ({ input, results }) => ({ input, ...results }))
    await using([definition], { alwaysReplay, activities: [double] }, async (engine) => {
      const run = await engine.start(definition, 4)
      const d = { input: 4, b: 10, c: ['a'] }
      expect(await run.result()).toEqual({ a: { n: 5 }, b: 10, c: ['a'], d })
    })
  })

  test.each(rules)('D4: rule %s', async (rule, begins) => {
    for (const [name, [x, y]] of Object.entries(outcomes)) {
      const definition = graph('rule')
        .step('x', { when: () => x !== 'is skipped' }, body(x))
        // It begins when the first has ended, so nothing is in progress that a failure could stop.
        .step('y', { after: ['x'], rule: 'allDone', when: () => y !== 'is skipped' }, body(y))
        .step('z', { after: ['x', 'y'], rule }, () => 'z')
      await using([definition], { alwaysReplay }, async (engine) => {
        const run = await engine.start(definition)
        await run.result().catch(() => {})
        const z = (await run.query(steps)).find((each) => each.name === 'z')
        const expected = begins[name as keyof typeof begins] ? 'succeeded' : 'skipped'
        expect(`${name} ${z?.status}`).toBe(`${name} ${expected}`)
      })
    }
  })

  test('a condition is asked once, before the delay, and what needs a skipped step is skipped', async () => {
    let asked = 0
    const definition = graph<number>('condition')
      .step(
        'maybe',
        {
          delay: '1h',
          when: ({ input }) => {
            asked++
            return input > 5
          },
        },
        () => 'done',
      )
      .step('needs', { after: ['maybe'] }, ({ results }) => results.maybe.length)
      .step('tells', { after: ['maybe'], rule: 'noneFailed' }, ({ results }) => results.maybe ?? 'no')
    await using([definition], { alwaysReplay }, async (engine) => {
      const begun = engine.clock.now()
      expect(await (await engine.start(definition, 1)).result()).toEqual({ tells: 'no' })
      expect([asked, engine.clock.now() - begun < 1_000]).toEqual([1, true])
      const run = await engine.start(definition, 9)
      expect(await run.result()).toEqual({ maybe: 'done', needs: 4, tells: 'done' })
      expect(asked).toBe(2)
    })
  })

  test('D10: a delay is a durable timer that begins when the step may', async () => {
    const definition = graph('delayed')
      .wait('first', {}, go)
      .step('later', { after: ['first'], delay: '1h' }, () => 'reminded')
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await engine.clock.advance('2h')
      await run.signal(go, 1)
      await waitsFor(run, 'timer')
      expect(await run.query(steps)).toContainEqual({ name: 'later', status: 'delayed' })
      await engine.crash()
      await engine.clock.advance('59m')
      expect(await run.query(steps)).toContainEqual({ name: 'later', status: 'delayed' })
      await engine.clock.advance('1m')
      expect(await run.result()).toEqual({ first: 1, later: 'reminded' })
    })
  })

  test('D11: a step for each of a list, so many at once, with results in their order', async () => {
    let under = 0
    let most = 0
    const keys: string[] = []
    const definition = graph<string[]>('listed').each(
      'pack',
      { over: ({ input }) => input, parallel: 2 },
      async ({ item, index, stepKey }) => {
        most = Math.max(most, ++under)
        keys.push(stepKey)
        await new Promise((resolve) => setImmediate(resolve))
        under--
        return `${index} ${item}`
      },
    )
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition, ['a', 'b', 'c'])
      expect(await run.result()).toEqual({ pack: ['0 a', '1 b', '2 c'] })
      expect(most).toBe(2)
      expect(keys.toSorted()).toEqual(['step:pack#1[0]', 'step:pack#1[1]', 'step:pack#1[2]'])
      expect(await (await engine.start(definition, [])).result()).toEqual({ pack: [] })
      const long = await engine.start(definition, new Array<string>(10_001).fill('x'))
      await expect(long.result()).rejects.toThrow('10001 items; the limit is 10000')
    })
  })

  test('D11: what the items of a list are given need not fit into one turn', async () => {
    const measure = activity('measure', async ({ text }: { text: string }) => text.length)
    const definition = graph.parse({
      name: 'large',
      nodes: [
        {
          id: 'all',
          handler: 'measure',
          each: '{{ input.list }}',
          with: { text: '{{ input.text }}' },
        },
      ],
    })
    const activities = [measure]
    await using([definition], { alwaysReplay, activities }, async (engine) => {
      const list = Array.from({ length: 200 }, (_, n) => n)
      const run = await engine.start(definition, { list, text: 'x'.repeat(100_000) })
      expect(await run.result()).toEqual({ all: list.map(() => 100_000) })
    })
  })

  test('D11: each item has its own copy of what it sees, made when it looks', async () => {
    const definition = graph('copies')
      .step('list', () => [1, 2, 3])
      .each('items', { after: ['list'], over: ({ results }) => results.list }, ({ results, item }) => {
        results.list.push(item)
        return [Object.keys(results).join(), results.list.length]
      })
      .output(({ results }) => results.items)
    await using([definition], { alwaysReplay }, async (engine) => {
      expect(await engine.execute(definition)).toEqual([1, 2, 3].map(() => ['list', 4]))
    })
  })

  test('D11: an item that fails fails the step, and no more of the list are begun', async () => {
    const begun: number[] = []
    const definition = graph('broken list').each(
      'pack',
      { over: () => [0, 1, 2, 3], parallel: 1, retry: 'none' },
      ({ item }) => {
        begun.push(item)
        if (item === 1) throw new Error('broken')
      },
    )
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await expect(run.result()).rejects.toThrow('broken')
      expect(begun).toEqual([0, 1])
      expect(await run.query(steps)).toEqual([{ name: 'pack', status: 'failed' }])
    })
  })

  test('signals go to waits first come, first served, also those that came early; TIMEOUT otherwise', async () => {
    const definition = graph('waits')
      .wait('one', {}, go)
      .wait('two', { after: ['one'] }, go)
      .wait('three', { after: ['two'], timeout: '1h' }, go)
      .step('last', { after: ['three'] }, ({ results }) => results.three === TIMEOUT)
      .output(({ results }) => [results.one, results.two, results.last])
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await run.signal(go, 1)
      await run.signal(go, 2)
      expect(await run.result()).toEqual([1, 2, true])
    })
  })

  test('D7, D8: a query tells where each step stands, and the run ends when all of them have', async () => {
    const definition = graph('states')
      .step('done', () => 1)
      .wait('in progress', { after: ['done'] }, go)
      .step('delayed', { delay: '1h' }, () => 1)
      .step('not yet', { after: ['in progress'] }, () => 1)
      .step('skipped', { after: ['done'], when: () => false }, () => 1)
    const stand = (...statuses: string[]): object[] =>
      ['done', 'in progress', 'delayed', 'not yet', 'skipped'].map((name, n) => ({
        name,
        status: statuses[n],
      }))
    await using([definition], { alwaysReplay }, async (engine) => {
      const run = await engine.start(definition)
      await waitsFor(run, 'signal')
      expect(await run.query(steps)).toEqual(stand('succeeded', 'begun', 'delayed', 'waiting', 'skipped'))
      await run.signal(go, 1)
      await engine.idle()
      expect((await run.describe()).status).toBe('waiting')
      expect(await run.query(steps)).toEqual(stand('succeeded', 'succeeded', 'delayed', 'succeeded', 'skipped'))
      await run.cancel()
      await run.result().catch(() => {})
      expect((await run.describe()).status).toBe('cancelled')
      expect(await run.query(steps)).toEqual(stand('succeeded', 'succeeded', 'stopped', 'succeeded', 'skipped'))
    })
  })
})

describe('what no graph can be', () => {
  const base = graph('base').step('a', () => 1)
  const loose = base as unknown as Record<'step' | 'run' | 'each' | 'wait', (...args: unknown[]) => unknown>
  test.each<[string, () => unknown]>([
    ["there are two steps 'a'", () => loose.step('a', () => 1)],
    ["comes after 'z', but no step before it has that name", () => loose.step('b', { after: ['z'] }, () => 1)],
    ["`rule` of step 'b' of graph 'base' is 'most'", () => loose.step('b', { rule: 'most' }, () => 1)],
    [
      "has the rule 'oneFailed' but no `after`, so it could never start",
      () => loose.step('b', { rule: 'oneFailed' }, () => 1),
    ],
    ["step 'b' is not a function", () => loose.step('b', { after: ['a'] })],
    ['expected a whole number from 1', () => loose.each('b', { over: () => [], parallel: 0 }, () => 1)],
    ["step 'b' has no definition; expected an activity or", () => loose.run('b', {}, {}, () => 1)],
    ["step 'b' has no signal; expected one", () => loose.wait('b', {}, {})],
    [
      'has a queue, but it runs on the worker that holds the run',
      () => base.compensate({ queue: 'other' } as object, () => {}),
    ],
  ])('%s', (message, build) => {
    expect(build).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
    expect(build).toThrow(message)
  })
})
