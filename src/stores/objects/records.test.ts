// Records, pins and compensating runs in the log, in snapshots and in segments, and logs of versions without them.
import { expect, test } from 'vitest'
import { PawlError } from '../../core/base/errors.ts'
import type { RecordOperation } from '../../core/stores/store.ts'
import { apply, ended, hold, openSession, released, turn } from '../../testing/conformance/builders.ts'
import { idFor } from '../../testing/conformance/labels.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { examine } from './doctor/doctor.ts'
import { ABOUT, ENDED, LOG, SNAPSHOTS } from './layout.ts'
import { ObjectStore } from './store.ts'

const GRACE_MS = 1_000

class World {
  readonly clock = new VirtualClock()
  readonly space = new MemoryObjects(this.clock)
  readonly #stores: ObjectStore[] = []

  constructor() {
    this.space.write(ABOUT, '{ "pawl": 1 }\n')
  }

  store(snapshotEvery = 4): ObjectStore {
    const settings = { snapshotEvery, archiveAt: 1, graceMs: GRACE_MS }
    const bucket = new MemoryBucket(this.space, this.clock)
    const store = new ObjectStore({ bucket, clock: this.clock, settings, projects: false })
    this.#stores.push(store)
    return store
  }

  async problems(): Promise<string[]> {
    const { problems } = await examine(new MemoryBucket(this.space, this.clock))
    return problems.map(({ problem }) => problem)
  }

  edit(change: (text: string) => string): void {
    for (const prefix of [LOG, SNAPSHOTS]) {
      for (const { key } of this.space.list(prefix)) this.space.write(key, change(String(this.space.read(key)?.body)))
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()))
  }
}

function put(key: string, version: number): Extract<RecordOperation, { type: 'put' }> {
  const body = JSON.stringify(`${key} at ${version}`)
  return { type: 'put', space: 's', key, version, body, writeId: 1_000 + version }
}

const list: RecordOperation = { type: 'list', space: 's', limit: 100 }

test('records outlive the log they were written in', async () => {
  const world = new World()
  const store = world.store()
  for (let version = 0; version < 20; version++) {
    await store.records([put('often', version)])
    if (version < 5) await store.records([put(`once ${version}`, 0)])
    await world.clock.advance(GRACE_MS)
  }
  await store.compactor.snapshot()
  await world.clock.advance(2 * GRACE_MS)
  await store.compactor.sweepAll()
  expect(world.space.list(LOG).length).toBeLessThan(8)
  const fresh = world.store()
  const [listed] = await fresh.records([list])
  expect(listed).toEqual({
    type: 'list',
    records: [
      { key: 'often', version: 20, body: put('often', 19).body },
      ...[0, 1, 2, 3, 4].map((n) => ({
        key: `once ${n}`,
        version: 1,
        body: put(`once ${n}`, 0).body,
      })),
    ],
  })
  const again = await fresh.records([put('often', 19), put('once 0', 0), put('often', 3)])
  expect(again).toMatchObject([
    { outcome: 'applied' },
    { outcome: 'applied' },
    { outcome: 'conflict', record: { version: 20 } },
  ])
  expect(await world.problems()).toEqual([])
  await world.close()
})

test('the doctor sees a record that a snapshot has and the log has not', async () => {
  const world = new World()
  const store = world.store(1_000)
  await store.records([put('a', 0), put('b', 0)])
  await store.compactor.snapshot()
  expect(await world.problems()).toEqual([])
  for (const { key } of world.space.list(SNAPSHOTS)) {
    const text = String(world.space.read(key)?.body)
    world.space.write(key, text.replace('a at 0', 'a at 9'))
  }
  expect((await world.problems()).join()).toContain('record ["s","a"] differs')
  await world.close()
})

test('runs that were archived are found by their pin, and listed segments are whole', async () => {
  const world = new World()
  const store = world.store(1_000)
  await openSession(store)
  for (const [label, pin] of [
    ['a', 'x'],
    ['b', undefined],
    ['c', 'y'],
  ] as const) {
    const run = await hold(store, idFor(label))
    await apply(
      store,
      turn(run, {
        body: '{"version":1,"build":"","events":[{}]}',
        next: ended,
        ...(pin && { pin }),
      }),
    )
  }
  const live = await hold(store, idFor('d'))
  const marks = { pin: 'x', compensating: true }
  await apply(store, turn(live, { ...marks, body: '{"version":1,"build":"","events":[{}]}', next: released() }))
  await store.compactor.archive()
  await store.compactor.snapshot()
  expect(world.space.list(ENDED)).toHaveLength(1)
  for (const each of [store, world.store()]) {
    const { runs } = await each.list({ limit: 9, pin: 'x' })
    const found = new Map(runs.map(({ head, status }) => [head.runId, status]))
    expect(found).toEqual(
      new Map([
        [idFor('a'), 'completed'],
        [idFor('d'), 'compensating'],
      ]),
    )
    expect((await each.list({ limit: 9, pin: 'y', count: true })).count).toBe(1)
  }
  expect(await world.problems()).toEqual([])
  await world.close()
})

test('a log from before records is read, and goes on', async () => {
  const world = new World()
  const store = world.store(2)
  const run = await hold(store, idFor('run'))
  await apply(store, turn(run, { next: released() }))
  await store.close()
  world.edit((text) => text.replace('"pawl":4', '"pawl":1'))
  const later = world.store(2)
  expect((await later.list({ limit: 9 })).runs).toHaveLength(1)
  expect(await later.records([list, put('a', 0), list])).toMatchObject([
    { records: [] },
    { outcome: 'applied' },
    { records: [{ key: 'a' }] },
  ])
  expect(await world.store().records([list])).toMatchObject([{ records: [{ key: 'a' }] }])
  await world.close()
})

test('what a newer pawl wrote is left alone', async () => {
  const world = new World()
  await world.store().records([put('a', 0)])
  world.edit((text) => text.replace('"pawl":4', '"pawl":5'))
  const refused = await world
    .store()
    .records([list])
    .catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(PawlError)
  expect(refused).toMatchObject({ code: 'SCHEMA_TOO_NEW' })
  await world.close()
})

test('who only asks writes nothing', async () => {
  const world = new World()
  const store = world.store(1_000)
  await store.records([put('a', 0)])
  const before = world.space.list(LOG).length
  await store.records([list, { type: 'get', space: 's', key: 'a' }])
  await store.records([put('a', 0), put('a', 7), list])
  expect(world.space.list(LOG)).toHaveLength(before)
  await world.close()
})
