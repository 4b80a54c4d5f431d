// What the SQLite store reads when there is much of something: plans of its statements, and slices of its lists.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { open, signal, workflow } from 'pawl'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import type { Status } from '../../src/core/kernel/run.ts'
import { type Clock, systemClock } from '../../src/core/runtime/clock.ts'
import { isReason } from '../../src/core/stores/rules/read.ts'
import type { AttributeTest, HistoryPage, ListQuery } from '../../src/core/stores/store.ts'
import { joins } from '../../src/stores/sql/texts.ts'
import { SqliteStore } from '../../src/stores/sqlite/index.ts'
import { migrations } from '../../src/stores/sqlite/schema.ts'
import { conditionOf } from '../../src/stores/sqlite/sources.ts'
import { sqliteDialect, texts } from '../../src/stores/sqlite/statements.ts'

const RUNS = 20_000
const FIRST_AT = 1_700_000_000_000
const PARENT = '01980000-0000-7000-8000-ffffffffffff'

interface Run {
  readonly id: string
  readonly name: string
  readonly status: Status
  readonly createdAt: number
  readonly workflowId: string
  readonly region: string
  readonly customer: number
  readonly reason?: string
  readonly parent?: string
  readonly pin?: string
}

/** What the n-th run is like. Ids do not follow the time of creation, and some runs are created at the same instant. */
function runOf(n: number): Run {
  const id = `01980000-${hex(n % 7, 4)}-7000-8000-${hex(n, 12)}`
  const live: Status = n % 500 === 0 ? 'paused' : n % 250 === 0 ? 'running' : 'waiting'
  const ended: Status = n % 2_500 === 3 ? 'failed' : n % 5 === 0 ? 'cancelled' : 'completed'
  return {
    id,
    name: n % 4_000 === 1 ? 'rare' : n % 3 === 0 ? 'invoice' : 'order',
    status: n % 10 === 0 ? live : ended,
    createdAt: FIRST_AT + Math.floor(n / 3),
    workflowId: n % 1_000 === 7 ? 'nightly' : id,
    region: n % 2 === 0 ? 'eu' : 'us',
    customer: n % 4_001,
    ...(n % 10 === 0 && live !== 'running' && { reason: n % 20 === 0 ? 'signal:a' : 'signal:b' }),
    ...(ended === 'failed' && { reason: n % 4 === 0 ? 'failed:Rare' : 'failed:Error' }),
    ...(n % 1_250 === 3 && { parent: PARENT }),
    ...(n % 500 === 1 && { pin: 'b1' }),
  }
}

const hex = (n: number, length: number): string => n.toString(16).padStart(length, '0')
const runs = Array.from({ length: RUNS }, (_, n) => runOf(n))
const LIVE: ReadonlySet<Status> = new Set(['waiting', 'running', 'paused'])

function fill(file: string): void {
  const database = new DatabaseSync(file)
  database.exec('pragma synchronous = off; begin')
  const lanes = ['order', 'invoice', 'rare']
  const lane = database.prepare(`insert into pawl_lane values (?, 'run', 'default', ?, 0)`)
  for (const [index, name] of lanes.entries()) lane.run(index + 1, name)
  const run = database.prepare(`insert into pawl_run (run_id, lane, workflow_id, created_at, parent_id, digest, input)
    values (?, ?, ?, ?, ?, 'd', '1')`)
  const closed = database.prepare(`insert into pawl_closed (run_id, status, closed_at, generation, seq, count, turn_id,
    epoch, body, created_at, reason, pin) values (?, ?, ?, 1, 0, 1, 1, 1, '{}', ?, ?, ?)`)
  const live = database.prepare(`insert into pawl_live (run_id, lane, at, start_at, status, updated_at, reason, pin)
    values (?, ?, ?, 0, ?, 0, ?, ?)`)
  const attribute = database.prepare('insert into pawl_attribute values (?, ?, ?, ?, ?)')
  const item = database.prepare('insert into pawl_attribute_item values (?, ?, ?, ?)')
  for (const each of runs) {
    const { id, status, createdAt, workflowId, reason = null, parent = null, pin = null } = each
    const number = lanes.indexOf(each.name) + 1
    run.run(id, number, workflowId === id ? null : workflowId, createdAt, parent)
    if (LIVE.has(status)) live.run(id, number, 8e15, status, reason, pin)
    else closed.run(id, status, createdAt + 1, createdAt, reason, pin)
    attribute.run(id, 'region', 'text', each.region, null)
    attribute.run(id, 'customer', 'number', null, each.customer)
    for (const [place, text] of tagsOf(each).entries()) item.run(id, 'tags', place, text)
  }
  database.exec('commit')
  database.close()
}

const tagsOf = ({ customer, region }: Run): string[] => [`c${customer}`, region]

function fulfils(run: Run, query: ListQuery): boolean {
  const { names, statuses, workflowId, createdAfter, createdBefore, attributes = [] } = query
  if (names && !names.includes(run.name)) return false
  if (statuses && !statuses.includes(run.status)) return false
  if (workflowId !== undefined && run.workflowId !== workflowId) return false
  if (query.workflowIdPrefix !== undefined) {
    if (run.workflowId === run.id || !run.workflowId.startsWith(query.workflowIdPrefix)) return false
  }
  if (query.parentId !== undefined && run.parent !== query.parentId) return false
  if (query.pin !== undefined && run.pin !== query.pin) return false
  if (query.reason !== undefined && !isReason(query.reason, run.reason)) return false
  if (createdAfter !== undefined && run.createdAt < createdAfter) return false
  if (createdBefore !== undefined && run.createdAt >= createdBefore) return false
  return attributes.every(({ name, is, value }) => {
    if (name === 'tags') return tagsOf(run).some((tag) => tag === value)
    const own = name === 'region' ? run.region : run.customer
    return is === 'eq' ? own === value : is === 'gt' && Number(own) > Number(value)
  })
}

const region = (value: string): AttributeTest[] => [{ name: 'region', is: 'eq', value }]
const customer = (value: number): AttributeTest[] => [{ name: 'customer', is: 'eq', value }]
const tag = (value: string): AttributeTest[] => [{ name: 'tags', is: 'eq', value }]
const middle = FIRST_AT + Math.floor(RUNS / 6)

const queries: Record<string, Partial<ListQuery>> = {
  everything: {},
  failed: { statuses: ['failed'] },
  running: { statuses: ['running'] },
  'pending, of which there are none': { statuses: ['pending'] },
  'waiting and failed': { statuses: ['waiting', 'failed'] },
  completed: { statuses: ['completed'] },
  'completed, named twice': { statuses: ['completed', 'completed'] },
  'a rare name': { names: ['rare'] },
  'an unknown name': { names: ['nobody'] },
  'two names': { names: ['rare', 'invoice'] },
  'a rare name that failed': { names: ['rare'], statuses: ['failed', 'completed'] },
  'a workflow id of many runs': { workflowId: 'nightly' },
  'a workflow id that is a run id': { workflowId: runOf(4_711).id },
  'an unknown workflow id': { workflowId: 'nobody' },
  'a rare attribute': { attributes: customer(17) },
  'a common attribute': { attributes: region('eu') },
  'an unknown attribute': { attributes: region('mars') },
  'a common attribute that failed': { attributes: region('us'), statuses: ['failed'] },
  'a rare text of lists': { attributes: tag('c17') },
  'a common text of lists': { attributes: tag('eu') },
  'an unknown text of lists': { attributes: tag('mars') },
  'two texts of lists': { attributes: [...tag('eu'), ...tag('c18')] },
  'a range of attributes': { attributes: [{ name: 'customer', is: 'gt', value: 3_990 }] },
  'two attributes': { attributes: [...region('eu'), ...customer(18)] },
  'the older half that is paused': { statuses: ['paused'], createdBefore: middle },
  'the newer half that failed': { statuses: ['failed'], createdAfter: middle },
  'a workflow id that begins with a text': { workflowIdPrefix: 'night' },
  'an unknown beginning of a workflow id': { workflowIdPrefix: 'x' },
  children: { parentId: PARENT },
  'children that failed': { parentId: PARENT, statuses: ['failed', 'waiting'] },
  'a common reason': { reason: 'signal:a', statuses: ['waiting'] },
  'a kind of reasons': { reason: 'signal:', statuses: ['waiting', 'compensating'] },
  'a rare reason': { reason: 'failed:Rare' },
  'an unknown reason': { reason: 'failed:None', statuses: ['failed'] },
  'a reason of runs that failed, by name': { reason: 'failed:', statuses: ['failed'], names: ['order'] },
  'pinned to a build': { pin: 'b1' },
  'pinned to an unknown build': { pin: 'b2' },
  'an unknown range of attributes': { attributes: [{ name: 'customer', is: 'gt', value: 1e9 }] },
  'a range of attributes that failed': {
    attributes: [{ name: 'customer', is: 'gt', value: 3_000 }],
    statuses: ['failed'],
  },
  'between two instants': { createdAfter: middle, createdBefore: middle + 40 },
}

/** Those that a walk through all runs would be too much for, and how many slices they may take. */
const selective = [
  ...['failed', 'running', 'pending, of which there are none', 'a rare name', 'an unknown name'],
  ...['a rare name that failed', 'a workflow id of many runs', 'a workflow id that is a run id'],
  ...['an unknown workflow id', 'a rare attribute', 'an unknown attribute', 'two attributes'],
  ...['a rare text of lists', 'an unknown text of lists', 'two texts of lists'],
  ...['a workflow id that begins with a text', 'an unknown beginning of a workflow id', 'children'],
  ...['children that failed', 'a rare reason', 'an unknown reason', 'a reason of runs that failed, by name'],
  ...['pinned to a build', 'pinned to an unknown build', 'an unknown range of attributes', 'a range of attributes'],
  ...['a common attribute that failed', 'the newer half that failed', 'between two instants'],
]
const SLICES = 6

describe('stores §2: lists of SQLite with 20,000 runs', () => {
  let folder: string
  let store: SqliteStore
  let pauses = 0
  const clock: Clock = {
    ...systemClock,
    breathe: () => {
      pauses++
      return systemClock.breathe()
    },
  }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-scale-'))
    const file = join(folder, 'pawl.db')
    await (await SqliteStore.open(`sqlite:${file}`, clock)).close()
    fill(file)
    store = await SqliteStore.open(`sqlite:${file}`, clock)
  })
  afterAll(async () => {
    await store.close()
    await rm(folder, { recursive: true })
  })

  test.each(Object.entries(queries))('%s: found newest first, page by page, and counted', async (_, query) => {
    const expected = runs
      .filter((run) => fulfils(run, { ...query, limit: 1 }))
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
      .map(({ id }) => id)
    expect(await store.list({ ...query, limit: 1, count: true })).toEqual({
      runs: [],
      count: expected.length,
    })
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await store.list({ ...query, limit: 40, ...(cursor && { cursor }) })
      found.push(...page.runs.map(({ head }) => head.runId))
      cursor = page.cursor
    } while (cursor !== undefined && found.length < 200)
    expect(found).toEqual(expected.slice(0, found.length))
    expect(found.length).toBeGreaterThanOrEqual(Math.min(200, expected.length))
  })

  test.each(selective)('%s: only a few slices are read', async (what) => {
    const query = queries[what] as Partial<ListQuery>
    pauses = 0
    await store.list({ ...query, limit: 50 })
    expect(pauses).toBeLessThanOrEqual(SLICES)
    pauses = 0
    await store.list({ ...query, limit: 1, count: true })
    expect(pauses).toBeLessThanOrEqual(SLICES)
  })

  test('a walk through everything pauses between slices', async () => {
    pauses = 0
    const between = (['gt', 'lt'] as const).map((is) => ({ name: 'customer', is, value: 2_000 }))
    await store.list({ attributes: between, limit: 50 })
    expect(pauses).toBeGreaterThanOrEqual(RUNS / limits.listSliceRuns)
  })
})

describe('stores §2: plans of the statements of SQLite', () => {
  const database = new DatabaseSync(':memory:')
  for (const migration of migrations) database.exec(migration)
  const planOf = (text: string): string[] =>
    database
      .prepare(`explain query plan ${text}`)
      .all()
      .map(({ detail }) => String(detail))

  test.each(Object.entries(texts))('%s reads no table as a whole', (_name, text) => {
    // Sessions are as many as workers, and lists that are given as JSON are short.
    const scans = planOf(text).filter((step) => /^SCAN (?!pawl_session|json_each|[lp] )/.test(step))
    expect(scans).toEqual([])
  })

  // What is held, sleeping, pinned elsewhere or paused by this build is passed by without a look.
  const indexes: [keyof typeof texts, string][] = [
    ['dueRuns', 'pawl_live_due (session=? AND lane=? AND pin=? AND at<?)'],
    ['dueLanes', 'pawl_live_due (session=? AND lane=? AND pin=? AND at<?)'],
    ['graveSuspect', 'pawl_live_grave (lane=? AND pin=? AND at<?)'],
    ['nextRunOfPins', 'pawl_live_due (session=? AND lane=? AND pin=? AND at>? AND at<?)'],
    ['parkedRuns', 'pawl_live_parked (lane=? AND pin=? AND parked_build>? AND parked_build<?)'],
    ['parkedLanes', 'pawl_live_parked (lane=? AND pin=? AND parked_build>? AND parked_build<?)'],
    ['heldRuns', 'pawl_live_due (session=?)'],
    ['heldTasks', 'pawl_task_due (session=?)'],
    ['dueTasks', 'pawl_task_due (session=? AND lane=? AND at<?)'],
  ]
  test.each(['eq', 'gte', 'lt'] as const)('an attribute is tested by its run: %s', (is) => {
    for (const value of [7, 'seven']) {
      const { where } = conditionOf({ limit: 1, attributes: [{ name: 'n', is, value }] })
      const plan = planOf(`select 1 from pawl_run run ${joins(sqliteDialect)} where ${where}`)
      expect(plan.join('\n')).toMatch(/SEARCH a .*USING PRIMARY KEY \(run_id=\? AND name=\?\)/)
      if (is === 'eq' && value === 'seven')
        expect(plan.join('\n')).toMatch(/SEARCH i .*USING PRIMARY KEY \(run_id=\? AND name=\?\)/)
    }
  })

  test.each(indexes)('%s uses %s', (name, index) => {
    expect(planOf(texts[name]).join('\n')).toContain(index)
  })
})

test('stores §2: a page of a history on SQLite is bounded by bytes, and the history is read whole', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-pages-'))
  const url = `sqlite:${join(folder, 'pawl.db')}` as const
  const body = 'x'.repeat(900_000)
  const large = workflow('large', async (ctx) => {
    for (let n = 0; n < 20; n++) await ctx.run(`step ${n}`, async () => body)
    return ctx.wait(signal<string>('go'))
  })
  const engine = await open(url, { workflows: [large] })
  engine.work({ signals: false })
  const run = await engine.start(large, undefined)
  while ((await run.describe()).status !== 'waiting') await systemClock.breathe()
  await engine.close()

  const store = await SqliteStore.open(url, systemClock)
  const ask = { type: 'history', runId: run.runId, after: 0, turns: 500 } as const
  const [page] = await store.load([ask])
  const { turns, more } = page as HistoryPage
  expect(more).toBe(true)
  const bytes = turns.slice(0, -1).reduce((sum, turn) => sum + turn.body.length, 0)
  expect(bytes).toBeLessThan(limits.historyPageBytes)
  // Reading has ended with the page, or nothing could be written.
  const beat = { session: 1, worker: 'w', beat: 1, ttlMs: 1_000, tasks: [], about: '{}' }
  expect(await store.renew(beat)).toMatchObject({ alive: true })
  await store.close()

  const again = await open(url, { workflows: [large] })
  again.work({ signals: false })
  const handle = again.get(large, run.runId)
  let steps = 0
  for await (const { type } of handle.history()) if (type === 'StepCompleted') steps++
  expect(steps).toBe(20)
  await handle.signal(signal<string>('go'), 'done')
  expect(await handle.result()).toBe('done')
  await again.close()
  await rm(folder, { recursive: true })
})
