// Snapshots in parts: their cost, their agreement with the log, and crashes at every request.
import { expect, test } from 'vitest'
import { sleep, systemClock } from '../../core/runtime/clock.ts'
import type { NewRun } from '../../core/stores/store.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { Bucket } from './bucket.ts'
import type { CompactorSettings } from './compactor.ts'
import { examine } from './doctor/doctor.ts'
import { ABOUT, LOG, PARTS, SNAPSHOTS } from './layout.ts'
import { captureAll, linesOf, type Manifest, manifestIn } from './snapshot.ts'
import { ObjectStore } from './store.ts'

const GRACE_MS = 1_000
const SESSION = 77

function newRun(n: number, bytes = 100): NewRun {
  const runId = `01890000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
  const names = { name: 'order', queue: 'default', priority: 0, digest: `digest ${n}` }
  const input = JSON.stringify({ json: 'x'.repeat(bytes) })
  return { runId, workflowId: runId, reuse: 'allow', input, ...names }
}

/** A bucket whose process dies at one request, before or after it arrives. */
class Mortal {
  requests = 0
  dies: { at: number; before: boolean } | undefined

  wrap(inner: Bucket): Bucket {
    const send = async <T>(call: () => Promise<T>): Promise<T> => {
      const { dies } = this
      if (!dies) return call()
      this.requests++
      if (this.requests > dies.at || (this.requests === dies.at && dies.before)) throw new Error('dead')
      const out = await call()
      if (this.requests === dies.at) throw new Error('dead')
      return out
    }
    return {
      name: inner.name,
      now: () => inner.now(),
      create: (key, body) => send(() => inner.create(key, body)),
      put: (key, body) => send(() => inner.put(key, body)),
      get: (key, range) => inner.get(key, range),
      list: (prefix, page) => inner.list(prefix, page),
      delete: (keys) => send(() => inner.delete(keys)),
      close: () => inner.close(),
    }
  }
}

class World {
  readonly clock = new VirtualClock()
  readonly space = new MemoryObjects(this.clock)
  readonly #settings: Partial<CompactorSettings>

  constructor(settings: Partial<CompactorSettings> = {}) {
    const never = { snapshotEvery: 1_000_000, archiveAt: 1_000_000, graceMs: GRACE_MS }
    this.#settings = { ...never, snapshotBytes: 1_000, partBytes: 4_000, ...settings }
    this.space.write(ABOUT, '{ "pawl": 1 }\n')
  }

  store(mortal = new Mortal()): ObjectStore {
    const { clock } = this
    const bucket = mortal.wrap(new MemoryBucket(this.space, clock))
    return new ObjectStore({ bucket, clock, settings: this.#settings, projects: false })
  }

  keys(prefix: string): string[] {
    return this.space.list(prefix).map(({ key }) => key)
  }

  manifests(): Manifest[] {
    return this.keys(SNAPSHOTS).map((key) => manifestIn(key, String(this.space.read(key)?.body)))
  }

  async problems(): Promise<string[]> {
    const { problems } = await examine(new MemoryBucket(this.space, this.clock))
    return problems.map(({ problem }) => problem)
  }

  /** Compares what a process that starts now reads with what another has in memory. */
  async same(store: ObjectStore): Promise<void> {
    const fresh = this.store()
    await fresh.open()
    await store.open()
    expect(contents(fresh)).toEqual(contents(store))
    await fresh.close()
  }
}

function contents(store: ObjectStore): string[] {
  return [...linesOf(captureAll(store.replica.dump()))].map((line) => JSON.stringify(line)).sort()
}

test('stores, object storage at size: a snapshot writes what has changed, and all of it when that is half', async () => {
  const world = new World()
  const store = world.store()
  await store.create(Array.from({ length: 200 }, (_, n) => newRun(n)))
  await store.compactor.snapshot()
  const [first] = world.manifests()
  const whole = first?.parts?.length ?? 0
  expect(whole).toBeGreaterThan(10)
  const sizes: number[] = []
  for (let round = 0; round < 40; round++) {
    const message = { id: `m${round}`, body: '{}' }
    const runs = Array.from({ length: 10 }, (_, n) => newRun((round * 10 + n) % 200).runId)
    await store.post(runs.map((runId) => ({ runId, message })))
    await store.compactor.snapshot()
    await world.same(store)
    const { parts = [], n } = world.manifests().at(-1) ?? {}
    sizes.push(parts.filter((part) => part.n === n).length)
  }
  // Most snapshots write little; now and then one writes everything.
  expect(sizes.filter((count) => count <= 2).length).toBeGreaterThan(30)
  expect(sizes.filter((count) => count >= whole).length).toBeGreaterThan(0)
  expect(await world.problems()).toEqual([])
  await store.close()
})

test('runs, tasks, sessions and records that came, changed and went are as the log says', async () => {
  const world = new World({ archiveAt: 1 })
  const store = world.store()
  await store.renew({ session: SESSION, worker: 'w', beat: 1, ttlMs: 1e9, tasks: [], about: '{}' })
  await store.create(Array.from({ length: 100 }, (_, n) => newRun(n)))
  await store.compactor.snapshot()
  for (let n = 100; n < 130; n++) {
    const eager = { session: SESSION, nonce: 9 }
    const [created] = await store.create([{ ...newRun(n), eager }])
    const run = created?.outcome === 'created' ? created.run : undefined
    if (!run) throw new Error('not created')
    const task = { taskId: `task ${n}`, name: 'a', queue: 'default', priority: 0, body: '{}' }
    const about = { runId: run.head.runId, lease: run.lease, generation: 1, at: 0 }
    const body = '{"version":1,"build":"","events":[{}]}'
    const rest = { consumed: [], outbox: [], count: 1, body, ...about }
    const hold = { ...rest, turnId: 5, seq: 0, tasks: [task], dropped: [], next: { type: 'hold' } }
    await store.commit([{ ...hold, next: { type: 'hold' } }])
    if (n % 3 === 0) await store.compactor.snapshot()
    const end = { ...rest, turnId: 6, seq: 1, tasks: [], dropped: n % 2 ? [task.taskId] : [] }
    await store.commit([{ ...end, next: { type: 'end', status: 'completed' } }])
    const record = { type: 'put', space: 's', key: `k${n % 4}`, body: '1' } as const
    await store.records([{ ...record, version: Math.floor((n - 100) / 4), writeId: n }])
    const beat = { session: n, worker: 'w', ttlMs: 1e9, tasks: [], about: '{}' }
    await store.renew({ ...beat, beat: 1 })
    if (n % 2) await store.renew({ ...beat, beat: 2, close: true })
    if (n % 5 === 0) await store.compactor.archive()
    await store.compactor.snapshot()
    await world.same(store)
  }
  expect(world.manifests().some(({ n, parts = [] }) => parts.some((part) => part.n < n))).toBe(true)
  expect(await world.problems()).toEqual([])
  await store.close()
})

test('a long history is several lines, and comes back whole', async () => {
  const world = new World()
  const store = world.store()
  await store.renew({ session: SESSION, worker: 'w', beat: 1, ttlMs: 1e9, tasks: [], about: '{}' })
  const [created] = await store.create([{ ...newRun(1), eager: { session: SESSION, nonce: 9 } }])
  const run = created?.outcome === 'created' ? created.run : undefined
  if (!run) throw new Error('not created')
  const body = JSON.stringify({ version: 1, build: 'x'.repeat(700_000), events: [{}] })
  const about = { runId: run.head.runId, lease: run.lease, generation: 1, at: 0, count: 1, body }
  const rest = { consumed: [], outbox: [], tasks: [], dropped: [], next: { type: 'hold' } } as const
  for (let seq = 0; seq < 8; seq++) await store.commit([{ ...about, ...rest, turnId: seq + 1, seq }])
  await store.compactor.snapshot()
  const lines = [...linesOf(captureAll(store.replica.dump()))]
  expect(lines.filter((line) => 'of' in line).length).toBeGreaterThan(2)
  for (const line of lines) expect(JSON.stringify(line).length).toBeLessThan(2_500_000)
  await world.same(store)
  expect(await world.problems()).toEqual([])
  await store.close()
})

test('writing a snapshot lets everything else have its turn', async () => {
  const space = new MemoryObjects(systemClock)
  const bucket = new MemoryBucket(space, systemClock)
  const settings = { snapshotEvery: 1_000_000 }
  const store = new ObjectStore({ bucket, clock: systemClock, settings, projects: false })
  for (let from = 0; from < 20_000; from += 1_000) {
    await store.create(Array.from({ length: 1_000 }, (_, n) => newRun(from + n, 2_000)))
  }
  let turns = 0
  let isOver = false
  const others = (async () => {
    while (!isOver) {
      await sleep(systemClock, 0)
      turns++
    }
  })()
  await store.compactor.snapshot()
  isOver = true
  await others
  // Forty megabytes take at least forty milliseconds, in slices of five.
  expect(turns).toBeGreaterThan(3)
  expect(space.list(PARTS).length).toBeGreaterThan(3)
  await store.close()
})

test('a death before or after any object of a snapshot or a sweep harms nothing', async () => {
  for (let at = 1, deaths = 1; deaths > 0; at++) {
    deaths = 0
    for (const before of [true, false]) {
      const world = new World({ archiveAt: 1 })
      const other = world.store()
      await other.create(Array.from({ length: 40 }, (_, n) => newRun(n)))
      await other.compactor.snapshot()
      await world.clock.advance(2 * GRACE_MS)
      const mortal = new Mortal()
      const store = world.store(mortal)
      await store.create([newRun(100)])
      const message = { id: 'm', body: '{}' }
      await store.post([{ runId: newRun(1).runId, message }])
      mortal.dies = { at, before }
      const died = await store.compactor
        .snapshot()
        .then(() => store.compactor.sweep(store.replica.at))
        .then(() => store.create([newRun(101)]))
        .then(() => store.compactor.snapshot())
        .then(
          () => false,
          () => true,
        )
      if (died) deaths++
      await world.same(other)
      expect(await world.problems()).toEqual([])
      // The next process writes a snapshot, and deletes what is left over.
      await other.create([newRun(102)])
      await other.compactor.snapshot()
      await world.clock.advance(3 * GRACE_MS)
      await other.create([newRun(103)])
      await other.compactor.sweepAll()
      await world.same(other)
      expect(await world.problems()).toEqual([])
      const listed = new Set(world.manifests().flatMap(({ parts = [] }) => parts.map(({ key }) => key)))
      expect(new Set(world.keys(PARTS))).toEqual(listed)
      await other.close()
    }
  }
})

test('a snapshot that was finished after its parts were swept away is passed over, and covers nothing', async () => {
  const world = new World()
  const store = world.store()
  await store.create(Array.from({ length: 40 }, (_, n) => newRun(n)))
  await store.compactor.snapshot()
  const late = world.store()
  await late.open()
  await store.create([newRun(100)])
  await store.compactor.snapshot()
  const [, newest = ''] = world.keys(SNAPSHOTS)
  const { parts = [] } = world.manifests().at(-1) ?? {}
  world.space.remove(parts.at(-1)?.key ?? '')
  await world.same(late)
  // The incomplete snapshot is old enough now, but the log after the complete one stays.
  await world.clock.advance(3 * GRACE_MS)
  const log = world.keys(LOG)
  await store.compactor.sweep(store.replica.at)
  expect(world.keys(LOG)).toEqual(log)
  // The next snapshot is complete, and then the incomplete one is deleted.
  await store.create([newRun(101)])
  await store.compactor.snapshot()
  await world.same(store)
  await world.clock.advance(3 * GRACE_MS)
  await store.create([newRun(102)])
  await store.compactor.sweepAll()
  expect(world.keys(SNAPSHOTS)).not.toContain(newest)
  expect(world.keys(LOG)).not.toContain(log[0])
  await world.same(store)
  expect(await world.problems()).toEqual([])
  await Promise.all([store.close(), late.close()])
})

test('the doctor names a part that is missing, and a process that starts does, if nothing else serves', async () => {
  const world = new World()
  const store = world.store()
  await store.create(Array.from({ length: 40 }, (_, n) => newRun(n)))
  await store.compactor.snapshot()
  await world.clock.advance(3 * GRACE_MS)
  await store.create([newRun(100)])
  await store.compactor.sweepAll()
  const [part = ''] = world.keys(PARTS)
  const body = String(world.space.read(part)?.body)
  world.space.remove(part)
  expect((await world.problems()).join()).toContain(`${part} is missing`)
  const fresh = world.store()
  await expect(fresh.open()).rejects.toThrow(part)
  world.space.write(part, body)
  await fresh.open()
  await Promise.all([store.close(), fresh.close()])
})
