import { describe, expect, test } from 'vitest'
import { limits } from '../../core/base/limits.ts'
import { isUnavailable, refused, unavailable } from '../../core/runtime/availability.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { RowsLocked } from '../../core/stores/locked.ts'
import { MemoryStore } from '../../core/stores/memory/store.ts'
import type { Committed, NewRun, Post, Store, TaskOutcome, TurnCommit } from '../../core/stores/store.ts'
import { asItIs, wrapped } from '../../core/stores/wrapped.ts'
import { coalesced } from './coalesced.ts'

interface Batch {
  readonly ids: readonly string[]
  readonly answer: () => void
  readonly fail: (error: unknown) => void
}

/** A store whose commits are answered by the test, batch by batch. */
function slowStore(lanes = 1): { store: Store; batches: Batch[] } {
  const batches: Batch[] = []
  const memory = new MemoryStore({ clock: systemClock })
  const store: Store = {
    ...methods(memory),
    traits: { ...memory.traits, lanes },
    commit: (turns) =>
      new Promise<readonly Committed[]>((resolve, reject) => {
        const ids = turns.map(({ body }) => body)
        const outs = turns.map(() => ({ outcome: 'applied' }) as const)
        batches.push({ ids, answer: () => resolve(outs), fail: reject })
      }),
  }
  return { store, batches }
}

/** A store that refuses every batch with one of these bodies in it, and counts its calls. */
function pickyStore(poison: ReadonlySet<string>): { store: Store; sizes: number[] } {
  const sizes: number[] = []
  const take = <T, Out>(items: readonly T[], body: (item: T) => string, out: Out): Out[] => {
    sizes.push(items.length)
    const bad = items.map(body).find((each) => poison.has(each))
    if (bad !== undefined) throw refused('a test store', new Error(`cannot store ${bad}`))
    return items.map(() => out)
  }
  const store: Store = {
    ...methods(new MemoryStore({ clock: systemClock })),
    create: async (runs) => take(runs, (run) => run.input, { outcome: 'created', now: 1 } as const),
    post: async (posts) => take(posts, (post) => post.message.body, { outcome: 'accepted' } as const),
    settle: async (all) => take(all, (each) => each.taskId, { outcome: 'applied' } as const),
    commit: async (turns) => take(turns, (turn) => turn.body, { outcome: 'applied' } as const),
  }
  return { store, sizes }
}

function methods(store: Store): Store {
  return wrapped(store, asItIs)
}

const lease = { session: 1, epoch: 1, nonce: 1 }

function turn(body: string, run = 0): TurnCommit {
  return {
    runId: `00000000-0000-7000-8000-${String(run).padStart(12, '0')}`,
    lease,
    generation: 1,
    turnId: 1,
    seq: 0,
    count: 1,
    at: 1,
    body,
    consumed: [],
    outbox: [],
    tasks: [],
    dropped: [],
    next: { type: 'hold' },
  }
}

async function batchesOf(batches: readonly Batch[], count: number): Promise<void> {
  while (batches.length < count) await new Promise((resolve) => setImmediate(resolve))
}

describe('batches', () => {
  test('what is added in one moment travels together; while it is being written the next collects', async () => {
    const { store, batches } = slowStore()
    const group = coalesced(store)
    const first = Promise.all([group.commit([turn('a')]), group.commit([turn('b'), turn('c')])])
    await batchesOf(batches, 1)
    const rest = ['d', 'e', 'f'].map((body) => group.commit([turn(body)]))
    await new Promise((resolve) => setImmediate(resolve))
    expect(batches.map(({ ids }) => ids)).toEqual([['a', 'b', 'c']])
    batches[0]?.answer()
    expect(await first).toEqual([[{ outcome: 'applied' }], [{ outcome: 'applied' }, { outcome: 'applied' }]])
    await batchesOf(batches, 2)
    expect(batches[1]?.ids).toEqual(['d', 'e', 'f'])
    batches[1]?.answer()
    await Promise.all(rest)
  })

  test('are bounded by number and by bytes', async () => {
    const { store, sizes } = pickyStore(new Set())
    const group = coalesced(store)
    const many = Array.from({ length: limits.batchElements + 10 }, (_, n) => turn(`${n}`))
    await group.commit(many)
    expect(sizes).toEqual([limits.batchElements, 10])
    const large = 'x'.repeat(limits.batchBytes / 2 + 1)
    await group.commit([turn(large), turn(large), turn(large)])
    expect(sizes.slice(2)).toEqual([1, 1, 1])
  })

  test('one element that is too large for a batch still travels, alone', async () => {
    const { store, sizes } = pickyStore(new Set())
    const huge = turn('x'.repeat(limits.batchBytes + 1))
    await coalesced(store).commit([turn('a'), huge, turn('b')])
    expect(sizes).toEqual([1, 1, 1])
  })

  test('answers go to their callers, element for element', async () => {
    const memory = new MemoryStore({ clock: systemClock })
    const group = coalesced(memory)
    const answers = await Promise.all([
      group.create([newRun(1, 'a'), newRun(1, 'a')]),
      group.create([newRun(2, 'a')]),
      group.create([newRun(1, 'other')]),
    ])
    expect(answers.map((each) => each.map(({ outcome }) => outcome))).toEqual([
      ['created', 'existing'],
      ['created'],
      ['conflict'],
    ])
  })
})

describe('lanes', () => {
  test('the turns of one run stay in one lane, in order; another run does not wait for them', async () => {
    const { store, batches } = slowStore(2)
    const group = coalesced(store)
    const all = [
      group.commit([turn('run 2, first', 2)]),
      group.commit([turn('run 1, first', 1)]),
      group.commit([turn('run 1, second', 1)]),
    ]
    await batchesOf(batches, 2)
    const third = group.commit([turn('run 1, third', 1)])
    const [even, odd] = batches
    expect(even?.ids).toEqual(['run 2, first'])
    expect(odd?.ids).toEqual(['run 1, first', 'run 1, second'])
    even?.answer()
    await all[0]
    expect(batches).toHaveLength(2)
    odd?.answer()
    await batchesOf(batches, 3)
    expect(batches[2]?.ids).toEqual(['run 1, third'])
    batches[2]?.answer()
    await Promise.all([...all, third])
  })
})

describe('H18 poison', () => {
  const bodies = Array.from({ length: 100 }, (_, n) => `${n}`)

  test('in the middle of 100 turns is rejected alone, and found by halving', async () => {
    const { store, sizes } = pickyStore(new Set(['57']))
    const outcomes = await coalesced(store).commit(bodies.map((body) => turn(body)))
    const rejected = outcomes.flatMap((each, index) => (each.outcome === 'applied' ? [] : [index]))
    expect(rejected).toEqual([57])
    expect(outcomes[57]).toEqual({
      outcome: 'rejected',
      reason: expect.stringContaining('cannot store 57'),
    })
    expect(sizes.length).toBeLessThan(20)
  })

  test('in several places is rejected in each of them', async () => {
    const { store } = pickyStore(new Set(['0', '50', '51', '99']))
    const outcomes = await coalesced(store).commit(bodies.map((body) => turn(body)))
    const rejected = outcomes.flatMap((each, index) => (each.outcome === 'applied' ? [] : [index]))
    expect(rejected).toEqual([0, 50, 51, 99])
  })

  test('among creations, messages and settled tasks is thrown to its caller alone', async () => {
    const { store } = pickyStore(new Set(['bad']))
    const group = coalesced(store)
    const create = [1, 2, 3].map((n) => group.create([newRun(n, n === 2 ? 'bad' : 'good')]))
    const post = [1, 2, 3].map((n) => group.post([message(n === 2 ? 'bad' : 'good')]))
    const settle = [1, 2, 3].map((n) => group.settle([settled(n === 2 ? 'bad' : 'good')]))
    for (const calls of [create, post, settle]) {
      const ends = await Promise.allSettled<unknown>(calls)
      expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    }
  })

  test('does not stop what comes after it', async () => {
    const { store } = pickyStore(new Set(['bad']))
    const group = coalesced(store)
    expect(await group.commit([turn('bad')])).toMatchObject([{ outcome: 'rejected' }])
    expect(await group.commit([turn('good')])).toEqual([{ outcome: 'applied' }])
  })
})

describe('a store that gives no answer', () => {
  test('gives none to every caller of the batch, and nothing is halved', async () => {
    const { store, batches } = slowStore()
    const group = coalesced(store)
    const calls = ['a', 'b', 'c'].map((body) => group.commit([turn(body)]))
    const ends = Promise.allSettled(calls)
    await batchesOf(batches, 1)
    const next = group.commit([turn('next')])
    batches[0]?.fail(unavailable('the store', new Error('gone')))
    for (const end of await ends) {
      expect(end.status === 'rejected' && isUnavailable(end.reason)).toBe(true)
    }
    await batchesOf(batches, 2)
    expect(batches.map(({ ids }) => ids.length)).toEqual([3, 1])
    batches[1]?.answer()
    expect(await next).toEqual([{ outcome: 'applied' }])
  })
})

describe('stores D8: rows that another transaction has locked', () => {
  /** Tells that turns cannot be written because rows are locked, for as long as a run is in the set. */
  function lockedStore(locked: Set<string>, tells: boolean): { store: Store; sent: string[][] } {
    const sent: string[][] = []
    const commit: Store['commit'] = async (turns) => {
      sent.push(turns.map(({ body }) => body))
      await new Promise((resolve) => setImmediate(resolve))
      const which = turns.flatMap(({ runId }, index) => (locked.has(runId) ? [index] : []))
      if (which.length > 0) throw new RowsLocked('locked', tells ? which : [])
      return turns.map(() => ({ outcome: 'applied' }))
    }
    const memory = new MemoryStore({ clock: systemClock })
    return { store: { ...methods(memory), traits: { ...memory.traits, lanes: 1 }, commit }, sent }
  }

  test.each([true, false])('hold up nobody else, and nothing overtakes (told which: %s)', async (tells) => {
    const locked = new Set([turn('', 3).runId])
    const { store, sent } = lockedStore(locked, tells)
    const group = coalesced(store)
    const order: string[] = []
    const add = (body: string, run: number): Promise<unknown> =>
      group.commit([turn(body, run)]).then(() => order.push(body))
    const stuck = add('3, first', 3)
    await Promise.all([1, 2, 4, 5].map((run) => add(`${run}`, run)))
    const behind = [add('3, second', 3), add('3, third', 3)]
    await add('6', 6)
    expect(order.filter((body) => body.startsWith('3'))).toEqual([])
    locked.clear()
    await Promise.all([stuck, ...behind])
    expect(order.slice(-3)).toEqual(['3, first', '3, second', '3, third'])
    expect(sent.at(-1)).toEqual(['3, third'])
    await add('3, last', 3)
  })

  test('that stay locked are told to the caller in the end, as a store that is away', async () => {
    const { store, sent } = lockedStore(new Set([turn('', 3).runId]), true)
    const end = await Promise.allSettled([coalesced(store).commit([turn('a', 3)])])
    expect(end[0].status === 'rejected' && isUnavailable(end[0].reason)).toBe(true)
    expect(sent).toHaveLength(1 + limits.lockedTries)
  })
})

function newRun(n: number, input: string): NewRun {
  const runId = `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
  return {
    runId,
    name: 'n',
    queue: 'q',
    priority: 0,
    workflowId: runId,
    reuse: 'allow',
    input,
    digest: input,
  }
}

function message(body: string): Post {
  return { runId: newRun(1, '').runId, message: { id: body, body } }
}

function settled(taskId: string): TaskOutcome {
  return { taskId, lease, result: { type: 'return' } }
}

describe('records', () => {
  test('that no store would take are refused before anything is sent, and others go their way', async () => {
    const store = coalesced(new MemoryStore({ clock: systemClock }))
    const put = { type: 'put', space: 's', key: 'k', version: 0, body: '1', writeId: 1 } as const
    const large = { ...put, key: 'large', body: 'x'.repeat(limits.recordBytesMax + 1) }
    await expect(store.records([put, large])).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    const list = { type: 'list', space: 's', limit: 9 } as const
    expect(await store.records([list])).toEqual([{ type: 'list', records: [] }])
    expect(await store.records([put])).toEqual([{ type: 'put', outcome: 'applied' }])
    const most = { ...list, limit: limits.recordsListedMax + 1 }
    await expect(store.records([most])).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })
})
