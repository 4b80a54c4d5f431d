// P14, S10: runs that ended long ago are deleted, by age and by number, by one worker of a fleet at a time; and what
// becomes of ids, parents and children.
import { signal, workflow } from 'pawl'
import { testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { Expiry } from '../../src/addons/retention/options.ts'
import type { EndedStatus } from '../../src/core/kernel/run.ts'
import { kinds, until, useStore, waitsFor } from './each-store.ts'

const quick = workflow('quick', async (ctx, n: number) => ctx.run('double', () => n * 2))
const breaks = workflow('breaks', async () => {
  throw new Error('no')
})
const go = signal('go')
const mother = workflow('mother', async (ctx) => {
  const result = await ctx.child(quick, 1)
  await ctx.wait(go)
  return result
})
const code = { workflows: [quick, breaks, mother] }
const DAY = 86_400_000

function inputs(count: number): { readonly input: number }[] {
  return Array.from({ length: count }, (_, index) => ({ input: index + 1 }))
}

describe.each(kinds.filter((kind) => kind !== 'file' && kind !== 'radosgw'))('on %s', (kind) => {
  const store = useStore(kind)

  test('P14: a purge deletes what has ended, and nothing in progress; a dry run only counts', async () => {
    const engine = await store.serve(code)
    const runs = await engine.startMany(quick, inputs(5))
    const failed = await engine.start(breaks, undefined)
    const parent = await engine.start(mother, undefined, { workflowId: 'mother' })
    await waitsFor(parent, 'signal')
    await Promise.all(runs.map((run) => run.result()))
    await failed.result().catch(() => {})
    const policy = { keep: 0, failed: 'forever' } as const
    const wouldBe = await until(
      () => engine.retention.purge(policy, { dryRun: true }),
      ({ purged }) => purged === 6,
    )
    // The child of the mother counts: only the deletion itself finds that it must stay.
    expect(wouldBe).toEqual({ purged: 6, needed: 0, byWorkflow: { quick: 6 } })
    expect(await engine.count({ workflow: quick })).toBe(6)
    expect(await engine.retention.purge(policy, { limit: 2 })).toMatchObject({ purged: 2 })
    expect(await engine.retention.purge(policy)).toEqual({ purged: 3, needed: 1, byWorkflow: { quick: 3 } })
    expect(await engine.count({ workflow: quick })).toBe(1)
    expect((await failed.describe()).status).toBe('failed')
    await parent.signal(go)
    expect(await parent.result()).toBe(2)
    expect(await engine.retention.purge({ keep: 0 })).toMatchObject({ purged: 3, needed: 0 })
    expect(await engine.count({})).toBe(0)
    await expect(runs[0]?.result()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
  })

  test('P14: of each workflow the newest stay, and a key that was used once starts another run', async () => {
    const engine = await store.serve(code)
    const first = await engine.start(quick, 0, { idempotencyKey: 'key', workflowId: 'quick-0' })
    await first.result()
    for (let n = 1; n < 6; n++) {
      const before = Date.now()
      // Runs that are created in one millisecond have no order.
      await until(
        () => Date.now(),
        (now) => now > before,
      )
      await (await engine.start(quick, n)).result()
    }
    await (await engine.start(breaks, undefined)).result().catch(() => {})
    const policy = { workflows: { quick: { newest: 2 } } }
    expect(await engine.retention.purge(policy)).toEqual({ purged: 4, needed: 0, byWorkflow: { quick: 4 } })
    const left = (await engine.list({ workflow: quick })).items.map(({ output }) => output)
    expect(left).toEqual([10, 8])
    expect(await engine.count({ workflow: breaks })).toBe(1)
    const again = await engine.start(quick, 7, { idempotencyKey: 'key', workflowId: 'quick-0', reuse: 'reject' })
    expect(again).toMatchObject({ isNew: true, runId: first.runId })
    expect(await again.result()).toBe(14)
    expect(await engine.retention.purge({ newest: 1 })).toEqual({ purged: 2, needed: 0, byWorkflow: { quick: 2 } })
  })

  test('P14: purges at the same time keep as many as one alone', async () => {
    const { engine, worker } = await store.worker(code)
    const runs = await engine.startMany(quick, inputs(1_100))
    await Promise.all(runs.map((run) => run.result()))
    await worker.drain()
    const policy = { newest: 5 }
    await Promise.all([1, 2, 3].map(() => engine.retention.purge(policy)))
    expect(await engine.count({ workflow: quick })).toBeGreaterThanOrEqual(5)
    await engine.retention.purge(policy)
    expect(await engine.count({ workflow: quick })).toBe(5)
  })

  test('P14: workers carry out the policy of the store until it is removed', async () => {
    const engine = await store.serve(code)
    await store.serve(code)
    expect(await engine.retention.get()).toBeUndefined()
    const runs = await engine.startMany(quick, inputs(3))
    await Promise.all(runs.map((run) => run.result()))
    await until(
      () => engine.count({ workflow: quick, status: 'completed' }),
      (count) => count === 3,
    )
    await engine.retention.set({ keep: 0 })
    const done = await until(
      () => engine.retention.get(),
      (record) => record?.lastPass !== undefined,
    )
    expect(done).toMatchObject({ policy: { keep: 0 }, purged: 3, lastPass: { purged: 3, needed: 0 } })
    expect(await engine.count({ workflow: quick })).toBe(0)
    const fourth = await engine.start(quick, 4)
    await fourth.result()
    // A changed policy is looked at without waiting for the next pass.
    await engine.retention.set({ keep: 0, workflows: { quick: { keep: 'forever' } } })
    await until(
      () => engine.retention.get(),
      (record) => (record?.lastPass?.at ?? 0) > (done?.lastPass?.at ?? 0),
    )
    expect((await fourth.describe()).status).toBe('completed')
    await engine.retention.remove()
    expect(await engine.retention.get()).toBeUndefined()
    await engine.retention.set({ keep: 0 })
    await until(
      () => engine.count({ workflow: quick }),
      (count) => count === 0,
    )
  })
})

describe.each(['file', 'radosgw'] as const)('on %s', (kind) => {
  const store = useStore(kind)

  test('P14: single runs of object storage are not deleted, and the error says what to do', async () => {
    const engine = await store.engine(code)
    for (const call of [() => engine.retention.set({ keep: '30d' }), () => engine.retention.purge({ keep: '30d' })])
      await expect(call()).rejects.toMatchObject({ code: 'NOT_SUPPORTED', message: /\?retention=30d/ })
    expect(await engine.retention.get()).toBeUndefined()
  })
})

describe('in virtual time', () => {
  test('P14: runs go when their time is over, each at its own', async () => {
    await using engine = await testEngine(code)
    const [one] = await engine.startMany(quick, inputs(2))
    await one?.result()
    const failed = await engine.start(breaks, undefined)
    await failed.result().catch(() => {})
    await engine.retention.set({ keep: '30d', failed: '90d' })
    await engine.clock.advance(29 * DAY)
    expect(await engine.count({ workflow: quick })).toBe(2)
    await engine.clock.advance(1.1 * DAY)
    expect(await engine.count({ workflow: quick })).toBe(0)
    expect((await failed.describe()).status).toBe('failed')
    await engine.clock.advance(60 * DAY)
    expect(await engine.count({ workflow: breaks })).toBe(0)
    expect(await engine.retention.get()).toMatchObject({ purged: 3 })
  })
})

describe('a policy', () => {
  const after = (policy: ConstructorParameters<typeof Expiry>[0], name: string, status: EndedStatus) =>
    new Expiry(policy).afterMs(name, status) / DAY

  test('P14: the rule of the workflow counts, then the general one; of each, first that of the status', () => {
    const policy = {
      keep: '30d',
      failed: '90d',
      workflows: { tick: { keep: '1d' }, order: { failed: 'forever' } },
    } as const
    expect(after(policy, 'x', 'completed')).toBe(30)
    expect(after(policy, 'x', 'failed')).toBe(90)
    expect(after(policy, 'tick', 'failed')).toBe(1)
    expect(after(policy, 'order', 'failed')).toBe(Number.POSITIVE_INFINITY)
    expect(after(policy, 'order', 'cancelled')).toBe(30)
    expect(after({ newest: 5 }, 'x', 'completed')).toBe(Number.POSITIVE_INFINITY)
    expect(after(policy, 'constructor', 'completed')).toBe(30)
  })

  test('P14: a policy that is misspelt, or deletes nothing, is refused', async () => {
    await using engine = await testEngine(code)
    const refused = async (policy: object, text: RegExp) =>
      expect(engine.retention.set(policy as never)).rejects.toMatchObject({ code: 'INPUT_INVALID', message: text })
    await refused({}, /deletes nothing/)
    await refused({ keep: 'forever' }, /deletes nothing/)
    await refused({ keeps: '30d' }, /did you mean `keep`/)
    await refused({ keep: '30 days' }, /30 days/)
    await refused({ keep: -1 }, /keep/)
    await refused({ keep: '30d', workflows: { quick: { newst: 3 } } }, /did you mean `newest`/)
    await refused({ newest: 1.5 }, /whole number/)
    await expect(engine.retention.purge({ keep: 0 }, { limit: 0 })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
    expect(await engine.retention.get()).toBeUndefined()
  })
})
