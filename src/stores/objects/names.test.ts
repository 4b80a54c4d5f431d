// The newest run of a workflow id is the one created last, for every process, and wherever its row is by then.
import { expect, test } from 'vitest'
import type { NewRun, Store } from '../../core/stores/store.ts'
import { ALICE, beat } from '../../testing/conformance/builders.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { CompactorSettings } from './compactor.ts'
import { examine } from './doctor/doctor.ts'
import { ABOUT, ENDED, PARTS, SNAPSHOTS } from './layout.ts'
import { ObjectStore } from './store.ts'

const NAME = 'order 17'

function idOf(n: number): string {
  return `01890000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
}

function newRun(n: number, overrides: Partial<NewRun> = {}): NewRun {
  const names = { name: 'order', queue: 'default', priority: 0, digest: `digest ${n}` }
  const eager = { session: ALICE, nonce: 9 }
  const rest = { input: '{"json":1}', reuse: 'allow' as const, eager }
  return { runId: idOf(n), workflowId: NAME, ...rest, ...names, ...overrides }
}

/** Answers requests for segments only when the case releases them. */
class SlowBucket extends MemoryBucket {
  held: Promise<void> | undefined
  asked = Promise.withResolvers<void>()

  override async get(...args: Parameters<MemoryBucket['get']>): Promise<string | undefined> {
    if (this.held && args[0].startsWith(ENDED)) {
      this.asked.resolve()
      await this.held
    }
    return super.get(...args)
  }
}

/** Stores on one bucket. A case creates runs of one workflow id, at the same instant unless it moves time. */
class World {
  readonly clock = new VirtualClock()
  readonly space = new MemoryObjects(this.clock)
  readonly bucket = new SlowBucket(this.space, this.clock)
  readonly #settings: Partial<CompactorSettings>
  readonly #stores: ObjectStore[] = []

  constructor(settings: Partial<CompactorSettings> = {}) {
    const never = { snapshotEvery: 1_000_000, archiveAt: 1_000_000, graceMs: 1_000_000 }
    this.#settings = { ...never, ...settings }
    this.space.write(ABOUT, '{ "pawl": 1 }\n')
  }

  async store(): Promise<ObjectStore> {
    const { bucket, clock } = this
    const store = new ObjectStore({ bucket, clock, settings: this.#settings, projects: false })
    this.#stores.push(store)
    await store.renew(beat(ALICE))
    return store
  }

  async close(): Promise<void> {
    const { problems } = await examine(this.bucket)
    expect(problems).toEqual([])
    for (const store of this.#stores) await store.close()
  }
}

async function end(store: Store, n: number, status: 'completed' | 'failed'): Promise<void> {
  const lease = { session: ALICE, nonce: 9, epoch: 1 }
  const run = { runId: idOf(n), lease, generation: 1, turnId: 5, seq: 0, count: 1, at: 0 }
  const nothing = { consumed: [], outbox: [], tasks: [], dropped: [] }
  const body = '{"version":1,"build":"","events":[{}]}'
  const [out] = await store.commit([{ ...run, ...nothing, body, next: { type: 'end', status } }])
  expect(out).toEqual({ outcome: 'applied' })
}

async function newest(store: Store): Promise<string | undefined> {
  const [answer] = await store.load([{ type: 'named', workflowId: NAME }])
  return answer?.type === 'named' ? answer.runId : undefined
}

test('a process that starts tells the run in progress from an older one of the same moment that has ended', async () => {
  const world = new World()
  const store = await world.store()
  await store.create([newRun(1), newRun(2)])
  await end(store, 1, 'completed')
  await store.compactor.snapshot()
  const fresh = await world.store()
  expect(await newest(fresh)).toBe(idOf(2))
  const existing = { outcome: 'existing', runId: idOf(2) }
  expect(await fresh.create([newRun(3, { reuse: 'returnExisting' })])).toEqual([existing])
  await world.close()
})

test('a process that starts finds a newer run in a segment, though an older one is in progress', async () => {
  const world = new World()
  const store = await world.store()
  await store.create([newRun(1)])
  await world.clock.advance(1)
  await store.create([newRun(2)])
  await end(store, 2, 'failed')
  await store.compactor.archive()
  await store.compactor.snapshot()
  const fresh = await world.store()
  expect(await newest(store)).toBe(idOf(2))
  expect(await newest(fresh)).toBe(idOf(2))
  await world.close()
})

test('a run that was born and left memory between two snapshots is newer than one in a part of the first', async () => {
  const world = new World({ snapshotBytes: 0 })
  const store = await world.store()
  await store.create([newRun(1, { delayMs: 60_000 })])
  await store.compactor.snapshot()
  const parts = world.space.list(PARTS)
  await world.clock.advance(1)
  await store.create([newRun(2)])
  await end(store, 2, 'completed')
  await store.compactor.archive()
  await store.compactor.snapshot()
  // The second snapshot is the first with the changes since.
  expect(world.space.list(PARTS).length).toBeGreaterThan(parts.length)
  expect(await newest(await world.store())).toBe(idOf(2))
  await world.close()
})

test('of two runs of one moment in segments, the newer is found, whichever ended first', async () => {
  for (const [first, second] of [
    [1, 2],
    [2, 1],
  ] as const) {
    for (const isApart of [true, false]) {
      const world = new World()
      const store = await world.store()
      await store.create([newRun(1), newRun(2)])
      await end(store, first, 'completed')
      if (isApart) await store.compactor.archive()
      await end(store, second, 'completed')
      await store.compactor.archive()
      expect(store.replica.archive.state.segments).toHaveLength(isApart ? 2 : 1)
      expect(await newest(store)).toBe(idOf(2))
      await world.close()
    }
  }
})

test('a snapshot that does not say which run is older is read as before: by when they were created', async () => {
  const world = new World()
  const store = await world.store()
  await store.create([newRun(1)])
  await world.clock.advance(1)
  await store.create([newRun(2)])
  await end(store, 1, 'completed')
  await store.compactor.snapshot()
  const [key = ''] = world.space.list(SNAPSHOTS).map((each) => each.key)
  const body = String(world.space.read(key)?.body)
  expect(body).toContain(',"older":true')
  world.space.write(key, body.replaceAll(',"older":true', ''))
  expect(await newest(await world.store())).toBe(idOf(2))
  await world.close()
})

test('an answer about a name that took long is not remembered when a newer run has ended meanwhile', async () => {
  const world = new World()
  const first = await world.store()
  await first.create([newRun(1)])
  await end(first, 1, 'failed')
  await first.compactor.archive()
  await world.clock.advance(1)
  const store = await world.store()
  const gate = Promise.withResolvers<void>()
  world.bucket.held = gate.promise
  const asking = newest(store)
  await world.bucket.asked.promise
  world.bucket.held = undefined
  await store.create([newRun(2)])
  await end(store, 2, 'completed')
  await store.compactor.archive()
  gate.resolve()
  // The result was right when the search began.
  expect(await asking).toBe(idOf(1))
  expect(await newest(store)).toBe(idOf(2))
  const refused = { outcome: 'refused', runId: idOf(2) }
  expect(await store.create([newRun(3, { reuse: 'allowIfFailed' })])).toEqual([refused])
  await world.close()
})

test('a name that is known is of no use without its run, however many others were looked for since', async () => {
  const world = new World()
  const store = await world.store()
  await store.create([newRun(1)])
  await end(store, 1, 'completed')
  await store.compactor.archive()
  const refused = { outcome: 'refused', runId: idOf(1) }
  expect(await store.create([newRun(2, { reuse: 'reject' })])).toEqual([refused])
  const others = Array.from({ length: 10_000 }, (_, n) => idOf(100 + n))
  await store.replica.archive.look(others, [])
  expect(await store.create([newRun(3, { reuse: 'reject' })])).toEqual([refused])
  await world.close()
})
