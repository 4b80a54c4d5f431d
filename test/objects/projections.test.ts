// `runs/<id>/state.json` agrees with `describe()` for every run: after a clean close, and after a crash once the next
// worker has written what was missing.
import { graph, PermanentError, signal, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import type { Bucket } from '../../src/stores/objects/bucket.ts'
import type { Credentials } from '../../src/stores/objects/credentials.ts'
import { examine } from '../../src/stores/objects/doctor/doctor.ts'
import { nameKey, runKey } from '../../src/stores/objects/layout.ts'
import { openBucket } from '../../src/stores/objects/open.ts'
import { type Bench, until, useStore, waitsFor } from '../workflows/each-store.ts'

const go = signal('go')

const waits = graph('waits')
  .step('before', async () => 1)
  .wait('signal', { after: ['before'] }, go)
  .step('after', { after: ['signal'] }, async () => 2)

const undoes = graph('undoes')
  .step('reserve', async () => 1)
  .compensate(async () => {})
  .step('charge', { after: ['reserve'], retry: 'none' }, async () => {
    throw new PermanentError('declined')
  })

const many = workflow('many', async (ctx) => {
  for (let n = 0; n < 120; n++) await ctx.run(`step ${n}`, () => n)
})

let end = (): void => {}
const long = workflow('long', async (ctx) => {
  await ctx.run('first', () => 1)
  await ctx.run('stays', () => new Promise<void>((resolve) => (end = resolve)))
})

const workflows = [waits, undoes, many, long]

async function bucketOf(bench: Bench): Promise<Bucket> {
  const credentials = async (): Promise<Credentials> => bench.credentials
  return openBucket(bench.url, systemClock, { credentials })
}

async function shown(bucket: Bucket, runId: string): Promise<Record<string, unknown> | undefined> {
  const text = await bucket.get(runKey(runId, 'state.json'))
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, unknown>)
}

/** Returns the differences between the projections and the store. */
async function stale(bench: Bench): Promise<string[]> {
  const bucket = await bucketOf(bench)
  const engine = await bench.engine()
  const found: string[] = []
  const { items } = await engine.list({}, { limit: 1_000 })
  for (const { runId, workflowId, status, updatedAt } of items) {
    const state = await shown(bucket, runId)
    const is = [state?.['status'], state?.['updatedAt']].join(' ')
    // A turn may have a time a little ahead of the storage's clock, which `describe` does not show.
    const isCurrent = state?.['status'] === status && new Date(String(state['updatedAt'])) >= updatedAt
    if (!isCurrent) found.push(`${workflowId}: ${is}, and is ${status} ${updatedAt.toISOString()}`)
    if (workflowId !== runId && (await bucket.get(nameKey(workflowId))) === undefined)
      found.push(`${workflowId} has no name`)
  }
  await engine.close()
  await bucket.close()
  return found
}

describe.each(['file', 's3', 'radosgw'] as const)('users D6: projections on %s', (kind) => {
  const bench = useStore(kind)

  test('are current for every run after a clean close', async () => {
    const engine = await bench.serve({ workflows }, { grace: 0 })
    const ids = Array.from({ length: 8 }, (_, n) => n)
    const waiting = await engine.startMany(
      waits,
      ids.map((n) => ({ input: undefined, workflowId: `wait-${n}` })),
    )
    const undone = await engine.startMany(
      undoes,
      ids.map((n) => ({ input: undefined, workflowId: `undo-${n}` })),
    )
    const steps = await engine.start(many, undefined, { workflowId: 'many' })
    await engine.start(long, undefined, { workflowId: 'long' })
    await engine.start(waits, undefined, { workflowId: 'pending', pending: true })
    await Promise.all(waiting.map((run) => waitsFor(run, 'signal')))
    await Promise.all(waiting.slice(1).map((run) => run.signal(go)))
    await Promise.all([...waiting.slice(1), steps].map((run) => run.result()))
    await Promise.allSettled(undone.map((run) => run.result()))
    await engine.close()
    end()
    expect(await stale(bench)).toEqual([])
  })

  test('of a client alone are current after it, and do not undo what a worker wrote', async () => {
    const worker = await bench.serve({ workflows })
    const client = await bench.engine()
    const run = await client.start(waits, undefined, { workflowId: 'order' })
    await waitsFor(run, 'signal')
    await run.signal(go)
    await run.result()
    await client.close()
    await worker.close()
    expect(await stale(bench)).toEqual([])
  })

  test('that a crash left behind are written by the next worker', async () => {
    const engine = await bench.serve({ workflows })
    const runs = await engine.startMany(
      undoes,
      Array.from({ length: 6 }, (_, n) => ({ input: undefined, workflowId: `undo-${n}` })),
    )
    await Promise.allSettled(runs.map((run) => run.result()))
    await engine.close()
    const bucket = await bucketOf(bench)
    const [lost, ...old] = runs
    await bucket.delete([runKey(lost?.runId ?? '', 'state.json'), nameKey('undo-0')])
    for (const { runId } of old) {
      const state = { ...(await shown(bucket, runId)), updatedAt: new Date(0).toISOString() }
      await bucket.put(runKey(runId, 'state.json'), JSON.stringify(state))
    }
    expect((await examine(bucket)).projections).toMatchObject({ missing: 1, old: 5 })
    await bench.serve({ workflows })
    const isSeen = ({ projections }: Awaited<ReturnType<typeof examine>>): boolean =>
      projections.missing + projections.old === 0
    await until(() => examine(bucket), isSeen)
    await bucket.close()
    await bench.closeEngines()
    expect(await stale(bench)).toEqual([])
  })
})
