// Runs in every state move from one store to another, and go on there: the steps that are recorded do not run again,
// and nothing goes on in the old place.
import { type Engine, moveRuns, type OpenOptions, type StartOptions, stream, type WorkerOptions, workflow } from 'pawl'
import { expect, test } from 'vitest'
import { radosgwStartMsMax } from '../support/radosgw.ts'
import { Bench, type Kind, rejection, until, waitsFor } from './each-store.ts'
import { definitionsOf, go, type Ran } from './moving-program.ts'

const patient = (kind: Kind): { timeout: number } => ({ timeout: kind === 'radosgw' ? 60_000 : 20_000 })

/** Starts a run in every state, and stops the workers. */
async function fill(source: Bench, ran: Ran): Promise<void> {
  const d = definitionsOf(ran)
  const engine = await source.serve(options(d), { queues: ['default'] })
  const named = (workflowId: string): StartOptions => ({ workflowId })
  const waiting = await engine.start(d.waits, undefined, {
    ...named('waits'),
    attributes: { region: 'eu', tags: ['a', 'b'] },
  })
  const queued = await engine.start(d.queues, undefined, named('queues'))
  const parent = await engine.start(d.parent, undefined, named('parent'))
  await engine.start(d.waits, undefined, { ...named('later'), delay: '1s' })
  const failed = await engine.start(d.fails, undefined, named('fails'))
  await failed.result().catch(() => {})
  const done = await engine.start(d.sleeps, undefined, named('done'))
  await done.result(patient(source.kind))
  await waitsFor(waiting, 'signal')
  await waitsFor(queued, 'noWorker')
  await waitsFor(parent, 'child')
  await waitsFor(engine.get({ workflowId: 'the-child' }), 'signal')
  await engine.schedules.set('daily', { workflow: d.fails, every: '24h' })
  const retrying = await engine.start(d.retries, undefined, named('retries'))
  await waitsFor(retrying, 'backoff')
  const sleeping = await engine.start(d.sleeps, undefined, named('sleeps'))
  await waitsFor(sleeping, 'timer')
  await source.closeEngines()
  const client = await source.engine(options(d))
  await client.get({ workflowId: 'waits' }).signal(go, 'while nobody works')
}

function options({ workflows, activities }: ReturnType<typeof definitionsOf>): OpenOptions {
  return { workflows, activities }
}

async function leftBehind(engine: Engine, ran: Ran): Promise<void> {
  const d = definitionsOf(ran)
  const run = engine.get({ workflowId: 'waits' })
  const record = await run.describe()
  expect(record).toMatchObject({ status: 'moved', attributes: { region: 'eu' } })
  expect(record.movedTo).not.toMatch(/postgres:\/\/.*@|password/)
  const calls: readonly (() => Promise<unknown>)[] = [
    ...[() => run.signal(go, 'too late'), () => run.result(), () => run.cancel(), () => run.terminate('no')],
    ...[() => run.pause(), () => run.resume(), () => run.retry(), () => run.reset({ step: 'step' })],
    () => engine.get({ workflowId: 'done' }).result(),
  ]
  for (const call of calls) expect(await rejection(call())).toMatchObject({ code: 'RUN_MOVED' })
  const again = engine.start(d.waits, undefined, { workflowId: 'waits', reuse: 'allowIfEnded' })
  expect(await rejection(again)).toMatchObject({ code: 'RUN_ALREADY_EXISTS' })
  expect((await run.why()).suggestion).toContain('goes on in')
  expect(await engine.count({ status: ['pending', 'running', 'waiting', 'paused'] })).toBe(0)
}

async function goOn(target: Bench, ran: Ran): Promise<void> {
  const d = definitionsOf(ran)
  const work: WorkerOptions = { queues: ['default', 'far', 'pawl.schedules'] }
  const engine = await target.serve(options(d), work)
  const soon = patient(target.kind)
  const get = (workflowId: string) => engine.get({ workflowId })
  expect(await get('waits').result(soon)).toEqual([1, 'while nobody works', 1])
  await get('the-child').signal(go, 'child')
  expect(await get('parent').result(soon)).toEqual([1, 'child', 1])
  await get('later').signal(go, 'later')
  expect(await get('later').result(soon)).toEqual([1, 'later', 1])
  expect(await get('queues').result(soon)).toEqual([1, 1])
  expect(await get('retries').result(soon)).toBe(2)
  expect(await get('sleeps').result(soon)).toBe(1)
  expect(await get('done').result(soon)).toBe(1)
  expect(await rejection(get('fails').result(soon))).toMatchObject({ cause: { message: 'as it should' } })
  for (const [key, times] of ran) expect([key, times]).toEqual([key, key.endsWith('shaky') ? 2 : 1])
  expect(await engine.schedules.list()).toMatchObject({ items: [{ id: 'daily' }] })
  const found = await engine.list({ attributes: { tags: 'b' } })
  expect(found.items.map(({ workflowId }) => workflowId)).toEqual(['waits'])
  await until(
    () => engine.count({ status: 'moved' }),
    (count) => count === 0,
  )
}

const pairs: readonly (readonly [Kind, Kind])[] = [
  ...(['sqlite', 'postgres', 'file'] as const).flatMap((from) =>
    (['sqlite', 'postgres', 'file'] as const).map((to) => [from, to] as const),
  ),
  ['postgres', 'radosgw'],
  ['radosgw', 'sqlite'],
]

// Each pair mostly waits for timers.
test.concurrent.each(pairs)(
  'runs move from %s to %s, and go on there, once',
  async (from, to) => {
    const [source, target] = [new Bench(from), new Bench(to)]
    const ran: Ran = new Map()
    try {
      await Promise.all([source.prepare(), target.prepare()])
      source.renew()
      target.renew()
      await fill(source, ran)
      const credentials = async () => (from === 'radosgw' ? source : target).credentials
      const move = { from: source.url, to: target.url, credentials, patience: 0 }
      expect(await moveRuns(move)).toMatchObject({ moved: 10, refused: [], codecs: [] })
      expect(await moveRuns(move)).toMatchObject({ moved: 0, refused: [] })
      await leftBehind(await source.engine(options(definitionsOf(ran))), ran)
      await goOn(target, ran)
    } finally {
      await Promise.all([source.closeEngines(), target.closeEngines()])
      await Promise.all([source.cleanUp(), target.cleanUp()])
    }
  },
  90_000 + radosgwStartMsMax,
)

test('streams and the retention stay: a run with streams goes on where it is', async () => {
  const [source, target] = [new Bench('sqlite'), new Bench('sqlite')]
  const told = stream<string>('told')
  const tells = workflow('tells', async (ctx) => {
    ctx.stream(told).write('hello')
    return ctx.wait(go)
  })
  try {
    await Promise.all([source.prepare(), target.prepare()])
    source.renew()
    target.renew()
    const engine = await source.serve({ workflows: [tells] })
    const { runId } = await engine.start(tells)
    await waitsFor(engine.get(runId), 'signal')
    await engine.retention.set({ keep: '300d' })
    await source.closeEngines()
    const report = await moveRuns({ from: source.url, to: target.url, patience: 0 })
    expect(report).toMatchObject({ moved: 0, refused: [{ runId, reason: 'streams' }] })
    const serving = await source.serve({ workflows: [tells] })
    expect((await serving.get({ workflowId: 'pawl.retention' }).describe()).status).not.toBe('moved')
    const again = serving.get(runId)
    await again.signal(go, 'still here')
    expect(await again.result()).toBe('still here')
    const client = await target.engine()
    expect(await client.count({})).toBe(0)
  } finally {
    await Promise.all([source.closeEngines(), target.closeEngines()])
    await Promise.all([source.cleanUp(), target.cleanUp()])
  }
})
