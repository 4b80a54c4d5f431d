// Schedules with several timings, with a window for what was missed, and of the version before.
import { fileURLToPath } from 'node:url'
import { readHistory, replay, type TestEngine } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { schedule } from '../../src/addons/schedules/workflow.ts'
import { atHour, HOUR, MINUTE, minutesOf, other, quick, runsOf, slotsOf } from './schedule-scene.ts'

let engine: TestEngine
afterEach(() => engine?.close())

describe('api gap 11: several timings', () => {
  test('start one run where they meet, and stay in step with the clocks of their zones', async () => {
    // The night in which clocks in Berlin, and not in Tokyo, are put forward: 1 o'clock in UTC.
    engine = await atHour('2027-03-27T20:00:00Z')
    const timings = [
      { cron: '30 2 * * *', timeZone: 'Europe/Berlin' },
      { cron: '0 6,10 * * *', timeZone: 'Asia/Tokyo' },
      { every: '6h', offset: '1h' },
    ] as const
    const job = await engine.schedules.set('job', { timings, workflow: quick, input: '' })
    expect((await job.describe()).next).toHaveLength(5)
    await engine.clock.advance('15h')
    // 02:30 is left out in Berlin, and due at 03:00, 01:00 in UTC; so are 10:00 in Tokyo and the interval.
    expect(await slotsOf(engine, 'quick')).toEqual([
      '2027-03-27T21:00:00.000Z',
      '2027-03-28T01:00:00.000Z',
      '2027-03-28T07:00:00.000Z',
    ])
  })

  test('an hour that comes twice: the time of day once, the interval twice', async () => {
    engine = await atHour('2027-10-30T23:45:00Z')
    const timeZone = 'Europe/Berlin'
    const timings = [
      { cron: '30 2 * * *', timeZone },
      { cron: '*/30 2 * * *', timeZone },
    ] as const
    await engine.schedules.set('job', { timings, workflow: quick, input: '' })
    await engine.schedules.set('once', { ...timings[0], workflow: other, input: '' })
    await engine.clock.advance('3h')
    expect(await minutesOf(engine, 'quick')).toEqual([0, 30, 0, 30])
    expect(await slotsOf(engine, 'other')).toEqual(['2027-10-31T00:30:00.000Z'])
  })
})

describe('api gap 11: the window for catching up', () => {
  const plan = { every: '10m', workflow: quick, input: '' } as const
  const cases = [
    ['all', '1h', [10, 20, 30, 40, 50, 0], 426],
    ['all', '30s', [], 432],
    ['all', undefined, undefined, 0],
    ['one', '1h', [0], 431],
    ['one', '1m', [], 432],
    ['skip', undefined, [], 432],
  ] as const

  test.each(cases)('three days without a worker: catchUp %s, window %s', async (catchUp, window, made, missed) => {
    engine = await atHour()
    const given = window === undefined ? {} : { catchUpWindow: window }
    const job = await engine.schedules.set('job', { ...plan, catchUp, ...given })
    await engine.away(72 * HOUR + 5 * MINUTE)
    const count = made?.length ?? 432
    expect(await engine.count({ workflow: 'quick' })).toBe(count)
    if (made) expect(await minutesOf(engine, 'quick')).toEqual(made)
    const told = await job.describe()
    expect(told.missed).toBe(missed)
    expect(told.lastMissed === undefined).toBe(missed === 0)
    await engine.clock.advance('6m')
    expect(await engine.count({ workflow: 'quick' })).toBe(count + 1)
  })

  test('outages add up, a pause is none, and a wider window counts from then on', async () => {
    engine = await atHour()
    const window = { catchUp: 'all', catchUpWindow: '30m' } as const
    const job = await engine.schedules.set('job', { ...plan, ...window })
    await engine.clock.advance('10m')
    const resting = await engine.schedules.set('paused', { ...plan, workflow: other, ...window })
    await resting.pause()
    await engine.away(20 * HOUR)
    expect(await minutesOf(engine, 'quick')).toEqual([10, 40, 50, 0, 10])
    expect(await job.describe()).toMatchObject({ missed: 116 })
    await resting.resume()
    await engine.clock.advance('10m')
    expect(await minutesOf(engine, 'other')).toEqual([20])
    expect(await resting.describe()).toMatchObject({ missed: 0 })
    await job.update({ catchUpWindow: '1d' })
    await engine.away(5 * HOUR)
    expect(await job.describe()).toMatchObject({ missed: 116 })
    expect(await engine.count({ workflow: 'quick' })).toBe(6 + 30)
  })

  test('more missed slots than are counted are passed over all the same', async () => {
    engine = await atHour()
    const often = { every: '1s', workflow: quick, input: '', catchUp: 'all' } as const
    const job = await engine.schedules.set('job', { ...often, catchUpWindow: '20s' })
    const cron = { cron: '* * * * *', timeZone: 'Europe/Berlin', workflow: other, input: '' }
    const minutely = await engine.schedules.set('cron', { ...cron, catchUp: 'one' })
    const begun = engine.clock.now()
    await engine.away(30 * 24 * HOUR + 500)
    const told = await job.describe()
    expect(told.missed).toBe(10_000)
    expect(told.lastMissed?.getTime()).toBe(begun + 30 * 24 * HOUR - 20_000)
    expect(await engine.count({ workflow: 'quick' })).toBe(20)
    expect(await minutely.describe()).toMatchObject({ missed: 10_000 })
    // The last one is on time.
    expect(await engine.count({ workflow: 'other' })).toBe(1)
  })
})

describe('api gap 11: schedules of the version before', () => {
  test('their histories are continued', async () => {
    const file = fileURLToPath(new URL('schedules-0.1.jsonl', import.meta.url))
    const runs = await readHistory(file)
    expect(runs.map(({ head }) => head.workflowId)).toHaveLength(3)
    await replay([], runs)
  })

  test('their plans are read, kept and changed', async () => {
    engine = await atHour()
    const spec = {
      timing: { every: '10m', offset: '5m' },
      workflow: 'quick',
      input: 'x',
      overlap: 'allow',
      catchUp: 'all',
      jitterMs: 2_000,
      from: 0,
      run: { runTimeout: 3_600_000 },
    }
    const after = engine.clock.now() - 30 * MINUTE
    const state = { id: 'old', spec, paused: false, note: 'n', after, lastRunId: 'r' }
    const workflowId = 'pawl.schedule:old'
    const timing = JSON.stringify(spec.timing)
    const attributes = { schedule: 'old', workflow: 'quick', paused: false, timing, next: '' }
    await engine.start(schedule, state as never, { workflowId, attributes })
    await engine.clock.advance('3s')
    expect(await minutesOf(engine, 'quick')).toEqual([35, 45, 55])
    const old = engine.schedules.get('old')
    const kept = {
      ...spec.timing,
      workflow: { is: 'workflow', name: 'quick' },
      input: 'x',
      overlap: 'allow',
      catchUp: 'all',
      jitter: 2_000,
      from: new Date(0),
      run: spec.run,
      note: 'n',
    }
    expect(await old.describe()).toMatchObject({ plan: kept, note: 'n', missed: 0 })
    await old.update({ input: 'y' })
    await engine.clock.advance('10m')
    expect((await runsOf(engine, 'quick')).map(({ output }) => output)).toEqual(['x', 'x', 'x', 'y'])
    expect((await old.describe()).plan).toEqual({ ...kept, input: 'y' })
  })
})
