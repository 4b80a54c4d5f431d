// Builds that keep the runs they began: who takes which run, how new ones are shared out, and what is said of those that wait.
import { type AnyWorkflow, type RunHandle, signal, workflow } from 'pawl'
import { compress } from 'pawl/codecs'
import { describe, expect, test } from 'vitest'
import { SHARES } from '../../src/core/policies/roll-out.ts'
import { rejection, until, useStore, waitsFor } from '../workflows/each-store.ts'

const go = signal('go')

/** The same workflow as it is in a build: it waits, and says which build it began and ended in. */
const of = (build: string): AnyWorkflow[] => [
  workflow('kept', async (ctx) => {
    const began = await ctx.run('begin', () => build)
    await ctx.wait(go)
    return [began, await ctx.run('end', () => build)]
  }),
  workflow('quick', async (ctx) => ctx.run('begin', () => build)),
]
const kept = workflow.declare<void, string[]>('kept')
const quick = workflow.declare<void, string>('quick')

const shareOf = ({ runId }: RunHandle<unknown>): number => Number.parseInt(runId.slice(-4), 16)

describe.each(['memory', 'sqlite', 'postgres', 'file'] as const)('on %s', (kind) => {
  const bench = useStore(kind)
  const begin = async (build: string, pin = true) => bench.worker({ workflows: of(build), build }, { pin, warm: 0 })

  test('N7: a run that a build has begun is taken by no other, also when that build is gone; retired, it is', async () => {
    const a = await begin('a')
    const run = await a.engine.start(kept)
    await waitsFor(run, 'signal')
    const b = await begin('b')
    await a.worker.drain()
    await run.signal(go)
    // Others are at work all the time, and begin what is new.
    expect(await b.engine.execute(quick)).toBe('b')
    const why = await run.why()
    expect(why).toMatchObject({ reason: 'noWorker', type: 'kept', build: 'a' })
    expect(why.suggestion).toMatch(/build 'a'.*pawl builds retire a/)
    expect(await b.engine.builds.list()).toEqual([{ build: 'b', retired: false, runs: 0, workers: 1 }])
    await b.engine.builds.retire('a')
    expect(await run.result()).toEqual(['a', 'b'])
  })

  test('N7: a worker of the same build goes on with it, pinned or not; an unpinned one of another does not', async () => {
    const { engine, worker } = await begin('a')
    const runs = await engine.startMany(kept, [{}, {}])
    for (const run of runs) await waitsFor(run, 'signal')
    await worker.drain()
    const other = await begin('c', false)
    for (const run of runs) await run.signal(go)
    expect(await other.engine.execute(quick)).toBe('c')
    for (const run of runs) expect((await run.why()).reason).toBe('noWorker')
    await begin('a', false)
    for (const run of runs) expect(await run.result()).toEqual(['a', 'a'])
  })

  test('N7: what was retired is gone on with by unpinned workers, too', async () => {
    const { engine, worker } = await begin('a')
    const run = await engine.start(kept)
    await waitsFor(run, 'signal')
    await worker.drain()
    await engine.builds.retire('a')
    await begin('c', false)
    await run.signal(go)
    expect(await run.result()).toEqual(['a', 'c'])
  })

  test('N8: new runs are shared out by their ids, to the percent', async () => {
    const client = await bench.engine()
    await client.builds.rollOut('b', 30)
    const a = await begin('a')
    await begin('b')
    const starts = Array.from({ length: 40 }, () => ({}))
    const runs = await client.startMany(quick, starts)
    // Also of those that a worker could take in the write that creates them.
    for (const _ of starts.slice(0, 20)) runs.push(await a.engine.start(quick))
    const began = await Promise.all(runs.map((run) => run.result()))
    const expected = runs.map((run) => (shareOf(run) < Math.round(0.3 * SHARES) ? 'b' : 'a'))
    expect(began).toEqual(expected)
    expect(new Set(began)).toEqual(new Set(['a', 'b']))
  })

  test('N8: a build that is retired begins nothing, and one that has its share of none waits for others', async () => {
    const client = await bench.engine()
    await client.builds.retire('a')
    const a = await begin('a')
    const run = await a.engine.start(quick)
    expect(await run.why()).toMatchObject({ reason: 'noWorker', type: 'quick' })
    await begin('b')
    expect(await run.result()).toBe('b')
    await client.builds.rollOut('a', 0)
    expect(await client.builds.list()).toEqual([
      { build: 'a', percent: 0, retired: false, runs: 0, workers: 1 },
      { build: 'b', retired: false, runs: 0, workers: 1 },
    ])
  })

  test('N8: shares are changed while workers are there; no more than all there is can be given', async () => {
    const { engine } = await begin('a')
    await engine.builds.rollOut('a', 60)
    expect(await rejection(engine.builds.rollOut('b', 41))).toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/41 % for build 'b'.*a 60 %/),
    })
    for (const percent of [-1, 101, Number.NaN])
      expect(await rejection(engine.builds.rollOut('a', percent))).toMatchObject({
        code: 'INPUT_INVALID',
      })
    await engine.builds.rollOut('a', 100)
    await begin('b')
    await engine.builds.rollOut('a', 0)
    await until(
      async () => engine.execute(quick),
      (build) => build === 'b',
    )
  })

  test('N8: a build is called what its user calls it, also with codecs', async () => {
    const codecs = [compress()]
    const client = await bench.engine({ codecs })
    await client.builds.rollOut('a', 100)
    await bench.worker({ workflows: of('a'), build: 'a', codecs }, { pin: true })
    const run = await client.start(kept)
    await waitsFor(run, 'signal')
    expect(await client.builds.list()).toMatchObject([{ build: 'a', percent: 100, runs: 1 }])
    // And one that does not pin goes on with what is called so.
    await bench.closeEngines()
    const other = await bench.worker({ workflows: of('a'), build: 'a', codecs })
    await other.engine.get(run.runId).signal(go)
    expect(await other.engine.get(run.runId).result()).toEqual(['a', 'a'])
  })

  test('N7: a build that cannot even begin a run does not keep it from others', async () => {
    const wrong = workflow('quick', async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return 'wrong'
    })
    const { engine, worker } = await bench.worker({ workflows: [wrong], build: 'a' }, { pin: true })
    const run = await engine.start(wrong)
    await until(
      () => run.describe(),
      ({ status }) => status === 'paused',
    )
    await worker.drain()
    await begin('b')
    expect(await run.result()).toBe('b')
  })

  test('N7: a fork is kept by the build that goes on with it', async () => {
    const { engine } = await begin('a')
    const run = await engine.start(kept)
    await waitsFor(run, 'signal')
    const fork = await run.fork({ step: 'wait:go#1' })
    await waitsFor(fork, 'signal')
    expect(await engine.builds.list()).toMatchObject([{ build: 'a', runs: 2 }])
  })
})
