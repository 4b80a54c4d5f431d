import { activity, graph, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { unavailable } from '../../src/core/runtime/availability.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import type { Store } from '../../src/core/stores/store.ts'
import { asItIs, wrapped } from '../../src/core/stores/wrapped.ts'
import { Engine, registryOf } from '../../src/engine.ts'
import { ByHand, ended } from './by-hand.ts'
import { eventsOf, ways } from './support.ts'

const work = activity('work', async (name: string) => name)
const names = ['a', 'b', 'c'] as const
const JOINED = 'StepStarted activity:join#1'

const fanIn = graph('fan in')
  .run('a', {}, work, () => 'a')
  .run('b', {}, work, () => 'b')
  .run('c', {}, work, () => 'c')
  .run('join', { after: names }, work, ({ results }) => `${results.a}${results.b}${results.c}`)

/** Every order of three results, and every way to spread them over turns. */
function* arrivals(): Iterable<readonly (readonly string[])[]> {
  const orders = ['abc', 'acb', 'bac', 'bca', 'cab', 'cba'].map((order) => order.split(''))
  for (const [x = '', y = '', z = ''] of orders) yield* [[[x, y, z]], [[x, y], [z]], [[x], [y, z]], [[x], [y], [z]]]
}

describe.each(ways)('%s', (_, alwaysReplay) => {
  test('D5: a step after one begins in the turn that has its result', async () => {
    const chain = graph('chain')
      .run('a', {}, work, () => 'a')
      .run('b', { after: ['a'] }, work, ({ results }) => results.a)
    const run = new ByHand(chain, alwaysReplay)
    await run.turn()
    expect(await run.turn(ended('a'))).toEqual(['StepCompleted activity:a#1', 'StepStarted activity:b#1'])
  })

  test.each([...arrivals()].map((turns) => [turns.map((each) => each.join('')).join(' '), turns]))(
    'D4, D6: results that come as %s begin the fan-in once, with the last of them',
    async (_name, turns) => {
      const run = new ByHand(fanIn, alwaysReplay)
      expect(await run.turn()).not.toContain(JOINED)
      for (const [index, each] of (turns as string[][]).entries()) {
        const recorded = await run.turn(...each.map((name) => ended(name)))
        const isLast = index === turns.length - 1
        expect(recorded.filter((event) => event === JOINED)).toHaveLength(isLast ? 1 : 0)
      }
      // And nothing of it comes again.
      expect(await run.turn(...names.map((name) => ended(name)))).toEqual([])
    },
  )

  test.each([
    ['with the same id', 'task:a'],
    ['with another id', 'again:a'],
  ])('D6: a result that is said twice %s counts once', async (_name, again) => {
    for (const apart of [true, false]) {
      const run = new ByHand(fanIn, alwaysReplay)
      await run.turn()
      const twice = [ended('a'), ended('a', again)]
      if (apart) for (const each of twice) expect(await run.turn(each)).not.toContain(JOINED)
      else expect(await run.turn(...twice)).toEqual(['StepCompleted activity:a#1'])
      expect(await run.turn(ended('a', again), ended('b'))).toEqual(['StepCompleted activity:b#1'])
      expect(await run.turn(ended('c'), ended('c', 'again:c'), ended('a', again))).toEqual([
        'StepCompleted activity:c#1',
        JOINED,
      ])
      expect(await run.turn(ended('b', 'again:b'), ended('c', 'once more:c'))).toEqual([])
    }
  })

  test('D4: a fan-in that wants one begins with the first, and not again with the others', async () => {
    const one = graph('one')
      .run('a', {}, work, () => 'a')
      .run('b', {}, work, () => 'b')
      .run('join', { after: ['a', 'b'], rule: 'oneSucceeded' }, work, () => 'join')
    for (const turns of [['a', 'b'], ['b', 'a'], ['ab'], ['ba']]) {
      const run = new ByHand(one, alwaysReplay)
      await run.turn()
      const recorded: string[] = []
      for (const each of turns) recorded.push(...(await run.turn(...each.split('').map((name) => ended(name)))))
      expect(recorded.indexOf(JOINED)).toBe(turns.length === 2 ? 1 : 2)
      expect(recorded.filter((event) => event === JOINED)).toHaveLength(1)
    }
  })
})

/** Bodies that have begun wait here for each other, and go on at the same moment. */
function meeting(size: number): () => Promise<void> {
  let waiting: (() => void)[] = []
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length < size) return
      for (const go of waiting) go()
      waiting = []
    })
}

interface Fleet {
  readonly client: Engine
  readonly joined: string[]
  close(): Promise<void>
}

/** A client, and a worker for each parent and for the graph itself, each on its own way to one store. */
async function openFleet(way: (store: Store) => Store = (store) => store): Promise<Fleet> {
  const joined: string[] = []
  const meet = meeting(2)
  const diamond = graph('diamond')
    .step('left', { queue: 'left' }, async () => meet().then(() => 'l'))
    .step('right', { queue: 'right' }, async () => meet().then(() => 'r'))
    .step('join', { after: ['left', 'right'] }, ({ runId, results }) => {
      joined.push(runId)
      return results.left + results.right
    })
    .output(({ results }) => results.join)
  const store = new MemoryStore({ clock: systemClock })
  const options = { workflows: [diamond] }
  const world = { clock: systemClock, random: systemRandom }
  const engines = ['default', 'left', 'right'].map((queue) => {
    const engine = new Engine(way(store), registryOf(options), options, world)
    engine.work({ queues: [queue], signals: false })
    return engine
  })
  const client = new Engine(store, registryOf(options), options, world)
  const close = async (): Promise<void> => {
    for (const engine of [client, ...engines]) await engine.close()
  }
  return { client, joined, close }
}

async function runThrough(fleet: Fleet, times: number): Promise<void> {
  const { client, joined } = fleet
  try {
    for (let n = 0; n < times; n++) {
      const run = await client.start(workflow.declare<void, string>('diamond'))
      expect(await run.result()).toBe('lr')
      const events = await eventsOf(run)
      for (const type of ['StepStarted', 'StepCompleted'])
        expect(events.filter((each) => each === `${type} step:join#1`)).toHaveLength(1)
    }
    expect(joined).toHaveLength(times)
  } finally {
    await fleet.close()
  }
}

test('D6: parents that two workers end at the same moment begin the fan-in once', async () => {
  await runThrough(await openFleet(), 25)
})

test('D6: a result whose answer is lost is sent again, and begins the fan-in once', async () => {
  const told = new Set<string>()
  const losing = (store: Store): Store =>
    wrapped(store, asItIs, {
      settle: async (outcomes) => {
        const settled = await store.settle(outcomes)
        const isFirst = outcomes.some(({ taskId }) => !told.has(taskId))
        for (const { taskId } of outcomes) told.add(taskId)
        if (isFirst) throw unavailable('settle', new Error('got no answer'))
        return settled
      },
    })
  await runThrough(await openFleet(losing), 3)
})
