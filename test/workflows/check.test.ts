// Before a deploy: which of the runs in progress would continue with the new code, and which would not.
import { type CheckedRun, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { kinds, until, useStore } from './each-store.ts'

const go = signal('go')

/** Three kinds of runs: before the step that changes, past it, and of another workflow. */
const old = workflow('order', async (ctx, early: boolean) => {
  await ctx.run('reserve', () => 1)
  if (early) await ctx.wait(go)
  await ctx.run('charge', () => 2)
  await ctx.wait(go)
  await ctx.run('ship', () => 3)
})
const other = workflow('other', async (ctx) => ctx.wait(go))

/** The charge was renamed, and nobody said so. */
const renamed = workflow('order', async (ctx, early: boolean) => {
  await ctx.run('reserve', () => 1)
  if (early) await ctx.wait(go)
  await ctx.run('charge card', () => 2)
  await ctx.wait(go)
  await ctx.run('ship', () => 3)
})

const fixed = workflow('order', async (ctx, early: boolean) => {
  await ctx.run('reserve', () => 1)
  if (early) await ctx.wait(go)
  await ctx.run('charge card', { was: 'charge' }, () => 2)
  await ctx.wait(go)
  await ctx.run('ship', () => 3)
})

async function verdicts(runs: AsyncIterable<CheckedRun>): Promise<Map<string, CheckedRun>> {
  const found = new Map<string, CheckedRun>()
  for await (const run of runs) found.set(run.runId, run)
  return found
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('N7 check tells which runs the code fits, where the others part from it, and writes nothing', async () => {
    const first = await bench.worker({ workflows: [old, other], build: 'one' })
    const early = await first.engine.start(old, true)
    const past = await first.engine.start(old, false)
    const stranger = await first.engine.start(other)
    await until(
      () => first.engine.count({ status: 'waiting' }),
      (n) => n === 3,
    )
    await first.worker.drain()
    const engine = await bench.engine({ workflows: [renamed], build: 'two' })
    const found = await verdicts(engine.check())
    expect(found.get(early.runId)).toMatchObject({ verdict: 'moves', unrequested: [] })
    expect(found.get(stranger.runId)).toMatchObject({ verdict: 'noCode', name: 'other' })
    const differs = found.get(past.runId)
    expect(differs).toMatchObject({ verdict: 'differs', failure: { code: 'DETERMINISM' } })
    expect(differs?.verdict === 'differs' && differs.failure.message).toMatch(/charge card.*check\.test\.ts:/s)
    expect(await engine.count({ status: 'waiting' })).toBe(3)
    const report = await engine.builds.keepCheck('two', [...found.values()])
    expect(report.counts).toEqual({ all: 3, moves: 1, differs: 1, noCode: 1, pinned: 0 })
    expect(report.groups.map(({ finding, workflow, count }) => [finding, workflow, count])).toEqual([
      ['differs', 'order', 1],
      ['noCode', 'other', 1],
      ['moves', 'order', 1],
    ])
    expect(report.groups[0]).toMatchObject({
      text: expect.stringMatching(/charge card/),
      runs: [{ runId: past.runId }],
    })
    await engine.builds.keepCheck('three', [])
    await engine.builds.keepCheck('two', [...found.values()])
    const kept = await first.engine.builds.checks()
    expect(kept.map(({ build }) => build).toSorted()).toEqual(['three', 'two'])
    expect(kept.find(({ build }) => build === 'two')).toMatchObject({ counts: report.counts, groups: report.groups })
    const better = await bench.engine({ workflows: [fixed, other], build: 'three' })
    const again = await verdicts(better.check({ workflow: old }))
    expect([...again.values()].map(({ verdict }) => verdict)).toEqual(['moves', 'moves'])
  })
})

describe('on sqlite, a thousand runs', () => {
  const bench = useStore('sqlite')

  test('N7 all of them are told apart', { timeout: 60_000 }, async () => {
    const { engine, worker } = await bench.worker({ workflows: [old, other], build: 'one' })
    const inputs = Array.from({ length: 900 }, (_, n) => ({ input: n % 3 === 0 }))
    await engine.startMany(old, inputs)
    await engine.startMany(
      other,
      Array.from({ length: 100 }, () => ({})),
    )
    await until(
      () => engine.count({ status: 'waiting' }),
      (n) => n === 1_000,
    )
    await worker.drain()
    const edited = await bench.engine({ workflows: [renamed], build: 'two' })
    const counts = { moves: 0, differs: 0, noCode: 0 }
    const begun = performance.now()
    for await (const { verdict } of edited.check()) counts[verdict]++
    console.log(`1,000 runs checked in ${Math.round(performance.now() - begun)} ms`)
    expect(counts).toEqual({ moves: 300, differs: 600, noCode: 100 })
  })
})
