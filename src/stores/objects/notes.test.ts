// The cost of notes in the log, and reading them from logs of older versions.
import { expect, test } from 'vitest'
import { note } from '../../core/stores/rules/index.ts'
import { noteKey } from '../../core/stores/rules/read.ts'
import type { Changes, RunChange } from '../../core/stores/rules/row.ts'
import { Tables } from '../../core/stores/rules/tables.ts'
import { Transaction } from '../../core/stores/rules/transaction.ts'
import type { Note, Store } from '../../core/stores/store.ts'
import { apply, continued, hold, turn } from '../../testing/conformance/builders.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { LOG } from './layout.ts'
import { ObjectStore } from './store.ts'

const BODY_BYTES = 20_000
const COUNT = 40

function noteOf(n: number, overrides: Partial<Note> = {}): Note {
  const of = { runId: 'run', generation: 1, key: `step:copy#${n}`, name: 'heartbeat' }
  return { ...of, body: String(n % 10).repeat(BODY_BYTES), ...overrides }
}

async function bodyOf(store: Store, { key, generation }: Note): Promise<string | undefined> {
  const [loaded] = await store.load([{ type: 'notes', runId: 'run', generation, key }])
  return loaded?.type === 'notes' ? loaded.notes['heartbeat'] : undefined
}

class World {
  readonly clock = new VirtualClock()
  readonly space = new MemoryObjects(this.clock)

  store(snapshotEvery = 1_000): ObjectStore {
    const bucket = new MemoryBucket(this.space, this.clock)
    const settings = { snapshotEvery }
    return new ObjectStore({ bucket, clock: this.clock, settings, projects: false })
  }

  get logBytes(): number {
    return this.space.list(LOG).reduce((sum, { bytes }) => sum + bytes, 0)
  }
}

test('a note costs what it is long, however many there are of the run', async () => {
  const world = new World()
  const store = world.store()
  await hold(store)
  const before = world.logBytes
  for (let n = 0; n < COUNT; n++) await store.note([noteOf(n)])
  expect(world.logBytes - before).toBeLessThan(COUNT * (BODY_BYTES + 1_000))
  const other = world.store()
  for (let n = 0; n < COUNT; n++) {
    expect(await bodyOf(other, noteOf(n))).toBe(noteOf(n).body)
  }
  await store.close()
  await other.close()
})

test.each([3, 1_000])('notes outlive snapshots every %d objects, and end with their generation', async (every) => {
  const world = new World()
  const store = world.store(every)
  const run = await hold(store)
  for (let n = 0; n < 8; n++) await store.note([noteOf(n), noteOf(n, { body: `"${n}"` })])
  const other = world.store(every)
  for (let n = 0; n < 8; n++) expect(await bodyOf(other, noteOf(n))).toBe(`"${n}"`)
  await apply(store, turn(run, { next: continued() }))
  await store.note([noteOf(1, { generation: 2, body: '"new"' })])
  for (const each of [store, other, world.store(every)]) {
    expect(await bodyOf(each, noteOf(1))).toBeUndefined()
    expect(await bodyOf(each, noteOf(1, { generation: 2 }))).toBe('"new"')
    await each.close()
  }
})

const nothing = { tasks: [], tasksGone: [], sessions: [], sessionsGone: [], records: [] }

function changesOf(run: Omit<RunChange, 'runId'>): Changes {
  return { ...nothing, runs: [{ runId: 'run', ...run }] }
}

function born(): Tables {
  const tables = new Tables()
  const head = { runId: 'run', workflowId: 'run', name: 'order', queue: 'default', priority: 0 }
  const rest = { generation: 1, createdAt: 0, input: '{}' }
  tables.apply(changesOf({ born: { head: { ...head, ...rest }, digest: '', startAt: 0 } }), 0)
  return tables
}

test('a log that has all notes of a run in every change is read as before', () => {
  const tables = born()
  const [a, b] = [noteKey(1, 'a', 'heartbeat'), noteKey(1, 'b', 'heartbeat')]
  tables.apply(changesOf({ set: { notes: { [a]: '1' } } }), 0)
  tables.apply(changesOf({ set: { notes: { [a]: '1', [b]: '2' } } }), 0)
  const tx = new Transaction(tables, 0)
  note(tx, { runId: 'run', generation: 1, key: 'a', name: 'heartbeat', body: '3' })
  expect(tx.changes().runs).toEqual([{ runId: 'run', noted: { [a]: '3' } }])
  tables.apply(tx.changes(), 0)
  expect(tables.run('run')?.notes).toEqual({ [a]: '3', [b]: '2' })
})

test('notes that go and come in one change leave only the new ones', () => {
  const tables = born()
  const of = { runId: 'run', generation: 1, name: 'heartbeat' }
  tables.apply(changesOf({ noted: { [noteKey(1, 'a', 'heartbeat')]: '1' } }), 0)
  const tx = new Transaction(tables, 0)
  const row = tx.run('run')
  if (row) tx.dropNotes(row)
  note(tx, { ...of, key: 'b', body: '2' })
  tables.apply(tx.changes(), 0)
  expect(tables.run('run')?.notes).toEqual({ [noteKey(1, 'b', 'heartbeat')]: '2' })
})
