// Pinning per workflow: `pin` of a workflow overrides that of the worker, in one process with workflows of both kinds.
import {
  type AnyWorkflow,
  activity,
  type CheckedRun,
  type Engine,
  graph,
  machine,
  type RunHandle,
  signal,
  typed,
  workflow,
} from 'pawl'
import { describe, expect, test } from 'vitest'
import { SHARES } from '../../src/core/policies/roll-out.ts'
import { until, useStore, waitsFor } from '../workflows/each-store.ts'

const go = signal('go')

/** The option as each workflow of a build has it. */
type Pinning = Readonly<Record<string, boolean | undefined>>

/** A workflow that waits, and says which build it began and ended in. */
function waits(name: string, build: string, pin: boolean | undefined): AnyWorkflow {
  return workflow(name, { ...(pin !== undefined && { pin }) }, async (ctx) => {
    const began = await ctx.run('begin', () => build)
    await ctx.wait(go)
    return [began, await ctx.run('end', () => build)]
  })
}
const waiting = (name: string) => workflow.declare<void, string[]>(name)
const [kept, free, plain] = [waiting('kept'), waiting('free'), waiting('plain')]
const both: Pinning = { kept: true, free: false, plain: undefined }

const isBelow = (percent: number, { runId }: RunHandle<unknown>): boolean =>
  Number.parseInt(runId.slice(-4), 16) < Math.round((percent / 100) * SHARES)

async function checked(engine: Engine): Promise<CheckedRun[]> {
  const found: CheckedRun[] = []
  for await (const run of engine.check()) found.push(run)
  return found
}

describe.each(['memory', 'sqlite', 'postgres', 'file'] as const)('on %s', (kind) => {
  const bench = useStore(kind)
  const begin = async (build: string, pin: boolean, pinning: Pinning = both) => {
    const workflows = Object.entries(pinning).map(([name, each]) => waits(name, build, each))
    return bench.worker({ workflows, build }, { pin, warm: 0 })
  }
  const started = async (engine: Engine, ...which: (typeof kept)[]) => {
    const runs = await Promise.all(which.map((each) => engine.start(each)))
    for (const run of runs) await waitsFor(run, 'signal')
    return runs
  }

  test.each([false, true])(
    'api gap 10: with pin %s for the worker, `pin` of a workflow decides whether its runs stay with their build',
    async (pin) => {
      const a = await begin('a', pin)
      const [stays, moves, asWorker] = await started(a.engine, kept, free, plain)
      const b = await begin('b', pin)
      await a.worker.drain()
      for (const run of [stays, moves, asWorker]) await run?.signal(go)
      expect(await moves?.result()).toEqual(['a', 'b'])
      if (!pin) expect(await asWorker?.result()).toEqual(['a', 'b'])
      for (const run of [stays, ...(pin ? [asWorker] : [])]) {
        const why = await run?.why()
        expect(why).toMatchObject({ reason: 'noWorker', build: 'a' })
        expect(why?.suggestion).toMatch(/pawl builds retire a$/)
      }
      await b.engine.builds.retire('a')
      expect(await stays?.result()).toEqual(['a', 'b'])
      expect(await asWorker?.result()).toEqual(['a', 'b'])
    },
  )

  test('api gap 10: a worker that keeps runs of one workflow is listed with its build, and one that keeps none is not', async () => {
    const a = await begin('a', false)
    await begin('b', false, { free: false, plain: undefined })
    await started(a.engine, kept, free, plain)
    expect(await a.engine.builds.list()).toEqual([{ build: 'a', retired: false, runs: 1, workers: 1 }])
  })

  test.each([false, true])(
    'api gap 10: with pin %s, a roll-out shares out new runs of both kinds, and routes runs in progress that no build keeps',
    async (pin) => {
      const first = await begin('a', pin)
      const which = Array.from({ length: 24 }, (_, index) => (index % 2 === 0 ? kept : free))
      const before = await started(first.engine, ...which)
      await first.engine.builds.rollOut('b', 40)
      await first.worker.drain()
      const { engine } = await begin('a', pin)
      await begin('b', pin)
      const after = await Promise.all(which.map((each) => engine.start(each)))
      for (const run of [...before, ...after]) await run.signal(go)
      const shareOf = (run: RunHandle<unknown>) => (isBelow(40, run) ? 'b' : 'a')
      const [olds, news] = [before, after].map((runs) => Promise.all(runs.map((r) => r.result())))
      expect(await news).toEqual(after.map((run) => [shareOf(run), shareOf(run)]))
      expect(await olds).toEqual(before.map((run, index) => ['a', index % 2 === 0 ? 'a' : shareOf(run)]))
    },
  )

  test.each([
    ['by its workflow', false, true],
    ['by a release that knows only `pin` of workers', true, undefined],
  ])(
    'api gap 10: what was pinned %s stays with its build when the workflow is not pinned any more',
    async (_, pin, own) => {
      const a = await begin('a', pin, { kept: own })
      const [old] = await started(a.engine, kept)
      const b = await begin('b', true, { kept: false })
      await a.worker.drain()
      await old?.signal(go)
      const [fresh] = await started(b.engine, kept)
      await b.worker.drain()
      await begin('c', true, { kept: false })
      await fresh?.signal(go)
      expect(await fresh?.result()).toEqual(['b', 'c'])
      expect(await old?.why()).toMatchObject({ reason: 'noWorker', build: 'a' })
      // Its own build finishes it, whether or not that still pins.
      await begin('a', false, { kept: undefined })
      expect(await old?.result()).toEqual(['a', 'a'])
    },
  )

  test('api gap 10: a workflow that is pinned from now on leaves a run that began before free, in all its generations', async () => {
    const again = (build: string, pin?: boolean) =>
      workflow('again', { ...(pin && { pin }) }, async (ctx, rounds: number): Promise<string> => {
        await ctx.wait(go)
        if (rounds > 0) return ctx.continueAsNew(rounds - 1)
        return build
      })
    const a = await bench.worker({ workflows: [again('a')], build: 'a' }, { warm: 0 })
    const run = await a.engine.start(again('a'), 1)
    await waitsFor(run, 'signal')
    await a.worker.drain()
    const b = await bench.worker({ workflows: [again('b', true)], build: 'b' }, { warm: 0 })
    await run.signal(go)
    await until(
      () => run.describe(),
      ({ generation, status }) => generation === 2 && status === 'waiting',
    )
    await b.worker.drain()
    await bench.worker({ workflows: [again('c')], build: 'c' })
    await run.signal(go)
    expect(await run.result()).toBe('c')
  })

  test('api gap 10: graphs, machines and declared workflows take the option; a child uses its own', async () => {
    const child = workflow('child', { pin: true }, async (ctx) => ctx.wait(go))
    const parent = workflow('parent', { pin: false }, async (ctx) => ctx.child(child))
    const declared = workflow.declare('declared', { pin: true }).implement(async (ctx) => ctx.wait(go))
    const steps = graph('steps', { pin: true, input: typed<void>() }).wait('go', {}, go)
    const states = machine('states', {
      pin: true,
      input: typed<void>(),
      output: typed<string>(),
      state: typed<'waits'>(),
      activities: {},
      signals: { go },
    }).on({
      start: () => ['waits'],
      activityCompleted: {},
      signal: { go: (state, _, act) => [state, act.complete('gone')] },
    })
    const workflows = [child, parent, declared, steps, states]
    const { engine } = await bench.worker({ workflows, build: 'a' })
    for (const each of [parent, declared, steps, states]) await engine.start(workflow.declare(each.name))
    const { items } = await until(
      () => engine.list(),
      (page) => page.items.filter(({ status }) => status === 'waiting').length === 5,
    )
    expect(items).toHaveLength(5)
    expect(await engine.builds.list()).toMatchObject([{ build: 'a', runs: 4 }])
  })

  test('api gap 10: a schedule goes on when the build that set it is gone', async () => {
    const a = await begin('a', true)
    const job = await a.engine.schedules.set('job', { every: '1000h', workflow: plain })
    await until(
      () => job.describe(),
      ({ next }) => next.length > 0,
    )
    await a.worker.drain()
    const b = await begin('b', true)
    await b.engine.schedules.get('job').pause('for good')
    await until(
      () => b.engine.schedules.get('job').describe(),
      ({ paused }) => paused,
    )
  })

  test('api gap 10: an activity that is started on its own is not pinned', async () => {
    const fails = activity('fails', { retry: { initial: '1h' } }, async () => {
      throw new Error('later')
    })
    const { engine } = await bench.worker({ activities: [fails], build: 'a' }, { pin: true })
    await waitsFor(await engine.start(fails), 'backoff')
    expect(await engine.builds.list()).toMatchObject([{ build: 'a', runs: 0 }])
  })

  test('api gap 10: `why` names the build whose share of a roll-out a run is in, if it has no worker', async () => {
    const a = await begin('a', true)
    await a.engine.builds.rollOut('b', 100)
    await a.worker.drain()
    const again = await begin('a', true)
    const run = await again.engine.start(free)
    const why = await run.why()
    expect(why).toMatchObject({ reason: 'noWorker', type: 'free', build: 'b' })
    expect(why.suggestion).toMatch(/roll-out.*pawl builds roll-out b 0$/)
    await again.engine.builds.rollOut('b', 0)
    await again.engine.builds.retire('a')
    await again.worker.drain()
    await begin('a', true)
    const left = await run.why()
    expect(left).toMatchObject({ reason: 'noWorker', type: 'free' })
    expect(left).not.toHaveProperty('build')
    expect(left.suggestion).toMatch(/leaves.*pawl builds/)
  })

  test('api gap 10: check says which runs another build keeps', async () => {
    const a = await begin('a', false)
    await started(a.engine, kept, free)
    const changed = ['kept', 'free'].map((name) =>
      workflow(name, async (ctx) => void (await ctx.run('other', () => 1))),
    )
    const verdicts = async (build: string) => {
      const found = await checked(await bench.engine({ workflows: changed, build }))
      return new Map(found.map(({ name, verdict, keptBy }) => [name, [verdict, keptBy]]))
    }
    const differs = ['differs', undefined]
    expect(Object.fromEntries(await verdicts('b'))).toEqual({
      kept: ['differs', 'a'],
      free: differs,
    })
    expect(Object.fromEntries(await verdicts('a'))).toEqual({ kept: differs, free: differs })
    await a.engine.builds.retire('a')
    expect(Object.fromEntries(await verdicts('b'))).toEqual({ kept: differs, free: differs })
  })
})
