// Graphs in several processes, as people deploy them: some decide what comes next, others take steps from queues.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RunHandle } from 'pawl'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LoadProcess } from '../load/processes.ts'
import { until, useStore } from '../workflows/each-store.ts'
import { chain, diamond, type Joined, type Line, readLedgers } from './shared-graphs.ts'
import { eventsOf } from './support.ts'
import type { Duty } from './worker-process.ts'

const program = join(import.meta.dirname, 'worker-process.ts')
const runsOfAll = 200
/** Fewer than there are runs, so that nobody can take them all. */
const runsAtOnce = 20
/** Fewer than there are steps, and together more: a step that waits for another does not keep it from beginning. */
const stepsAtOnce = 300
/** Bodies that a process may end before it gets stuck and is killed. */
const endedBefore = 3

describe.each(['sqlite', 'postgres'] as const)('graphs in processes on %s', (kind) => {
  const bench = useStore(kind)
  let folder = ''
  const processes: LoadProcess[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'pawl-graphs-'))
  })
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((each) => each.kill()))
    rmSync(folder, { recursive: true, force: true })
  })

  async function serve(
    names: readonly string[],
    work: Duty['work'],
    more: Pick<Duty, 'stepQueues' | 'stuckAfter'> = {},
  ): Promise<void> {
    const started = names.map((process) => {
      const duty: Duty = { url: bench.url, folder, process, colleagues: names, work, ...more }
      return LoadProcess.start(program, [JSON.stringify(duty)])
    })
    processes.push(...(await Promise.all(started)))
  }

  const place = (): { folder: string; process: string } => ({ folder, process: 'client' })

  async function startDiamonds(count: number, stepQueues?: Duty['stepQueues']): Promise<RunHandle<Joined>[]> {
    const definition = diamond(place(), stepQueues)
    const engine = await bench.engine({ workflows: [definition] })
    const inputs = Array.from({ length: count }, (_, input) => ({ input }))
    return engine.startMany(definition, inputs)
  }

  test('D13 A: A → B → C, one after another, each with what the one before it gave', async () => {
    await serve(['decides'], {})
    await serve(['works'], { queues: ['steps'] })
    const engine = await bench.engine({ workflows: [chain(place())] })
    const run = await engine.start(chain(place()), 4)
    expect(await run.result()).toEqual({ a: 5, b: 50, c: '4: 50' })
    expect(await stepsOf(run)).toEqual([
      'StepStarted step:a#1',
      'StepCompleted step:a#1',
      'StepStarted step:b#1',
      'StepCompleted step:b#1',
      'StepStarted step:c#1',
      'StepCompleted step:c#1',
    ])
    expect(readLedgers(folder).map(({ process, step }) => `${process} ${step}`)).toEqual([
      'works step:a#1',
      'works step:b#1',
      'works step:c#1',
    ])
  })

  test('D13 B: A → B, C → D: B and C overlap, and D has the outputs of both by their ids', async () => {
    await serve(['decides'], {})
    await serve(['works'], { queues: ['steps'] })
    const [run] = await startDiamonds(1)
    // Had they not overlapped, neither would have ended.
    expect(await run?.result()).toEqual({ b: 10, c: 100 })
    const steps = run ? await stepsOf(run) : []
    expect(steps).toEqual([
      'StepStarted step:a#1',
      'StepCompleted step:a#1',
      'StepStarted step:b#1',
      'StepStarted step:c#1',
      expect.stringMatching(/^StepCompleted step:[bc]#1$/),
      expect.stringMatching(/^StepCompleted step:[bc]#1$/),
      'StepStarted step:d#1',
      'StepCompleted step:d#1',
    ])
    expectOnce(readLedgers(folder), 1)
  })

  test('D13 C: however close B and C end, D begins once', { timeout: 120_000 }, async () => {
    const stepQueues = { b: 'left', c: 'right' }
    await serve(['decides 1', 'decides 2'], { concurrency: runsAtOnce }, { stepQueues })
    await serve(['does b'], { queues: ['left'] }, { stepQueues })
    await serve(['does c'], { queues: ['right'] }, { stepQueues })
    // B and C are in different processes; each waits until the other is there, and ends at once then.
    for (let wave = 0; wave < 4; wave++) {
      const runs = await startDiamonds(100, stepQueues)
      await expectResults(runs)
      await expectRecordedOnce(runs)
    }
    const lines = readLedgers(folder)
    expectOnce(lines, 400)
    expect(doneBy(lines)).toMatchObject({ 'does b': ['b'], 'does c': ['c'] })
  })

  test('D12 D13 W8: one process that decides, and one that takes the steps of every queue', {
    timeout: 120_000,
  }, async () => {
    const stepQueues = { b: 'parse', c: 'render' }
    await serve(['decides'], {}, { stepQueues })
    await serve(['works'], { queues: ['parse', 'render'], concurrency: 400 }, { stepQueues })
    await expectResults(await startDiamonds(runsOfAll, stepQueues))
    const lines = readLedgers(folder)
    expectOnce(lines, runsOfAll)
    expect(doneBy(lines)).toEqual({ decides: ['a', 'd'], works: ['b', 'c'] })
  })

  test('W8: a queue for each kind of step, with a process of its own', {
    timeout: 120_000,
  }, async () => {
    const stepQueues = { b: 'parse', c: 'render' }
    await serve(['decides'], {}, { stepQueues })
    await serve(['parses'], { queues: ['parse'] }, { stepQueues })
    await serve(['renders'], { queues: ['render'] }, { stepQueues })
    await expectResults(await startDiamonds(50, stepQueues))
    const lines = readLedgers(folder)
    expectOnce(lines, 50)
    expect(doneBy(lines)).toEqual({ decides: ['a', 'd'], parses: ['b'], renders: ['c'] })
  })

  test('D12 D13: two processes that decide and two that work do every step once', {
    timeout: 120_000,
  }, async () => {
    await serve(['decides 1', 'decides 2'], { concurrency: runsAtOnce })
    await serve(['works 1', 'works 2'], { queues: ['steps'], concurrency: stepsAtOnce })
    const runs = await startDiamonds(runsOfAll)
    await expectResults(runs)
    await expectRecordedOnce(runs)
    const lines = readLedgers(folder)
    expectOnce(lines, runsOfAll)
    expect(Object.keys(doneBy(lines))).toEqual(['decides 1', 'decides 2', 'works 1', 'works 2'])
  })

  test.each(['decides', 'works'])(
    'D13: of two and two, one that %s is killed, and nothing is lost',
    {
      timeout: 120_000,
    },
    async (victim) => {
      const lease = 2_000
      const deciding = { concurrency: runsAtOnce, lease }
      const working = { queues: ['steps'], concurrency: stepsAtOnce, lease }
      await serve([victim], victim === 'works' ? working : deciding, { stuckAfter: endedBefore })
      await serve(['decides 2'], deciding)
      await serve(['works 2'], working)
      if (victim === 'works') await serve(['decides 1'], deciding)
      else await serve(['works 1'], working)
      const runs = await startDiamonds(runsOfAll)
      // In the middle of it: it has done some, and has begun others that it will never end.
      await until(
        () => linesOf(victim).length,
        (count) => count > endedBefore,
      )
      await processes[0]?.kill()
      await expectResults(runs)
      await expectRecordedOnce(runs)
      const cutOff = new Set(linesOf(victim).slice(endedBefore).map(bodyOf))
      const others = readLedgers(folder).filter(({ process }) => process !== victim)
      expect(new Set(others.map(bodyOf).filter((each) => cutOff.has(each)))).toEqual(cutOff)
    },
  )

  function linesOf(process: string): Line[] {
    return readLedgers(folder).filter((each) => each.process === process)
  }
})

async function expectResults(runs: readonly RunHandle<Joined>[]): Promise<void> {
  const results = await Promise.all(runs.map((run) => run.result()))
  expect(results).toEqual(runs.map((_, n) => ({ b: (n + 1) * 10, c: (n + 1) * 100 })))
}

async function expectRecordedOnce(runs: readonly RunHandle<unknown>[]): Promise<void> {
  for (const run of runs) {
    const completed = (await stepsOf(run)).filter((each) => each.startsWith('StepCompleted'))
    expect(completed.toSorted()).toEqual([
      'StepCompleted step:a#1',
      'StepCompleted step:b#1',
      'StepCompleted step:c#1',
      'StepCompleted step:d#1',
    ])
  }
}

function bodyOf({ run, step }: Line): string {
  return `${run} ${step}`
}

/** Every body of every run has begun once, in whichever process. */
function expectOnce(lines: readonly Line[], runs: number): void {
  expect(lines).toHaveLength(runs * 4)
  expect(new Set(lines.map(bodyOf)).size).toBe(runs * 4)
}

/** Steps that each process has done. */
function doneBy(lines: readonly Line[]): Record<string, string[]> {
  const steps = Map.groupBy(lines, ({ process }) => process)
  const named = [...steps].map(([process, done]): [string, string[]] => [
    process,
    [...new Set(done.map(({ step }) => step.slice('step:'.length, -'#1'.length)))].toSorted(),
  ])
  return Object.fromEntries(named.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

async function stepsOf(run: RunHandle<unknown>): Promise<string[]> {
  return (await eventsOf(run)).filter((each) => each.startsWith('Step'))
}
