// Which segments a search for one of very many ended runs reads.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deriveUuid, deriveUuidNear } from '../../core/base/digest.ts'
import type { NewRun } from '../../core/stores/store.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { Bloom } from './bloom.ts'
import { examine } from './doctor/doctor.ts'
import { ABOUT, ENDED, LOG } from './layout.ts'
import type { Segment } from './segment.ts'
import { ObjectStore } from './store.ts'

const SESSION = 77
const SEGMENTS = 7
const RUNS = 300

test('a filter rules out nothing that is in it, and most of what is not', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { maxLength: 300 }), (texts) => {
      const bloom = Bloom.decode(Bloom.of(texts).encode())
      expect(texts.every((text) => bloom.mayHave(text))).toBe(true)
    }),
  )
  const bloom = Bloom.of(Array.from({ length: 10_000 }, (_, n) => `in ${n}`))
  const others = Array.from({ length: 10_000 }, (_, n) => `out ${n}`)
  expect(others.filter((text) => bloom.mayHave(text)).length).toBeLessThan(200)
  expect(Bloom.of([]).mayHave('')).toBe(false)
})

/** Counts the reads of segments. */
class CountingBucket extends MemoryBucket {
  bytes = 0
  requests = 0

  override async get(...args: Parameters<MemoryBucket['get']>): Promise<string | undefined> {
    const text = await super.get(...args)
    if (args[0].startsWith(ENDED)) {
      this.requests++
      this.bytes += text?.length ?? 0
    }
    return text
  }
}

type IdOf = (n: number) => string

/** Root runs, whose ids begin with the time; their children, with ids near them; and runs with an idempotency key. */
const root: IdOf = (n) => {
  const time = (1_700_000_000_000 + n * 1_000).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}
const child: IdOf = (n) => deriveUuidNear(root(n), 'child')
const sibling: IdOf = (n) => deriveUuidNear(root(n), 'another child')
const keyed: IdOf = (n) => deriveUuid('keyed', String(n))
const kinds = [root, child, keyed]

function newRun(runId: string, workflowId: string): NewRun {
  const names = { name: 'order', queue: 'default', priority: 0, digest: 'd', input: '{"json":1}' }
  return { runId, workflowId, reuse: 'allow', eager: { session: SESSION, nonce: 9 }, ...names }
}

function idAt(n: number): string {
  return (kinds[n % kinds.length] ?? root)(n)
}

function nameAt(n: number): string {
  return n % 2 ? `order ${n}` : idAt(n)
}

class World {
  readonly clock = new VirtualClock()
  readonly space = new MemoryObjects(this.clock)

  constructor() {
    this.space.write(ABOUT, '{ "pawl": 1 }\n')
  }

  store(): { store: ObjectStore; bucket: CountingBucket } {
    const { clock } = this
    const bucket = new CountingBucket(this.space, clock)
    const settings = { snapshotEvery: 1_000_000, archiveAt: 1_000_000 }
    return { store: new ObjectStore({ bucket, clock, settings, projects: false }), bucket }
  }

  /** Writes ended runs into several segments. */
  async fill(): Promise<void> {
    const { store } = this.store()
    const about = { worker: 'w', ttlMs: 1e9, tasks: [], about: '{}' }
    await store.renew({ session: SESSION, beat: 1, ...about })
    for (let from = 0; from < SEGMENTS * RUNS; from += RUNS) {
      const runs = Array.from({ length: RUNS }, (_, n) => newRun(idAt(from + n), nameAt(from + n)))
      const turns = (await store.create(runs)).flatMap((each) => {
        if (each.outcome !== 'created' || !each.run) return []
        const { head, lease } = each.run
        const turn = { runId: head.runId, lease, generation: 1, turnId: 5, seq: 0, count: 1, at: 0 }
        const body = '{"version":1,"build":"","events":[{}]}'
        const rest = { consumed: [], outbox: [], tasks: [], dropped: [], body }
        return [{ ...turn, ...rest, next: { type: 'end', status: 'completed' } as const }]
      })
      await store.commit(turns)
      await store.compactor.archive()
    }
    expect(store.replica.archive.state.segments).toHaveLength(SEGMENTS)
    await store.close()
  }

  /** Rewrites the segments and their list as releases without filters wrote them. */
  forgetFilters(): void {
    for (const { key } of this.space.list(LOG)) {
      const text = String(this.space.read(key)?.body)
      const lines = text.split('\n').filter((line) => line !== '')
      const old = lines.map((line) => {
        const value = JSON.parse(line) as { archive?: { added: Segment[] }; pawl?: number }
        if (value.pawl) return { ...value, pawl: 2 }
        if (!value.archive) return value
        const added = value.archive.added.map((segment) => {
          const { filter = 0, near: _, bytes: __, ...rest } = segment
          const body = String(this.space.read(segment.key)?.body)
          this.space.write(segment.key, body.slice(filter))
          return rest
        })
        return { archive: { ...value.archive, added } }
      })
      this.space.write(key, old.map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
  }

  async problems(): Promise<string[]> {
    const { problems } = await examine(new MemoryBucket(this.space, this.clock))
    return problems.map(({ problem }) => problem)
  }
}

async function findAll(store: ObjectStore): Promise<void> {
  for (let n = 0; n < SEGMENTS * RUNS; n += 97) {
    const [run, named] = await store.load([
      { type: 'run', runId: idAt(n) },
      { type: 'named', workflowId: nameAt(n) },
    ])
    expect(run).toMatchObject({ run: { status: 'completed' } })
    expect(named).toEqual({ type: 'named', runId: idAt(n) })
  }
  const again = [0, 1, 2].map((n) => ({ ...newRun(idAt(n), nameAt(n)), digest: 'other' }))
  const outcomes = (await store.create(again)).map(({ outcome }) => outcome)
  expect(outcomes).toEqual(['conflict', 'conflict', 'conflict'])
}

test('stores, object storage at size: what is new is not looked for in the indexes of segments', async () => {
  const world = new World()
  await world.fill()
  const { store, bucket } = world.store()
  await store.open()
  const indexes = store.replica.archive.state.segments.reduce((sum, { index }) => sum + index, 0)
  // The child of a run younger than all ended ones: only filters are read, of segments with an id that happens to begin
  // with such a time.
  await store.create([newRun(child(1_000_000), child(1_000_000))])
  expect(bucket.requests).toBeLessThan(SEGMENTS)
  for (let n = 1_000_000; n < 1_000_100; n++) {
    const named = { ...newRun(root(n), `order ${n}`), reuse: 'reject' as const }
    await store.create([newRun(keyed(n), keyed(n)), newRun(sibling(n % 1_000), sibling(n % 1_000)), named])
  }
  const filters = store.replica.archive.state.segments.map(({ filter = 0 }) => filter)
  // Each filter is read once, and few indexes: those of the false positives, about one in a hundred.
  expect(filters.every((bytes) => bytes > 0)).toBe(true)
  expect(bucket.requests).toBeLessThanOrEqual(2 * SEGMENTS + 2)
  expect(filters.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(indexes / 20)
  await store.close()
})

test('what has ended is found by its id and by its name, whatever kind of id it has', async () => {
  const world = new World()
  await world.fill()
  const { store } = world.store()
  await findAll(store)
  expect(await world.problems()).toEqual([])
  await store.close()
})

test('segments from before there were filters are read, and found whole', async () => {
  const world = new World()
  await world.fill()
  world.forgetFilters()
  const { store } = world.store()
  await findAll(store)
  expect(await world.problems()).toEqual([])
  await store.close()
})

test('the doctor sees a filter that is not that of its segment', async () => {
  const world = new World()
  await world.fill()
  const [segment] = world.space.list(ENDED)
  const body = String(world.space.read(segment?.key ?? '')?.body)
  world.space.write(segment?.key ?? '', body.replace(/^"[^"]{8}/, '"AAAAAAAA'))
  expect((await world.problems()).join()).toContain('has a filter that does not match its runs')
})
