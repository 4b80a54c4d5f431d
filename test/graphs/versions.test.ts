// A run meets another definition of its graph: what it may go on with, what pauses it, and how it is moved.
import { type AnyWorkflow, type Engine, graph, PawlError, query, type RunHandle, signal } from 'pawl'
import { beforeEach, describe, expect, test } from 'vitest'
import { kinds, rejection, until, useStore, waitsFor } from '../workflows/each-store.ts'
import { eventsOf } from './support.ts'

const go = signal('go')

/** What every definition of these tests is called. */
const name = 'evolving'
const first = () => graph(name).step('a', () => log.push('a'))
const log: string[] = []
const noted = (step: string) => (): string => {
  log.push(step)
  return step
}

/** a → wait → b → c: a run of it is past `a`, waits, and has not come to `b` and `c`. */
const original = first()
  .wait('pause', { after: ['a'] }, go)
  .step('b', { after: ['pause'] }, noted('b'))
  .step('c', { after: ['b'] }, noted('c'))

interface Row {
  readonly scenario: string
  readonly next: AnyWorkflow
  readonly goesOn: boolean
  /** Steps that do not fit. */
  readonly steps?: readonly string[]
  readonly ran: readonly string[]
}

const rows: readonly Row[] = [
  { scenario: 'hash matches', next: original, goesOn: true, ran: ['a', 'b', 'c'] },
  {
    scenario: 'new step added, not yet reached',
    next: original.step('d', { after: ['c'] }, noted('d')),
    goesOn: true,
    ran: ['a', 'b', 'c', 'd'],
  },
  {
    scenario: 'step removed, already completed',
    next: graph(name)
      .wait('pause', {}, go)
      .step('b', { after: ['pause'] }, noted('b'))
      .step('c', { after: ['b'] }, noted('c')),
    goesOn: true,
    ran: ['a', 'b', 'c'],
  },
  {
    scenario: 'step removed, not yet run',
    next: first()
      .wait('pause', { after: ['a'] }, go)
      .step('b', { after: ['pause'] }, noted('b')),
    goesOn: false,
    steps: ['c'],
    ran: ['a'],
  },
  {
    scenario: 'step dependencies changed',
    next: first()
      .wait('pause', { after: ['a'] }, go)
      .step('b', { after: ['pause'] }, noted('b'))
      .step('c', { after: ['pause'] }, noted('c')),
    goesOn: false,
    steps: ['c'],
    ran: ['a'],
  },
  {
    scenario: 'step renamed, not yet run',
    next: first()
      .wait('pause', { after: ['a'] }, go)
      .step('b', { after: ['pause'] }, noted('b'))
      .step('see', { after: ['b'] }, noted('see')),
    goesOn: false,
    steps: ['c'],
    ran: ['a'],
  },
  {
    scenario: 'completed step renamed',
    next: graph(name)
      .step('alpha', noted('alpha'))
      .wait('pause', { after: ['alpha'] }, go)
      .step('b', { after: ['pause'] }, noted('b'))
      .step('c', { after: ['b'] }, noted('c')),
    goesOn: false,
    steps: ['pause', 'alpha'],
    ran: ['a'],
  },
]

describe.each(kinds.filter((kind) => ['memory', 'sqlite', 'postgres', 'file'].includes(kind)))('on %s', (kind) => {
  const bench = useStore(kind)

  beforeEach(() => {
    log.length = 0
  })

  /** A run of the original that waits, and nobody who has its code any more. */
  async function begun(count = 1): Promise<string[]> {
    const { engine, worker } = await bench.worker({ workflows: [original] })
    const runs = await engine.startMany(
      original,
      Array.from({ length: count }, () => ({})),
    )
    await Promise.all(runs.map((run) => waitsFor(run, 'signal')))
    await worker.drain()
    return runs.map(({ runId }) => runId)
  }

  const isPaused = async (run: RunHandle<unknown>) =>
    until(
      () => run.describe(),
      ({ status }) => status === 'paused',
    )

  test.each(rows)('N2: $scenario', async ({ next, goesOn, steps, ran }) => {
    const [runId = ''] = await begun()
    const engine = await bench.serve({ workflows: [next] })
    const run = engine.get(runId)
    await run.signal(go)
    if (goesOn) await run.result()
    else {
      const { failure } = await isPaused(run)
      expect(failure).toMatchObject({ type: 'VersionMismatch', code: 'VERSION_MISMATCH' })
      const details = failure?.details as { steps: { step: string }[] }
      expect(details.steps.map(({ step }) => step)).toEqual(steps)
    }
    expect(log).toEqual(ran)
  })

  test('N2: a completed step that nothing comes after may be gone', async () => {
    const wide = graph(name).step('side', noted('side')).wait('pause', {}, go)
    const { engine, worker } = await bench.worker({ workflows: [wide] })
    const run = await engine.start(wide)
    await waitsFor(run, 'signal')
    await until(
      () => log,
      (steps) => steps.includes('side'),
    )
    await worker.drain()
    const narrow = graph(name).wait('pause', {}, go)
    const next = await bench.serve({ workflows: [narrow] })
    await next.get(run.runId).signal(go)
    expect(await next.get(run.runId).result()).toEqual({ pause: undefined })
  })

  test('N1: the hash is that of the structure, whatever order it is written in and whatever is in the steps', () => {
    const one = graph(name)
      .step('a', () => 1)
      .step('b', () => 2)
    const other = graph(name)
      .step('b', () => 3)
      .step('a', () => 4)
    const more = one.step('c', { after: ['a'] }, () => 5)
    expect(one.definitionHash).toBe(other.definitionHash)
    expect(more.definitionHash).not.toBe(one.definitionHash)
  })

  test('N4: a paused run is told what became of its steps, and goes on', async () => {
    const [runId = ''] = await begun()
    const next = graph(name)
      .step('alpha', noted('alpha'))
      .wait('pause', { after: ['alpha'] }, go)
      .step('bee', { after: ['pause'] }, noted('bee'))
      .step('d', { after: ['bee'] }, noted('d'))
    const engine = await bench.serve({ workflows: [next] })
    const run = engine.get(runId)
    await run.signal(go)
    await isPaused(run)
    await run.migrate({
      definitionHash: next.definitionHash,
      steps: { a: 'alpha', b: 'bee', c: null },
    })
    expect(await run.result()).toEqual({ alpha: 1, bee: 'bee', d: 'd' })
    expect(log).toEqual(['a', 'bee', 'd'])
    expect(await eventsOf(run)).toContain('MigrationRequested')
  })

  test('N4: a migration to a definition that no worker has waits for a worker that has it', async () => {
    const [runId = ''] = await begun()
    const older = first().wait('pause', { after: ['a'] }, go)
    const engine = await bench.serve({ workflows: [older] })
    const run = engine.get(runId)
    await run.signal(go)
    await isPaused(run)
    await run.migrate({ definitionHash: 'somewhere else', steps: { b: null, c: null } })
    const { failure } = await until(
      () => run.describe(),
      (record) => record.status === 'paused' && record.failure?.message.includes('somewhere else') === true,
    )
    expect(failure?.type).toBe('VersionMismatch')
    await run.migrate({ definitionHash: older.definitionHash, steps: { b: null, c: null } })
    await run.result()
    expect(log).toEqual(['a'])
  })

  test('N4: bad input is refused before anything is written', async () => {
    const [runId = ''] = await begun()
    const run = (await bench.engine()).get(runId)
    const error = await rejection(run.migrate({ definitionHash: '' }))
    expect(error).toBeInstanceOf(PawlError)
    expect((error as PawlError).code).toBe('INPUT_INVALID')
  })

  test('N8: an older build does not take back what a newer one went on with', async () => {
    const [runId = ''] = await begun()
    const later = signal('later')
    const newer = original.wait('more', { after: ['pause'] }, later)
    const { engine, worker } = await bench.worker({ workflows: [newer] })
    await engine.get(runId).signal(go)
    await until(
      () => log,
      (steps) => steps.includes('c'),
    )
    await waitsFor(engine.get(runId), 'signal')
    await worker.drain()
    const old = await bench.serve({ workflows: [original] })
    await old.get(runId).signal(later)
    const { failure } = await isPaused(old.get(runId))
    expect(failure?.type).toBe('VersionMismatch')
    const again = await bench.serve({ workflows: [newer] })
    await again.get(runId).result()
    expect(log).toEqual(['a', 'b', 'c'])
  })

  test('N7: check tells before a deploy which runs would be paused, and writes nothing', async () => {
    const runIds = await begun(3)
    const changed = first().wait('pause', { after: ['a'] }, go)
    const engine: Engine = await bench.engine({ workflows: [changed] })
    const verdicts = new Map<string, string>()
    for await (const { runId, verdict } of engine.check()) verdicts.set(runId, verdict)
    expect(runIds.map((runId) => verdicts.get(runId))).toEqual(['differs', 'differs', 'differs'])
    const same = await bench.engine({ workflows: [original] })
    for await (const { verdict } of same.check()) expect(verdict).toBe('moves')
  })

  test('Q4: a query tells where every step stands', async () => {
    const [runId = ''] = await begun()
    const engine = await bench.engine({ workflows: [original] })
    const steps = query<void, { name: string; status: string }[]>('steps')
    expect(await engine.get(runId).query(steps)).toEqual([
      { name: 'a', status: 'succeeded' },
      { name: 'pause', status: 'begun' },
      { name: 'b', status: 'waiting' },
      { name: 'c', status: 'waiting' },
    ])
  })
})

describe.each(['sqlite', 'postgres'] as const)('on %s, five hundred runs', (kind) => {
  const bench = useStore(kind)

  test('N4: all of them are migrated in a batch', async () => {
    log.length = 0
    const { engine, worker } = await bench.worker({ workflows: [original] })
    const runs = await engine.startMany(
      original,
      Array.from({ length: 500 }, () => ({})),
    )
    const waiting = async () => engine.count({ workflow: name, status: 'waiting' })
    await until(waiting, (count) => count === 500)
    await worker.drain()
    const next = graph(name)
      .step('a', noted('a'))
      .wait('pause', { after: ['a'] }, go)
      .step('last', { after: ['pause'] }, noted('last'))
    const serving = await bench.serve({ workflows: [next] })
    expect((await serving.batch({ workflow: name }, { limit: 500 }).signal(go)).done).toBe(500)
    await until(
      () => serving.count({ workflow: name, status: 'paused' }),
      (count) => count === 500,
    )
    const steps = { b: 'last', c: null }
    const outcome = await serving
      .batch({ workflow: name }, { limit: 1_000 })
      .migrate({ definitionHash: next.definitionHash, steps })
    expect(outcome).toEqual({ matched: 500, done: 500, failures: [] })
    const results = await Promise.all(runs.map(({ runId }) => serving.get(runId).result()))
    expect(results).toHaveLength(500)
    expect(log.filter((step) => step === 'last')).toHaveLength(500)
    expect(log.filter((step) => step === 'a')).toHaveLength(500)
  })
})
