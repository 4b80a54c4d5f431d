// A move that dies just before or just after every single call to the stores, once or twice. After each death no run is
// free in both stores, and none is lost; then the same move continues, and ends as if it had never died.
import { activity, workflow } from 'pawl'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import { MemoryDatabase, MemoryStore } from '../../src/core/stores/memory/store.ts'
import { MOVER } from '../../src/core/stores/moving.ts'
import { Tables } from '../../src/core/stores/rules/tables.ts'
import type { Store } from '../../src/core/stores/store.ts'
import { wrapped } from '../../src/core/stores/wrapped.ts'
import { Engine, registryOf } from '../../src/engine.ts'
import { type MoveOptions, moveBetween } from '../../src/moving.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { until, waitsFor } from '../workflows/each-store.ts'
import { definitionsOf, go, type Ran } from '../workflows/moving-program.ts'

interface Point {
  readonly call: number
  readonly when: 'before' | 'after'
}

const world = { clock: systemClock, random: new SeededRandom(7) }

function engineOn(database: MemoryDatabase, ran: Ran): Engine {
  const { workflows, activities } = definitionsOf(ran)
  const registry = registryOf({ workflows, activities })
  return new Engine(
    new MemoryStore({ clock: systemClock, database }),
    registry,
    {},
    { clock: systemClock, random: systemRandom },
  )
}

/** A store with a tree, a run that waits for a worker, one that sleeps, and one that has ended. */
async function filled(ran: Ran): Promise<MemoryDatabase> {
  const database = new MemoryDatabase()
  const d = definitionsOf(ran)
  const engine = engineOn(database, ran)
  await engine.work({ signals: false, queues: ['default'] }).ready
  const parent = await engine.start(d.parent, undefined, { workflowId: 'parent' })
  const queued = await engine.start(d.queues, undefined, { workflowId: 'queues' })
  const sleeping = await engine.start(d.sleeps, undefined, { workflowId: 'sleeps' })
  await (await engine.start(d.fails)).result().catch(() => {})
  await waitsFor(parent, 'child')
  await waitsFor(engine.get({ workflowId: 'the-child' }), 'signal')
  await waitsFor(queued, 'noWorker')
  await waitsFor(sleeping, 'timer')
  await engine.close()
  const client = engineOn(database, ran)
  await client.get({ workflowId: 'the-child' }).signal(go, 'before')
  await client.close()
  return database
}

function copyOf({ tables }: MemoryDatabase): MemoryDatabase {
  const copy = new MemoryDatabase()
  copy.tables = new Tables()
  for (const row of [...tables.live.values(), ...tables.ended.values()])
    copy.tables.restore(row, tables.turns.get(row.head.runId) ?? [])
  for (const task of tables.tasks.values()) copy.tables.putTask(task)
  return copy
}

class Death extends Error {}

/** A process that makes calls to both stores, and dies at one of them. */
class Caller {
  calls = 0
  readonly #point: Point | undefined
  #isDead = false

  constructor(point?: Point) {
    this.#point = point
  }

  on(database: MemoryDatabase): Store {
    return wrapped(new MemoryStore({ clock: systemClock, database }), (_method, call) => async (...args) => {
      if (this.#isDead) return new Promise<never>(() => {})
      const isPoint = this.calls++ === this.#point?.call
      this.#isDead ||= isPoint
      if (isPoint && this.#point?.when === 'before') throw new Death()
      const out = await call(...args)
      if (isPoint) throw new Death()
      return out
    })
  }
}

function move(caller: Caller, from: MemoryDatabase, to: MemoryDatabase, options: Partial<MoveOptions> = {}) {
  const [source, target] = [caller.on(from), caller.on(to)]
  return moveBetween(
    { store: source, place: 'here' },
    { store: target, place: 'there' },
    { patience: 0, ...options },
    world,
  )
}

/** True if a worker, or an operator, may make the run go on in this store. */
function isFree({ tables }: MemoryDatabase, runId: string): boolean {
  const row = tables.run(runId)
  return row !== undefined && row.session !== MOVER && row.status !== 'moved'
}

function check(from: MemoryDatabase, to: MemoryDatabase, what: string): void {
  for (const runId of [...from.tables.live.keys(), ...from.tables.ended.keys()]) {
    const free = [isFree(from, runId), isFree(to, runId)]
    expect(free, `${what}: run ${runId}`).not.toEqual([true, true])
    const hasLeft = from.tables.run(runId)?.status === 'moved'
    if (hasLeft) expect(to.tables.run(runId), `${what}: run ${runId} is not lost`).toBeDefined()
  }
}

/** All that a store has of its runs, without instants. */
function rowsOf({ tables }: MemoryDatabase): unknown {
  const runs = [...tables.live.values(), ...tables.ended.values()].map(({ at: _, updatedAt: __, endedAt, ...row }) => {
    const turns = tables.turns.get(row.head.runId)
    return { ...row, hasEnded: endedAt !== undefined, turns, isNewest: tables.names.get(row.head.workflowId) }
  })
  const tasks = [...tables.tasks.values()].map(({ at: _, ...task }) => task)
  return {
    runs: runs.toSorted((a, b) => (a.head.runId < b.head.runId ? -1 : 1)),
    tasks: tasks.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1)),
  }
}

const ROUNDS = 12
const sides = ['before', 'after'] as const

test('a move that dies around every call, and another time soon after, ends as one that did not', async () => {
  const ran: Ran = new Map()
  const image = await filled(ran)
  const calm = { caller: new Caller(), from: copyOf(image), to: new MemoryDatabase() }
  expect(await move(calm.caller, calm.from, calm.to)).toMatchObject({ moved: 5, refused: [] })
  expect(calm.caller.calls).toBeGreaterThan(50)
  let stories = 0
  const tell = async (points: readonly Point[]): Promise<void> => {
    const [from, to] = [copyOf(image), new MemoryDatabase()]
    const what = points.map(({ call, when }) => `${when} call ${call}`).join(', then ')
    for (const point of points) {
      const end = await move(new Caller(point), from, to).catch((error: unknown) => error)
      // The second point may lie behind the end of the move.
      if (!(end instanceof Death)) expect(end, what).toMatchObject({ refused: [] })
      check(from, to, what)
    }
    expect(await move(new Caller(), from, to), what).toMatchObject({ refused: [] })
    expect(rowsOf(to), what).toEqual(rowsOf(calm.to))
    expect([...from.tables.ended.values()].every(({ status }) => status === 'moved')).toBe(true)
    expect(from.tables.live.size).toBe(0)
    stories++
  }
  for (let call = 0; call < calm.caller.calls; call++) {
    for (const when of sides) {
      await tell([{ call, when }])
      await tell([
        { call, when },
        { call: (call * 7) % 40, when: sides[call % 2] ?? 'after' },
      ])
    }
  }
  console.log(`${calm.caller.calls} calls, ${stories} stories: one outcome`)
  // The runs go on, and what was recorded is not done again.
  const engine = engineOn(calm.to, ran)
  await engine.work({ signals: false, queues: ['default', 'far'] }).ready
  expect(await engine.get({ workflowId: 'parent' }).result()).toEqual([1, 'before', 1])
  expect(await engine.get({ workflowId: 'queues' }).result()).toEqual([1, 1])
  expect(await engine.get({ workflowId: 'sleeps' }).result()).toBe(1)
  await until(
    () => engine.count({ status: 'waiting' }),
    (count) => count === 0,
  )
  expect([...ran.values()].every((times) => times === 1)).toBe(true)
  await engine.close()
})

test('a move that died is ended: what had not left goes on where it was, and what had left is finished', async () => {
  const image = await filled(new Map())
  const calm = { caller: new Caller(), from: copyOf(image), to: new MemoryDatabase() }
  await move(calm.caller, calm.from, calm.to)
  let refusals = 0
  for (let call = 0; call < calm.caller.calls; call++) {
    const [from, to] = [copyOf(image), new MemoryDatabase()]
    await move(new Caller({ call, when: 'after' }), from, to).catch(() => {})
    const died = new Caller({ call: call % 12, when: sides[call % 2] ?? 'after' })
    await move(died, from, to, { abort: true }).catch(() => {})
    check(from, to, `ended after call ${call}`)
    const report = await move(new Caller(), from, to, { abort: true })
    check(from, to, `ended after call ${call}`)
    refusals += report.refused.length
    for (const row of from.tables.live.values()) {
      const isTied = report.refused.some(({ runId, reason }) => runId === row.head.runId && reason === 'left')
      expect(row.session === MOVER, `after call ${call}`).toBe(isTied)
    }
    // It can be moved again.
    expect(await move(new Caller(), from, to)).toMatchObject({ refused: [] })
    expect(from.tables.live.size).toBe(0)
    for (const runId of from.tables.ended.keys()) expect(isFree(to, runId), `after call ${call}`).toBe(true)
  }
  expect(refusals).toBeGreaterThan(0)
})

test('runs move while workers work on both sides and messages come: each message counts once, each step runs once', async () => {
  const ran = new Map<string, number>()
  const step = activity('step', { queue: 'other' }, async (key: string, ctx) => {
    const name = `${ctx.runId} ${key}`
    ran.set(name, (ran.get(name) ?? 0) + 1)
    return key
  })
  const busy = workflow('busy', async (ctx) => {
    const all: string[] = []
    for (let round = 0; round < ROUNDS; round++) {
      all.push(await ctx.wait(go), await ctx.run(step, `step ${round}`))
      await ctx.sleep(2)
    }
    return all
  })
  const [from, to] = [new MemoryDatabase(), new MemoryDatabase()]
  const engines = [from, to].map((database) => {
    const store = new MemoryStore({ clock: systemClock, database })
    const registry = registryOf({ workflows: [busy], activities: [step] })
    return new Engine(store, registry, {}, { clock: systemClock, random: systemRandom })
  }) as [Engine, Engine]
  const [source, target] = engines
  for (const engine of engines) await engine.work({ signals: false, queues: ['default', 'other'] }).ready
  const ids = Array.from({ length: 60 }, (_, index) => `busy-${index}`)
  for (const workflowId of ids) await source.start(busy, undefined, { workflowId })
  const send = async (workflowId: string, round: number): Promise<void> => {
    const message = { messageId: `${workflowId} ${round}` }
    const text = `message ${round}`
    await source
      .get({ workflowId })
      .signal(go, text, message)
      .catch(async (error: { code?: string }) => {
        expect(error.code).toBe('RUN_MOVED')
        // It has left, and arrives in a moment.
        await until(
          () => target.count({ workflowId }),
          (count) => count === 1,
        )
        await target.get({ workflowId }).signal(go, text, message)
      })
    await systemClock.breathe()
  }
  const sending = Promise.all(
    ids.map(async (workflowId) => {
      for (let round = 0; round < ROUNDS; round++) await send(workflowId, round)
    }),
  )
  const report = await move(new Caller(), from, to, { patience: '10s' })
  expect(report).toMatchObject({ moved: ids.length, refused: [] })
  await sending
  const expected = Array.from({ length: ROUNDS }, (_, round) => [`message ${round}`, `step ${round}`]).flat()
  for (const workflowId of ids) expect(await target.get({ workflowId }).result()).toEqual(expected)
  expect(ran.size).toBe(ids.length * ROUNDS)
  expect([...ran.values()].every((times) => times === 1)).toBe(true)
  expect([...from.tables.ended.values()].every(({ status }) => status === 'moved')).toBe(true)
  await Promise.all(engines.map((engine) => engine.close()))
})
