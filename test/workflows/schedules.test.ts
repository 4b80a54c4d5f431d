// Runs that start by the clock: which slots are taken, when the one before is still in progress, and what people can say.
import { type RunRecord, signal, workflow } from 'pawl'
import { type TestEngine, testEngine } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { kinds, rejection, until, useStore } from './each-store.ts'

const finish = signal('finish')
const started: number[] = []

const quick = workflow('quick', async (ctx, tag: string) => `${tag} ${ctx.info.workflowId}`)
/** Goes on until it is told to finish, or is stopped. */
const long = workflow('long', async (ctx) => {
  started.push(ctx.now())
  await ctx.wait(finish)
})

const slow = workflow('slow', async (ctx) => ctx.sleep('90s'))
const heavy = workflow('heavy', async (_ctx, _: string) => 'x'.repeat(400_000))
const any = workflow('any', async (_ctx, input: unknown) => input)
/** Goes on for long when it is told to stop. */
const stubborn = workflow('stubborn', async (ctx) => ctx.shield((inner) => inner.sleep('40m')))

let engine: TestEngine
afterEach(() => engine?.close())

const MINUTE = 60_000
const keeper = (id: string) => engine.get({ workflowId: `pawl.schedule:${id}` })

async function eventsOf(id: string): Promise<number> {
  let events = 0
  for await (const _ of keeper(id).history()) events++
  return events
}

async function fresh(): Promise<TestEngine> {
  started.length = 0
  engine = await testEngine({
    workflows: [quick, long, slow, heavy, any, stubborn],
    skipTime: false,
  })
  // A full hour, so that the tests can speak of minutes.
  await engine.clock.set(new Date(Math.ceil(engine.clock.now() / (60 * MINUTE)) * 60 * MINUTE))
  return engine
}

async function runsOf(workflowName: string): Promise<readonly RunRecord[]> {
  const { items } = await engine.list({ workflow: workflowName }, { limit: 1_000 })
  return items.toSorted((a, b) => slotOf(a) - slotOf(b))
}

const slotOf = ({ attributes }: RunRecord): number => Number(attributes['slot'] ?? 0)

const slotsOf = async (name: string): Promise<number[]> =>
  (await runsOf(name)).map(({ attributes }) => new Date(attributes['slot'] as Date).getUTCMinutes())

describe('in virtual time', () => {
  test('T3 T8: every slot starts a run, named after the schedule and the slot', async () => {
    await fresh()
    const plan = { cron: '*/15 * * * *', workflow: quick, input: 'hello' }
    const every = await engine.schedules.set('every', plan)
    await engine.clock.advance('1h')
    expect(await slotsOf('quick')).toEqual([15, 30, 45, 0])
    const [first] = await runsOf('quick')
    expect(first?.status).toBe('completed')
    expect(first?.workflowId).toMatch(/^every@.*:15:00\.000Z$/)
    expect(first?.output).toBe(`hello ${first?.workflowId}`)
    const { next, lastRunId, paused } = await every.describe()
    expect([next.length, paused]).toEqual([5, false])
    expect(lastRunId).toBe((await runsOf('quick')).at(-1)?.runId)
  })

  test('T3: an interval, with an offset and bounds', async () => {
    await fresh()
    const from = new Date(engine.clock.now() + 20 * MINUTE)
    const until = new Date(engine.clock.now() + 45 * MINUTE)
    const timing = { every: '10m', offset: '5m', from, until } as const
    await engine.schedules.set('some', { ...timing, workflow: quick, input: '' })
    await engine.clock.advance('2h')
    expect(await slotsOf('quick')).toEqual([25, 35, 45])
    expect((await engine.schedules.get('some').describe()).next).toEqual([])
  })

  test('T5: the same id again changes the schedule, and nothing is started twice', async () => {
    await fresh()
    const set = (minutes: number): Promise<unknown> =>
      engine.schedules.set('job', { every: `${minutes}m`, workflow: quick, input: 'x' })
    await set(30)
    await set(30)
    await engine.clock.advance('30m')
    await set(20)
    await engine.clock.advance('30m')
    expect(await slotsOf('quick')).toEqual([30, 40, 0])
    expect((await engine.schedules.list()).items).toHaveLength(1)
  })

  test('T5: paused, it takes no slot and says why; resumed, it does not catch up; deleted, it is gone', async () => {
    await fresh()
    const job = await engine.schedules.set('job', { every: '10m', workflow: quick, input: '' })
    await engine.clock.advance('10m')
    await job.pause('holiday')
    await engine.clock.advance('30m')
    expect(await job.describe()).toMatchObject({ paused: true, note: 'holiday', next: [] })
    await job.resume()
    await engine.clock.advance('10m')
    expect(await slotsOf('quick')).toEqual([10, 50])
    await job.delete()
    await engine.clock.advance('30m')
    expect(await slotsOf('quick')).toEqual([10, 50])
    expect(await rejection(job.describe())).toMatchObject({ code: 'RUN_NOT_FOUND' })
    expect((await engine.schedules.list()).items).toEqual([])
    await engine.schedules.set('job', { every: '10m', workflow: quick, input: '' })
    await engine.clock.advance('10m')
    expect(await slotsOf('quick')).toHaveLength(3)
  })

  test('T5: what is set again stays paused, and a plan that changed is the one that counts', async () => {
    await fresh()
    const plan = { every: '10m', workflow: quick, overlap: 'skip' } as const
    const set = (input: string, more: object = {}): Promise<unknown> =>
      engine.schedules.set('job', { ...plan, input, ...more })
    await set('old', { paused: true, note: 'holiday' })
    const job = engine.schedules.get('job')
    await set('new')
    expect(await job.describe()).toMatchObject({ paused: true, note: 'holiday' })
    expect(await (await job.trigger()).result()).toMatch(/^new /)
    await engine.clock.advance('25m')
    await set('new', { paused: false, catchUp: 'all' })
    await engine.clock.advance('10m')
    expect((await slotsOf('quick')).slice(1)).toEqual([30])
    const until = new Date(engine.clock.now() + 25 * MINUTE)
    await set('new', { until })
    expect((await job.describe()).next.map((slot) => slot.getUTCMinutes())).toEqual([40, 50, 0])
  })

  test('a batch of all runs does not stop schedules', async () => {
    await fresh()
    await engine.schedules.set('job', { every: '10m', workflow: long })
    await engine.clock.advance('10m')
    const all = engine.batch({}, { limit: 100 })
    expect(await all.count()).toBe(1)
    expect(await all.cancel()).toMatchObject({ matched: 1, done: 1 })
    await engine.clock.advance('10m')
    expect(await runsOf('long')).toHaveLength(2)
  })

  const overlaps = [
    ['allow', [10, 20, 30, 40], ['waiting', 'waiting', 'waiting', 'waiting']],
    ['skip', [10], ['waiting']],
    ['bufferOne', [10], ['waiting']],
    ['replace', [10, 20, 30, 40], ['cancelled', 'cancelled', 'cancelled', 'waiting']],
    ['terminate', [10, 20, 30, 40], ['failed', 'failed', 'failed', 'waiting']],
  ] as const

  test.each(overlaps)('T6: overlap %s', async (overlap, slots, statuses) => {
    await fresh()
    await engine.schedules.set('job', { every: '10m', workflow: long, overlap })
    await engine.clock.advance('45m')
    expect(await slotsOf('long')).toEqual(slots)
    expect((await runsOf('long')).map(({ status }) => status)).toEqual(statuses)
  })

  test('T6: when the run in progress ends, a buffered slot starts at once, and a skipped one never', async () => {
    await fresh()
    for (const overlap of ['skip', 'bufferOne'] as const) {
      await engine.schedules.set(overlap, { every: '10m', workflow: long, overlap })
    }
    await engine.clock.advance('45m')
    expect(await runsOf('long')).toHaveLength(2)
    for (const { runId } of await runsOf('long')) await engine.get(runId).signal(finish)
    await engine.idle()
    const ids = (await runsOf('long')).map(({ workflowId }) => workflowId.replace(/T.*:(..):.*/, ' $1'))
    expect(ids.filter((id) => id.startsWith('bufferOne'))).toHaveLength(2)
    expect(ids.filter((id) => id.startsWith('skip'))).toHaveLength(1)
    await engine.clock.advance('10m')
    expect(await runsOf('long')).toHaveLength(4)
  })

  const lateness = [
    ['skip', []],
    ['one', [50]],
    ['all', [10, 20, 30, 40, 50]],
  ] as const

  test.each(lateness)('T4: slots missed while no worker was there: catchUp %s', async (catchUp, slots) => {
    await fresh()
    await engine.schedules.set('job', { every: '10m', workflow: quick, input: '', catchUp })
    await engine.away('55m')
    expect(await slotsOf('quick')).toEqual(slots)
    await engine.clock.advance('5m')
    expect(await slotsOf('quick')).toEqual([...slots, 0])
  })

  test('a run can be started now, and slots of the past filled in', async () => {
    await fresh()
    const plan = { cron: '0 * * * *', workflow: quick, input: 'x' }
    const job = await engine.schedules.set('job', plan)
    const run = await job.trigger()
    await engine.idle()
    expect(await run.result()).toMatch(/^x /)
    expect((await run.describe()).attributes).toEqual({ schedule: 'job' })
    const to = new Date(engine.clock.now())
    const from = new Date(to.getTime() - 5 * 60 * MINUTE)
    expect(await job.backfill({ from, to })).toBe(6)
    await engine.idle()
    expect(await runsOf('quick')).toHaveLength(7)
    await engine.clock.advance('1h')
    expect(await runsOf('quick')).toHaveLength(8)
  })

  test('T3: jitter delays each slot by a part of itself, and never beyond', async () => {
    await fresh()
    const begun = engine.clock.now()
    await engine.schedules.set('job', { every: '10m', workflow: long, jitter: '5m' })
    await engine.clock.advance('2h')
    const delays = started.map((at) => (at - begun) % (10 * MINUTE))
    expect(started.length).toBeGreaterThan(10)
    expect(delays.every((delay) => delay <= 5 * MINUTE)).toBe(true)
    expect(new Set(delays).size).toBeGreaterThan(5)
  })

  test('a schedule that has run for long keeps a short history', async () => {
    await fresh()
    await engine.schedules.set('job', { every: '1m', workflow: quick, input: '' })
    await engine.clock.advance('5h')
    expect(await runsOf('quick')).toHaveLength(300)
    expect((await keeper('job').describe()).generation).toBeGreaterThan(2)
    expect(await eventsOf('job')).toBeLessThan(1_500)
  }, 30_000)

  const busy = ['bufferOne', 'replace', 'terminate'] as const
  test.each(busy)('so does one whose runs always overlap: %s', async (overlap) => {
    await fresh()
    await engine.schedules.set('job', { every: '1m', workflow: slow, overlap })
    await engine.clock.advance('4h')
    expect((await keeper('job').describe()).generation).toBeGreaterThan(1)
    expect(await eventsOf('job')).toBeLessThan(1_500)
    const count = overlap === 'bufferOne' ? 160 : 240
    expect(Math.abs((await runsOf('slow')).length - count)).toBeLessThan(4)
  })

  test.each([quick, heavy])('many slots take their turns: $name', async (job) => {
    await fresh()
    const input = job === quick ? 'x'.repeat(200_000) : ''
    const plan = { every: '1m', workflow: job, input, catchUp: 'all' } as const
    const minutely = await engine.schedules.set('job', plan)
    const to = new Date(engine.clock.now())
    const from = new Date(to.getTime() - 119 * MINUTE)
    expect(await minutely.backfill({ from, to })).toBe(120)
    await engine.idle()
    expect(await engine.count({ workflow: job.name })).toBe(120)
    await engine.away('100m')
    await engine.clock.advance('61s')
    expect(await engine.count({ workflow: job.name })).toBe(221)
    expect((await keeper('job').describe()).generation).toBeGreaterThan(2)
  })

  test('what is deleted and set again before anybody heard of it is there', async () => {
    await fresh()
    const plan = { every: '10m', workflow: quick, input: 'old' } as const
    const job = await engine.schedules.set('job', { ...plan, paused: true, note: 'holiday' })
    await keeper('job').pause()
    await engine.idle()
    await job.delete()
    await engine.schedules.set('job', { ...plan, input: 'new' })
    await keeper('job').resume()
    await engine.clock.advance('10m')
    const outputs = (await runsOf('quick')).map(({ output }) => output)
    expect(outputs).toEqual([expect.stringMatching(/^new /)])
    expect(await job.describe()).toMatchObject({ paused: false })
    await job.delete()
    expect((await engine.schedules.list()).items).toEqual([])
    await engine.schedules.set('job', plan)
    await job.pause('again')
    expect(await job.describe()).toMatchObject({ paused: true, note: 'again' })
  })

  test.each(['skip', 'one'] as const)('of thousands of missed slots: %s', async (catchUp) => {
    const count = catchUp === 'one' ? 1 : 0
    await fresh()
    for (const timing of [{ every: '1m' }, { cron: '*/2 * * * *' }] as const) {
      const plan = { ...timing, workflow: quick, input: '', catchUp } as const
      await engine.schedules.set('cron' in timing ? 'cron' : 'every', plan)
    }
    await engine.away(5_000 * MINUTE + 30_000)
    expect(await engine.count({ workflow: 'quick' })).toBe(2 * count)
    const last = engine.clock.now() - 30_000
    expect((await runsOf('quick')).every((run) => slotOf(run) === last)).toBe(true)
    await engine.clock.advance('2m')
    expect(await engine.count({ workflow: 'quick' })).toBe(2 * count + 3)
  })

  test('while the run to be replaced goes on, the schedule listens', async () => {
    await fresh()
    const ids = ['paused', 'deleted', 'kept', 'freed']
    for (const id of ids) await engine.schedules.set(id, { every: '10m', workflow: stubborn, overlap: 'replace' })
    await engine.clock.advance('25m')
    await engine.schedules.get('paused').pause('enough')
    expect(await engine.schedules.get('paused').describe()).toMatchObject({ note: 'enough' })
    await engine.schedules.get('deleted').delete()
    const deleted = engine.schedules.get('deleted').describe()
    expect(await rejection(deleted)).toMatchObject({ code: 'RUN_NOT_FOUND' })
    const freed = { every: '10m', workflow: stubborn, overlap: 'terminate' } as const
    await engine.schedules.set('freed', freed)
    await engine.clock.advance('10m')
    const filters = ids.map((id) => ({ workflow: 'stubborn', attributes: { schedule: id } }))
    const counts = () => Promise.all(filters.map((each) => engine.count(each)))
    expect(await counts()).toEqual([1, 1, 1, 2])
    await engine.schedules.get('freed').delete()
    await engine.clock.advance('30m')
    expect(await counts()).toEqual([1, 1, 2, 2])
  })

  test('what people write and plan for later does not stop a schedule', async () => {
    await fresh()
    const half = `${'x'.repeat(499)}😀`
    const far = { every: '1m', from: new Date('9999-12-31'), jitter: '36000d' } as const
    const input = new Map([['n', 1n]])
    const plan = { every: '10m', workflow: any, input, note: half, paused: false } as const
    const job = await engine.schedules.set('i'.repeat(487), plan)
    await engine.schedules.set('far', { ...far, workflow: long })
    await engine.schedules.set('i'.repeat(487), plan)
    expect((await job.describe()).note).toBe('x'.repeat(499))
    await job.pause('a\0b\ud800')
    expect((await job.describe()).note).toBe('ab\ufffd')
    await job.resume()
    await engine.clock.advance('10m')
    expect((await runsOf('any')).map(({ output }) => output)).toEqual([input])
    expect((await engine.schedules.list()).items).toHaveLength(2)
    expect((await engine.schedules.get('far').describe()).next).toHaveLength(5)
  })

  test('what makes no sense is refused before anything is stored', async () => {
    await fresh()
    const set = (given: object, id = 'job'): Promise<unknown> =>
      rejection(engine.schedules.set(id, { workflow: quick, input: '', ...given } as never))
    const every = '1m'
    const refused = [
      { cron: '61 * * * *' },
      { cron: '* * * * *', timeZone: 'Mars/Olympus' },
      { cron: '0 0 30 2 *' },
      { cron: Array.from({ length: 60 }, () => '0 0 1,2,3,4,5,6,7,8,9,10,11,12 * *') },
      { every: '0s' },
      { every, overlap: 'sometimes' },
      { every, catchUp: 'maybe' },
      { every, workflow: 'quick' },
      { every, from: new Date(8e15) },
      { every, until: new Date(8e15) },
      { every, run: { attributes: Object.fromEntries([...Array(63)].map((_, n) => [n, n])) } },
      { every, run: { attributes: { nested: {} } } },
      { every, run: { priority: 1.5 } },
      { every, run: { queue: '' } },
      { every, run: { queue: 'a\nb' } },
    ]
    const invalid = { code: 'INPUT_INVALID' }
    for (const given of refused) expect(await set(given)).toMatchObject(invalid)
    expect(await set({ every }, 'i'.repeat(488))).toMatchObject(invalid)
    const large = await set({ every, input: 'x'.repeat(1_040_000) })
    expect(large).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    expect((await engine.schedules.list()).items).toEqual([])
  })
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('T4 T7: with several workers each slot starts once, by the time of the store', async () => {
    const tick = workflow('tick', async (ctx) => ctx.info.workflowId)
    const engines = await Promise.all([1, 2, 3].map(() => bench.serve({ workflows: [tick] })))
    const [one] = engines
    await Promise.all(engines.map((each) => each.schedules.set('tick', { every: '1s', workflow: tick })))
    const found = await until(
      async () => (await one?.list({ workflow: 'tick', status: 'completed' }))?.items ?? [],
      (items) => items.length >= 3,
    )
    const ids = found.map(({ workflowId }) => workflowId)
    expect(new Set(ids).size).toBe(ids.length)
    await one?.schedules.get('tick').delete()
  })

  test('a schedule is there when no worker is, and the next worker takes it up', async () => {
    const tick = workflow('tick', async () => 'done')
    const client = await bench.engine()
    const job = await client.schedules.set('tick', { every: '1s', workflow: tick, note: 'soon' })
    expect(await job.describe()).toMatchObject({ workflow: 'tick', note: 'soon', paused: false })
    expect((await client.schedules.list()).items.map(({ id }) => id)).toEqual(['tick'])
    await bench.serve({ workflows: [tick] })
    await until(
      () => client.count({ workflow: 'tick', status: 'completed' }),
      (count) => count > 0,
    )
  })
})

test('the run of a schedule waits in the queue of its workflow', async () => {
  const heavy = workflow('heavy', { queue: 'heavy', priority: 7 }, async () => 1)
  await using engine = await testEngine({ workflows: [heavy] })
  await engine.schedules.set('often', { every: '1h', workflow: heavy })
  await engine.clock.advance('61m')
  const { items } = await engine.list({ workflow: heavy })
  expect(items[0]).toMatchObject({ queue: 'heavy', priority: 7, status: 'completed' })
})
