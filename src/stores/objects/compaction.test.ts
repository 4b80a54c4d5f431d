// Ended runs leave memory, but can still be found by their ids and names, listed and counted. They are deleted only
// after the retention.
import { expect, test } from 'vitest'
import type { Clock } from '../../core/runtime/clock.ts'
import type { NewRun } from '../../core/stores/store.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { CompactorSettings } from './compactor.ts'
import { ENDED, LOG, SNAPSHOTS } from './layout.ts'
import { ObjectStore } from './store.ts'

const SESSION = 77

class World {
  readonly clock = new VirtualClock()
  /** How far the storage's clock is ahead of the process's. */
  storageAheadMs = 0
  readonly storage: Clock = {
    now: () => this.clock.now() + this.storageAheadMs,
    monotonic: () => this.clock.monotonic(),
    after: (ms, fire) => this.clock.after(ms, fire),
    breathe: () => this.clock.breathe(),
  }
  readonly space = new MemoryObjects(this.storage)
  readonly settings: Partial<CompactorSettings>

  constructor(settings: Partial<CompactorSettings> = {}) {
    this.settings = { snapshotEvery: 8, archiveAt: 10, graceMs: 1_000, ...settings }
  }

  store(): ObjectStore {
    const { clock, settings } = this
    const bucket = new MemoryBucket(this.space, this.storage)
    return new ObjectStore({ bucket, clock, settings, projects: false })
  }

  /** Creates runs and ends them at once. */
  async ended(store: ObjectStore, from: number, count: number): Promise<void> {
    const about = { worker: 'w', ttlMs: 3_600_000, tasks: [], about: '{}' }
    await store.renew({ session: SESSION, beat: 1, ...about })
    const runs = Array.from({ length: count }, (_, n) => newRun(from + n))
    const created = await store.create(runs)
    const turns = created.flatMap((each) => {
      if (each.outcome !== 'created' || !each.run) return []
      const { head, lease } = each.run
      const turn = { runId: head.runId, lease, generation: 1, turnId: 5, seq: 0, count: 1 }
      const rest = { consumed: [], outbox: [], tasks: [], dropped: [], at: 0, body: '{"turn":1}' }
      // Removes the attribute that the run was started with.
      const attributes = { gone: null }
      return [{ ...turn, ...rest, attributes, next: { type: 'end', status: 'completed' } as const }]
    })
    expect((await store.commit(turns)).every(({ outcome }) => outcome === 'applied')).toBe(true)
  }

  count(prefix: string): number {
    return this.space.list(prefix).length
  }
}

function idOf(n: number): string {
  const digits = n.toString(16).padStart(12, '0')
  // Half of the ids are sorted by time, half of them derived.
  return `01890000-0000-${n % 2 ? '7' : '8'}000-8000-${digits}`
}

function newRun(n: number): NewRun {
  const names = { name: n % 3 ? 'order' : 'refund', queue: 'default', priority: 0 }
  const ids = { runId: idOf(n), workflowId: n % 5 ? idOf(n) : `named ${n}`, digest: `digest ${n}` }
  return {
    ...ids,
    ...names,
    reuse: 'allow',
    input: '{"json":1}',
    attributes: { tags: [`n${n % 7}`, 'any'], gone: 'soon' },
    eager: { session: SESSION, nonce: 9 },
  }
}

test('P15, V1: ended runs leave memory and are found, listed, counted and known by id and name', async () => {
  const world = new World()
  const store = world.store()
  for (let batch = 0; batch < 20; batch++) await world.ended(store, batch * 20, 20)
  await store.compactor.archive()
  await store.compactor.snapshot()
  expect(store.replica.tables.ended.size).toBe(0)
  const second = world.store()
  for (const each of [store, second]) {
    expect((await each.list({ limit: 1, count: true })).count).toBe(400)
    expect((await each.list({ limit: 1, count: true, names: ['refund'] })).count).toBe(134)
    const having = async (name: string, value: string) =>
      (await each.list({ limit: 1, count: true, attributes: [{ name, is: 'eq', value }] })).count
    expect([await having('tags', 'n3'), await having('tags', 'any')]).toEqual([57, 400])
    expect([await having('tags', 'n7'), await having('gone', 'soon')]).toEqual([0, 0])
    const [run, history, named] = await each.load([
      { type: 'run', runId: idOf(123) },
      { type: 'history', runId: idOf(124), after: 0, turns: 10 },
      { type: 'named', workflowId: 'named 125' },
    ])
    expect(run).toMatchObject({ run: { status: 'completed', last: '{"turn":1}' } })
    expect(run?.type === 'run' && run.run?.attributes).toEqual({ tags: ['n4', 'any'] })
    expect(history).toMatchObject({ turns: [{ seq: 0, count: 1 }] })
    expect(named).toEqual({ type: 'named', runId: idOf(125) })
    const again = await each.create([newRun(123), { ...newRun(124), digest: 'other' }])
    expect(again.map(({ outcome }) => outcome)).toEqual(['existing', 'conflict'])
    const refused = { ...newRun(1_000), workflowId: 'named 125', reuse: 'reject' as const }
    expect((await each.create([refused]))[0]?.outcome).toBe('refused')
    const message = { id: 'm', body: '{}' }
    const posts = [123, 124, 99_999].map((n) => ({ runId: idOf(n), message }))
    expect((await each.post(posts)).map(({ outcome }) => outcome)).toEqual(['closed', 'closed', 'missing'])
  }
  await Promise.all([store.close(), second.close()])
})

test('O4: pages over archived and live runs are complete and in order', async () => {
  const world = new World()
  const store = world.store()
  for (let batch = 0; batch < 10; batch++) {
    await world.ended(store, batch * 10, 10)
    await world.clock.advance(1)
  }
  await store.compactor.archive()
  await world.ended(store, 100, 7)
  const seen: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ limit: 9, ...(cursor !== undefined && { cursor }) })
    seen.push(...page.runs.map((run) => `${run.head.createdAt}:${run.head.runId}`))
    cursor = page.cursor
    if (cursor === undefined) break
  }
  expect(seen.length).toBe(107)
  expect(seen).toEqual(seen.toSorted().toReversed())
  await store.close()
})

test('V1: segments are merged, and the bucket stays small', async () => {
  const world = new World({ archiveAt: 5, snapshotEvery: 2 })
  const store = world.store()
  for (let batch = 0; batch < 100; batch++) {
    await world.ended(store, batch * 5, 5)
    await world.clock.advance(500)
  }
  await store.compactor.archive()
  await world.clock.advance(5_000)
  await store.compactor.sweepAll()
  expect((await store.list({ limit: 1, count: true })).count).toBe(500)
  expect(world.count(ENDED)).toBeLessThan(30)
  expect(world.count(LOG)).toBeLessThan(40)
  expect(world.count(SNAPSHOTS)).toBeLessThan(5)
  await store.close()
})

test('V1: runs are forgotten after the retention, with many instances at it', async () => {
  const world = new World({ retentionMs: 60_000 })
  const stores = [world.store(), world.store(), world.store()]
  for (const [n, store] of stores.entries()) await world.ended(store, n * 20, 20)
  await Promise.all(stores.map((store) => store.compactor.archive()))
  await world.clock.advance(50_000)
  const [store = world.store()] = stores
  await world.ended(store, 100, 20)
  await Promise.all(stores.map((each) => each.compactor.archive()))
  await world.clock.advance(20_000)
  for (const each of stores) await each.compactor.archive()
  for (const each of stores) {
    expect((await each.list({ limit: 1, count: true })).count).toBe(20)
    expect(await each.load([{ type: 'run', runId: idOf(3) }])).toEqual([{ type: 'run' }])
  }
  await world.clock.advance(20_000)
  await Promise.all(stores.map((each) => each.compactor.sweepAll()))
  expect((await world.store().list({ limit: 1, count: true })).count).toBe(20)
  await Promise.all(stores.map((each) => each.close()))
})

test('P15: a hundred thousand finished runs do not slow claiming', async () => {
  const world = new World({ archiveAt: 10_000, snapshotEvery: 1_000_000 })
  const store = world.store()
  for (let batch = 0; batch < 100; batch++) await world.ended(store, batch * 1_000, 1_000)
  await store.compactor.archive()
  await store.compactor.snapshot()
  expect(store.replica.tables.live.size + store.replica.tables.ended.size).toBe(0)
  const second = world.store()
  await second.open()
  // A claim reads live runs only, so the test counts those reads.
  const { eager: _, ...plain } = newRun(200_001)
  await second.create([plain])
  expect(second.replica.tables.live.size).toBe(1)
  const asked = { build: 'b', queues: ['default'], workflows: null, activities: null }
  const wish = {
    runs: 10,
    suspects: 0,
    tasks: 0,
    held: [],
    heldTasks: [],
    silent: [],
  }
  const { runs } = await second.claim({ session: SESSION, nonce: 3, ...asked, ...wish })
  expect(runs.map((run) => run.head.runId)).toEqual([idOf(200_001)])
  expect((await second.list({ limit: 1, count: true })).count).toBe(100_001)
  await Promise.all([store.close(), second.close()])
}, 60_000)

test('stores D2: after the storage’s clock was set forward, nothing is swept for as long as it would be kept', async () => {
  const world = new World({ snapshotEvery: 2, archiveAt: 1_000 })
  const store = world.store()
  await world.ended(store, 0, 5)
  const log = world.count(LOG)
  // The storage's clock jumps; the monotonic clock of this process does not.
  world.storageAheadMs = 3_600_000
  await world.ended(store, 10, 5)
  await store.compactor.snapshot()
  for (let n = 20; n < 60; n += 5) await world.ended(store, n, 5)
  expect(world.count(LOG)).toBeGreaterThan(log)
  expect(world.space.read('log/000000000001.jsonl')).toBeDefined()
  for (let n = 100; n < 200; n += 5) {
    await world.ended(store, n, 5)
    await world.clock.advance(200)
  }
  expect(world.space.read('log/000000000001.jsonl')).toBeUndefined()
  await store.close()
})
