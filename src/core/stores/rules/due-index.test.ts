// Claims by the index give what a look at every row would give, and look at little more than they give.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Instant } from '../../base/time.ts'
import { compareRanks, rankOf } from '../claim-order.ts'
import type { ClaimRequest } from '../store.ts'
import { BY_HAND, NEVER } from '../values.ts'
import { chooseRuns, chooseTasks, claim, outlook } from './claim.ts'
import type { Lane } from './due-index.ts'
import { hasEnded, type RunRow, type TaskRow } from './row.ts'
import type { Run } from './rows-tx.ts'
import { Tables } from './tables.ts'
import { Transaction } from './transaction.ts'

const NOW = 1_000

function idOf(n: number): string {
  return `01890000-0000-7000-8000-00000000${(n * 7919).toString(16).padStart(4, '0').slice(-4)}`
}

interface RunDraw {
  readonly n: number
  readonly queue: string
  readonly name: string
  readonly priority: number
  readonly at: Instant
  readonly session: number
  readonly deliveries: number
  readonly pausedBy: string | undefined
  readonly pin: string | undefined
  readonly isEnded: boolean
  readonly sends: boolean
}

const runDraws: fc.Arbitrary<RunDraw> = fc.record({
  n: fc.nat(30),
  queue: fc.constantFrom('q', 'r'),
  name: fc.constantFrom('a', 'b', 'c'),
  priority: fc.constantFrom(0, 0, 5),
  at: fc.constantFrom(0, 10, 500, NOW, NOW + 1, NOW + 500, NEVER),
  session: fc.constantFrom(0, 0, 0, 1, 2),
  deliveries: fc.constantFrom(0, 0, 0, 1, 2, 3),
  pausedBy: fc.constantFrom(undefined, undefined, undefined, BY_HAND, 'one', 'two'),
  pin: fc.constantFrom(undefined, undefined, 'one', 'two'),
  isEnded: fc.constantFrom(false, false, false, false, true),
  sends: fc.constantFrom(false, false, false, true),
})

function runOf({ n, queue, name, priority, pausedBy, pin, isEnded, sends, ...rest }: RunDraw): RunRow {
  const runId = idOf(n)
  const message = { id: 'm', body: '{}' }
  return {
    head: {
      runId,
      name,
      queue,
      priority,
      workflowId: runId,
      generation: 1,
      createdAt: 0,
      input: '1',
    },
    digest: 'd',
    startAt: 0,
    status: 'running',
    updatedAt: 0,
    epoch: 1,
    nonce: 1,
    generation: 1,
    seq: 0,
    reached: 0,
    turnId: 0,
    inbox: [],
    outbox: sends ? [{ type: 'post', runId, message }] : [],
    ...rest,
    ...(pausedBy !== undefined && { paused: { build: pausedBy, failure: '{}' } }),
    ...(pin !== undefined && { pin }),
    ...(isEnded && { endedAt: 1 }),
  }
}

type TaskDraw = Pick<RunDraw, 'n' | 'queue' | 'name' | 'priority' | 'at' | 'session'>

const taskDraws: fc.Arbitrary<TaskDraw> = fc.record({
  n: fc.nat(30),
  queue: fc.constantFrom('q', 'r'),
  name: fc.constantFrom('a', 'b', 'c'),
  priority: fc.constantFrom(0, 0, 5),
  at: fc.constantFrom(0, 10, NOW, NOW + 1, NOW + 500),
  session: fc.constantFrom(0, 0, 0, 1, 2),
})

function taskOf({ n, ...rest }: TaskDraw): TaskRow {
  const runId = idOf(n % 5)
  const grip = { epoch: 0, nonce: 0, deliveries: 0 }
  return { taskId: `task ${n}`, runId, body: '{}', failed: 0, ...grip, ...rest }
}

const requests: fc.Arbitrary<ClaimRequest> = fc
  .record({
    queues: fc.constantFrom(['q'], ['q', 'r']),
    workflows: fc.constantFrom(null, ['a'], ['a', 'c']),
    activities: fc.constantFrom(null, ['b']),
    runs: fc.nat(10),
    tasks: fc.nat(10),
    suspects: fc.constantFrom(0, 0, 2, 10),
    build: fc.constantFrom('one', 'two', 'three'),
    pins: fc.constantFrom(
      undefined,
      { builds: ['one'], from: 0, to: 65_536 },
      { builds: ['two', 'three'], from: 0, to: 30_000 },
    ),
    held: fc.constantFrom([], [idOf(1), idOf(2), idOf(3)]),
    heldTasks: fc.constantFrom([], ['task 1', 'task 2']),
    reconcile: fc.constantFrom(undefined, true as const),
  })
  .map(({ pins, reconcile, ...rest }) => ({
    session: 1,
    nonce: 9,
    silent: [],
    ...rest,
    ...(pins && { pins }),
    ...(reconcile && { reconcile }),
  }))

/** The same questions, answered by looking at every row. */
class Naive {
  readonly #runs: readonly RunRow[]
  readonly #tasks: readonly TaskRow[]
  readonly #request: ClaimRequest

  constructor(runs: readonly RunRow[], tasks: readonly TaskRow[], request: ClaimRequest) {
    this.#runs = runs.filter((row) => !hasEnded(row))
    this.#tasks = tasks
    this.#request = request
  }

  runs(): RunRow[] {
    const { session, held, reconcile, runs, suspects } = this.#request
    const strays = this.#runs.filter((row) => reconcile && row.session === session && !held.includes(row.head.runId))
    if (strays.length > 0) return strays
    const free = this.#free()
    const grave = suspects > 0 ? free.find((row) => row.deliveries > 1) : undefined
    const light = free.filter((row) => row.deliveries === 1).slice(0, suspects)
    const sound = free.filter((row) => row.deliveries === 0)
    return (grave ? [grave] : light.length > 0 ? light : sound).slice(0, runs)
  }

  tasks(): TaskRow[] {
    const { session, heldTasks, reconcile, tasks } = this.#request
    const strays = this.#tasks.filter((row) => reconcile && row.session === session && !heldTasks.includes(row.taskId))
    if (strays.length > 0) return strays
    return this.#mineTasks()
      .filter((row) => row.session === 0 && row.at <= NOW)
      .sort((a, b) => this.#compare(a, b) || a.at - b.at)
      .slice(0, tasks)
  }

  hasSuspects(): boolean {
    return this.#free().some(({ deliveries }) => deliveries > 0)
  }

  next(): Instant | undefined {
    const rows = [...this.#mine().filter((row) => this.#isFor(row)), ...this.#mineTasks()]
    const later = rows.filter((row) => row.session === 0 && row.at > NOW && row.at < NEVER)
    return later.length > 0 ? Math.min(...later.map(({ at }) => at)) : undefined
  }

  #free(): RunRow[] {
    const { build } = this.#request
    const isDue = ({ paused, at }: RunRow): boolean =>
      paused ? paused.build !== BY_HAND && paused.build !== build : at <= NOW
    return this.#mine()
      .filter((row) => row.session === 0 && this.#isFor(row) && isDue(row))
      .sort((a, b) => this.#compare(a.head, b.head) || a.at - b.at)
  }

  #compare(one: Pick<Lane, 'queue' | 'name' | 'priority'>, other: typeof one): number {
    const { nonce } = this.#request
    return compareRanks(rankOf(one, nonce), rankOf(other, nonce))
  }

  #mine(): RunRow[] {
    const { queues, workflows } = this.#request
    return this.#runs.filter(({ head }) => queues.includes(head.queue) && (workflows?.includes(head.name) ?? true))
  }

  #mineTasks(): TaskRow[] {
    const { queues, activities } = this.#request
    return this.#tasks.filter(({ queue, name }) => queues.includes(queue) && (activities?.includes(name) ?? true))
  }

  #isFor({ pin, head }: RunRow): boolean {
    const { pins, build } = this.#request
    if (pin !== undefined) return (pins?.builds ?? [build]).includes(pin)
    const share = Number.parseInt(head.runId.slice(-4), 16)
    return !pins || (pins.from <= share && share < pins.to)
  }
}

interface World {
  readonly tx: Transaction
  /** What the transaction should see, in the order in which it came. */
  readonly runs: readonly RunRow[]
  readonly tasks: readonly TaskRow[]
}

/** Rows that were applied, some of them over and over, and then a transaction that has changed some more. */
function worldOf(
  applied: readonly (RunDraw | TaskDraw)[],
  changed: readonly (RunDraw | TaskDraw)[],
  dropped: readonly number[],
): World {
  const tables = new Tables()
  const nothing = { runs: [], tasksGone: [], sessions: [], sessionsGone: [], records: [] }
  for (const draw of applied) {
    if ('pin' in draw) tables.restore(runOf(draw), [])
    else tables.apply({ ...nothing, tasks: [taskOf(draw)] }, NOW)
  }
  const gone = dropped.map((n) => `task ${n}`)
  tables.apply({ ...nothing, tasks: [], tasksGone: gone.slice(0, gone.length / 2) }, NOW)
  const tx = new Transaction(tables, NOW)
  const drafts = new Map<string, RunRow>()
  const tasks = new Map(tables.tasks)
  for (const draw of changed) {
    if (!('pin' in draw)) {
      const task = taskOf(draw)
      tx.insertTask(task, task.runId)
      tx.changeTask(task, task)
      tasks.set(task.taskId, task)
      continue
    }
    const { head, digest, startAt, inbox: _, outbox, ...state } = runOf(draw)
    const there = tx.run(head.runId)
    const kept = there ? { ...there, ...state, outbox } : runOf({ ...draw })
    if (there) tx.change(there, { endedAt: undefined, paused: undefined, pin: undefined, ...state })
    else tx.change(tx.insertRun({ ...head, digest, reuse: 'allow' }, { startAt, ...state }), state)
    tx.send(head.runId, outbox)
    drafts.set(head.runId, tx.run(head.runId) ?? kept)
  }
  for (const id of gone.slice(gone.length / 2)) {
    tx.dropTask(id)
    tasks.delete(id)
  }
  const before = [...tables.live.values()].map((row) => drafts.get(row.head.runId) ?? row)
  const later = [...drafts.values()].filter((row) => !tables.live.has(row.head.runId))
  return { tx, runs: [...before, ...later], tasks: [...tasks.values()] }
}

const draws = fc.array(fc.oneof(runDraws, taskDraws), { maxLength: 60 })

function sorted(ids: Iterable<string>): string[] {
  return [...ids].sort()
}

describe('the due index', () => {
  test('answers as a look at every row would, with what the transaction has changed', () => {
    fc.assert(
      fc.property(draws, draws, fc.array(fc.nat(30)), requests, (applied, changed, gone, request) => {
        const { tx, runs, tasks } = worldOf(applied, changed.slice(0, 20), gone)
        const naive = new Naive(runs, tasks, request)
        const ids = (rows: readonly Run[]): string[] => rows.map(({ head }) => head.runId)
        const chosen = ids(chooseRuns(tx, request))
        const wanted = ids(naive.runs())
        // Strays come in no order.
        if (request.reconcile) expect(sorted(chosen)).toEqual(sorted(wanted))
        else expect(chosen).toEqual(wanted)
        const taken = chooseTasks(tx, request).map(({ taskId }) => taskId)
        const due = naive.tasks().map(({ taskId }) => taskId)
        if (request.reconcile) expect(sorted(taken)).toEqual(sorted(due))
        else expect(taken).toEqual(due)
        const { suspects = false, nextDue } = outlook(tx, request)
        expect(suspects).toBe(naive.hasSuspects())
        expect(nextDue).toBe(naive.next())
      }),
      { numRuns: 2_000 },
    )
  })

  test('knows what each session holds, the tasks of each run, and who has something to deliver', () => {
    fc.assert(
      fc.property(draws, draws, fc.array(fc.nat(30)), (applied, changed, gone) => {
        const { tx, runs, tasks } = worldOf(applied, changed.slice(0, 20), gone)
        const live = runs.filter((row) => !hasEnded(row))
        for (const session of [1, 2]) {
          const held = tx.runsHeldBy(session).map(({ head }) => head.runId)
          const wanted = live.filter((row) => row.session === session)
          expect(sorted(held)).toEqual(sorted(wanted.map(({ head }) => head.runId)))
          expect(sorted(tx.tasksHeldBy(session).map(({ taskId }) => taskId))).toEqual(
            sorted(tasks.filter((row) => row.session === session).map(({ taskId }) => taskId)),
          )
        }
        const senders = [...tx.undelivered()].map(({ head }) => head.runId)
        expect(new Set(senders).size).toBe(senders.length)
        for (let n = 0; n <= 30; n++) {
          const sends = (tx.run(idOf(n))?.outbox.length ?? 0) > 0
          expect(senders.includes(idOf(n))).toBe(sends)
        }
        for (let n = 0; n < 4; n++) tx.dropTasksOf(idOf(n))
        const left = tasks.filter(({ taskId }) => tx.task(taskId))
        expect(left).toEqual(tasks.filter(({ runId }) => runId === idOf(4)))
      }),
      { numRuns: 1_000 },
    )
  })
})

/** The row, counting who is looked at. */
function watched(row: RunRow, seen: Set<string>): RunRow {
  return new Proxy(row, {
    get(target, key) {
      seen.add(target.head.runId)
      return Reflect.get(target, key) as unknown
    },
  })
}

test('stores, object storage at size: a claim looks at what it grants, not at all that is unfinished', () => {
  const tables = new Tables()
  const seen = new Set<string>()
  const draw = { queue: 'q', priority: 0, deliveries: 0, pausedBy: undefined, pin: undefined }
  const rest = { isEnded: false, sends: false, ...draw }
  const add = (n: number, more: Pick<RunDraw, 'name' | 'at' | 'session'>): void => {
    const row = runOf({ n: 0, ...rest, ...more })
    const runId = `01890000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
    tables.restore(watched({ ...row, head: { ...row.head, runId, workflowId: runId } }, seen), [])
  }
  const count = 50_000
  for (let n = 0; n < count; n++) {
    const [sleeps, waits] = [n % 3 === 0, n % 3 === 1]
    const at = sleeps ? NOW + n : waits ? NEVER : n % 500
    add(n, { name: n % 2 ? 'a' : 'b', at, session: n % 1_000 === 999 ? 7 : 0 })
  }
  const about = { worker: 'w', beat: 1, about: '{}' }
  for (const [session, expiresAt] of [
    [1, NEVER],
    [7, NOW - 1],
  ] as const) {
    const row = { session, expiresAt, ...about }
    const none = { runs: [], tasks: [], tasksGone: [], sessionsGone: [], records: [] }
    tables.apply({ ...none, sessions: [row] }, NOW)
  }
  seen.clear()
  const request: ClaimRequest = {
    session: 1,
    nonce: 1,
    build: 'one',
    queues: ['q'],
    workflows: ['a'],
    activities: null,
    runs: 20,
    suspects: 0,
    tasks: 10,
    held: [],
    heldTasks: [],
    reconcile: true,
    silent: [{ session: 7, beat: 1 }],
  }
  const tx = new Transaction(tables, NOW)
  const { runs, nextDue: due } = claim(tx, request)
  expect(runs).toHaveLength(20)
  expect(due).toBe(NOW + 3)
  // What the dead session held, what is granted, and a few to find the way.
  const held = count / 1_000
  expect(seen.size).toBeLessThan(held + 20 + 100)
})
