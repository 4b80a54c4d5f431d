// Several processes write to one log, in virtual time: the share of each, and how long renewals and readers wait.
import { describe, expect, test } from 'vitest'
import type { SessionBeat } from '../../src/core/stores/store.ts'
import { BusyWorld, type Latency } from './busy-writers.ts'

const DURING_MS = 20_000
/** A lease of 30 seconds is renewed every 10. */
const RENEWAL_MS_MAX = 5_000
const LOAD_MS_MAX = 500
/** The minimum of a process, as a share of an equal distribution. */
const SHARE_MIN = 0.3

const latencies: readonly Latency[] = [
  { putMs: 30, getMs: 15, jitter: 0.15 },
  { putMs: 30, getMs: 15, jitter: 0.5 },
  { putMs: 30, getMs: 15, jitter: 0.8 },
  { putMs: 30, getMs: 30, jitter: 0.15 },
  { putMs: 30, getMs: 30, jitter: 0.5 },
  { putMs: 30, getMs: 30, jitter: 0.8 },
]

function beat(n: number): SessionBeat {
  return { session: 5, worker: 'w', beat: n, ttlMs: 30_000, tasks: [], about: '' }
}

interface Outcome {
  /** The number of runs that each busy process created. */
  readonly created: readonly number[]
  readonly renewalMs: number
  readonly loadMs: number
}

/** `busy` processes always have something to write; one more only renews its session and reads. */
async function contend(latency: Latency, busy: number): Promise<Outcome> {
  const world = new BusyWorld(latency)
  const writers = Array.from({ length: busy }, () => world.store().store)
  const { store } = world.store()
  let isOver = false
  const loops = writers.map((writer) => world.create(writer, 4, () => isOver))
  let [renewalMs, loadMs] = [0, 0]
  const end = world.clock.now() + DURING_MS
  await world.clock.advance(500)
  for (let n = 1; world.clock.now() < end; n++) {
    const renewed = await world.during(store.renew(beat(n)), DURING_MS)
    const loaded = await world.during(store.load([{ type: 'sessions' }]), DURING_MS)
    renewalMs = Math.max(renewalMs, renewed.ms)
    loadMs = Math.max(loadMs, loaded.ms)
    await world.clock.advance(500)
  }
  isOver = true
  const { value: created } = await world.during(Promise.all(loops), DURING_MS)
  return { created, renewalMs, loadMs }
}

describe.each(latencies)('stores D4: PUT $putMs ms, GET $getMs ms, ±$jitter', (latency) => {
  test.each([1, 4, 16])('%i busy writers starve neither each other nor a renewal', async (busy) => {
    const { created, renewalMs, loadMs } = await contend(latency, busy)
    const fair = created.reduce((sum, count) => sum + count, 0) / busy
    expect(Math.min(...created), String(created)).toBeGreaterThan(fair * SHARE_MIN)
    expect(renewalMs).toBeLessThan(RENEWAL_MS_MAX)
    expect(loadMs).toBeLessThan(LOAD_MS_MAX)
  })
})

test('stores D4: a process that is far behind reads to a goal, in a few round trips', async () => {
  const world = new BusyWorld({ putMs: 30, getMs: 30, jitter: 0 })
  const behind = world.store()
  await world.during(behind.store.open(), DURING_MS)
  const { store } = world.store()
  const until = world.clock.now() + DURING_MS
  await world.during(
    world.create(store, 1, () => world.clock.now() >= until),
    2 * DURING_MS,
  )
  const before = behind.requests.copy()
  const { ms } = await world.during(behind.store.load([{ type: 'sessions' }]), DURING_MS)
  const { get, list } = behind.requests.since(before)
  const objects = world.space.list('log/').length
  expect(objects).toBeGreaterThan(500)
  expect(list).toBe(1)
  expect(get).toBeLessThan(objects + 10)
  expect(ms / 30).toBeLessThan(objects / 32 + 10)
})

test('stores D4: a process that writes alone never waits for others', async () => {
  const world = new BusyWorld({ putMs: 30, getMs: 15, jitter: 0 })
  const { store, requests } = world.store()
  await world.during(store.open(), DURING_MS)
  const before = requests.copy()
  const until = world.clock.now() + DURING_MS
  await world.during(
    world.create(store, 1, () => world.clock.now() >= until),
    2 * DURING_MS,
  )
  const { put, get } = requests.since(before)
  // After 64 writes in a row, the writer waits as long as another process needs to read and write.
  expect(put).toBeGreaterThan((DURING_MS / 30) * 0.97)
  expect(get).toBe(0)
})

test('stores D4: readers are answered while their process waits for others to write', async () => {
  const world = new BusyWorld({ putMs: 1_000, getMs: 10, jitter: 0 })
  const [one, other] = [world.store().store, world.store().store]
  let isOver = false
  const loops = [one, other].map((store) => world.create(store, 1, () => isOver))
  await world.clock.advance(60_000)
  for (let n = 0; n < 20; n++) {
    const { ms } = await world.during(one.load([{ type: 'sessions' }]), DURING_MS)
    // At most one write in progress, and the reader's own requests.
    expect(ms).toBeLessThan(1_200)
    await world.clock.advance(333)
  }
  isOver = true
  await world.during(Promise.all(loops), DURING_MS)
})
