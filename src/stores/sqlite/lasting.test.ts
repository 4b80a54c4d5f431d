// What is acknowledged would survive the loss of power. What dies with the machine anyway need not.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../../core/runtime/clock.ts'
import { ALICE, apply, newRun, openSession, take, turn } from '../../testing/conformance/builders.ts'
import { SqliteStore } from './index.ts'

const A = '01900000-0000-7000-8000-000000000001'
const B = '01900000-0000-7000-8000-000000000002'

let folder: string
let store: SqliteStore
/** How SQLite was set at each commit. */
let commits: string[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-lasting-'))
  commits = []
  let setting = 'not set'
  const exec: (this: DatabaseSync, sql: string) => void = Reflect.get(DatabaseSync.prototype, 'exec')
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    setting = /synchronous = (\w+)/.exec(sql)?.[1] ?? setting
    exec.call(this, sql)
  })
  const run: StatementSync['run'] = Reflect.get(StatementSync.prototype, 'run')
  vi.spyOn(StatementSync.prototype, 'run').mockImplementation(function (this: StatementSync, ...args: unknown[]) {
    if (this.sourceSQL === 'commit') commits.push(setting)
    return run.apply(this, args as Parameters<typeof run>)
  })
  store = await SqliteStore.open(`sqlite:${join(folder, 'a.db')}`, systemClock)
})
afterEach(async () => {
  await store.close()
  vi.restoreAllMocks()
  await rm(folder, { recursive: true })
})

test('INV1: starts, renewals, turns and notes that count once are flushed; leases and heartbeats are not', async () => {
  await openSession(store, ALICE)
  await store.create([newRun(A)])
  expect(commits.splice(0)).toEqual(['full', 'full'])
  const run = await take(store, A)
  expect(commits.splice(0)).toEqual(['normal'])
  const note = { runId: A, generation: 1, key: 's', name: 'beat', body: '1' }
  await store.note([note])
  await store.note([note, { ...note, name: 'once:pay', once: true }])
  expect(commits.splice(0)).toEqual(['normal', 'full'])
  await apply(store, turn(run))
  expect(commits).toEqual(['full'])
})

test('INV1: what is written together with a lease is flushed with it', async () => {
  await openSession(store, ALICE)
  await store.create([newRun(A)])
  commits = []
  const note = { runId: A, generation: 1, key: 's', name: 'beat', body: '1' }
  await Promise.all([store.note([note]), store.create([newRun(B)])])
  expect(commits).toEqual(['full'])
})
