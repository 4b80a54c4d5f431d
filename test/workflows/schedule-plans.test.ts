// The plan of a schedule: read whole, and changed in part.
import { type Engine, type ScheduleChange, workflow } from 'pawl'
import { simulate, type TestEngine } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { kinds, rejection, until, useStore } from './each-store.ts'
import { atHour, finish, long, order, other, quick, runsOf, slotsOf } from './schedule-scene.ts'

let engine: TestEngine
afterEach(() => engine?.close())

describe('api gap 11: the whole plan', () => {
  const from = new Date('2027-01-01T00:00:00Z')
  const until = new Date('2030-01-01T00:00:00Z')
  const options = {
    overlap: 'bufferOne',
    catchUp: 'all',
    catchUpWindow: '1.5h',
    jitter: '5m',
    from,
    until,
    run: {
      attributes: { region: 'eu', at: new Date(5), n: 1 },
      memo: { by: new Map([['ops', 1n]]) },
      queue: 'reports',
      priority: 3,
      runTimeout: '2h',
    },
  } as const
  const timings = [
    { cron: '0 9 * * MON-FRI' },
    { cron: ['0 9 * * MON-FRI', '0 12 * * SAT'], timeZone: 'Europe/Berlin' },
    { every: 'PT15M' },
    { every: '15m', offset: 300_000 },
    { timings: [{ every: '10m' }, { every: '45m', offset: '1m' }, { cron: '@daily' }] },
  ] as const

  test.each(timings)('%j: what was given is read back, and can be given again', async (timing) => {
    engine = await atHour()
    const input = 'eu'
    const given = {
      ...{ ...timing, ...options, workflow: quick, input },
      ...{ paused: true, note: 'holiday' },
    }
    const job = await engine.schedules.set('job', given)
    await engine.idle()
    const told = await job.describe()
    const expected = { ...given, workflow: { is: 'workflow', name: 'quick' } }
    expect(told.plan).toEqual(expected)
    expect(told).toMatchObject({ id: 'job', workflow: 'quick', paused: true, note: 'holiday' })
    expect(told).toMatchObject({ timing, catchUp: 'all', catchUpWindow: '1.5h', recent: [] })
    const again = await engine.schedules.set('again', told.plan)
    expect((await again.describe()).plan).toEqual(expected)
    // Nor is it a change where it came from.
    const { generation } = await engine.get({ workflowId: 'pawl.schedule:job' }).describe()
    await engine.schedules.set('job', told.plan)
    await engine.idle()
    const after = await engine.get({ workflowId: 'pawl.schedule:job' }).describe()
    expect(after.generation).toBe(generation)
  })

  test('defaults are told, and the newest runs', async () => {
    engine = await atHour()
    const job = await engine.schedules.set('job', { every: '10m', workflow: quick, input: 'x' })
    await engine.clock.advance('70m')
    const triggered = await job.trigger()
    await engine.idle()
    const { plan, recent, next } = await job.describe()
    const contract = { is: 'workflow', name: 'quick' }
    const defaults = { overlap: 'allow', catchUp: 'skip' }
    expect(plan).toEqual({ every: '10m', workflow: contract, input: 'x', ...defaults })
    expect(next).toHaveLength(5)
    expect(recent.map(({ slot }) => slot?.getUTCMinutes())).toEqual([undefined, 10, 0, 50, 40])
    expect(recent[0]).toMatchObject({ runId: triggered.runId, status: 'completed' })
    expect(recent[1]?.workflowId).toMatch(/^job@/)
  })
})

describe('api gap 11: changed in part', () => {
  const plan = {
    cron: '*/10 * * * *',
    timeZone: 'Europe/Berlin',
    workflow: quick,
    input: 'x',
    overlap: 'skip',
    jitter: '1s',
    until: new Date('2040-01-01T00:00:00Z'),
    run: { priority: 3, memo: { by: 'ops' } },
  } as const

  const changes: readonly (readonly [ScheduleChange<string>, object])[] = [
    [{ cron: '@hourly' }, { cron: '@hourly' }],
    [{ cron: ['@hourly', '@daily'] }, { cron: ['@hourly', '@daily'] }],
    [{ timeZone: 'Asia/Tokyo' }, { timeZone: 'Asia/Tokyo' }],
    [{ timeZone: null }, { timeZone: undefined }],
    [
      { every: '1h', offset: '5m' },
      { cron: undefined, timeZone: undefined, every: '1h', offset: '5m' },
    ],
    [
      { every: '1h', timeZone: null },
      { cron: undefined, timeZone: undefined, every: '1h' },
    ],
    [
      { timings: [{ every: '1h' }, { every: '7m' }] },
      { cron: undefined, timeZone: undefined, timings: [{ every: '1h' }, { every: '7m' }] },
    ],
    [{ workflow: other }, { workflow: { is: 'workflow', name: 'other' } }],
    [{ input: 'y' }, { input: 'y' }],
    [
      { overlap: 'allow', jitter: '2s' },
      { overlap: 'allow', jitter: '2s' },
    ],
    [
      { overlap: null, jitter: null, until: null },
      { overlap: 'allow', jitter: undefined, until: undefined },
    ],
    [
      { catchUp: 'all', catchUpWindow: '1h' },
      { catchUp: 'all', catchUpWindow: '1h' },
    ],
    [{ run: { queue: 'q', memo: null } }, { run: { priority: 3, queue: 'q' } }],
    [{ from: new Date(0) }, { from: new Date(0) }],
    [{ jitter: undefined, note: 'n' } as never, { note: 'n' }],
    [{}, {}],
  ]

  test.each(changes)('%j changes that, and keeps the rest', async (change, expected) => {
    engine = await atHour()
    const job = await engine.schedules.set('job', plan)
    const before = (await job.describe()).plan
    await job.update(change)
    const { plan: after, next, workflow: name } = await job.describe()
    expect(after).toEqual({ ...before, ...expected })
    expect([next.length, name]).toEqual([5, after.workflow.name])
  })

  test('paused and note are changed without the rest, too', async () => {
    engine = await atHour()
    const job = await engine.schedules.set('job', plan)
    await job.update({ paused: true, note: 'holiday' })
    expect(await job.describe()).toMatchObject({ paused: true, note: 'holiday', next: [] })
    await job.update({ note: 'long holiday' })
    expect(await job.describe()).toMatchObject({ paused: true, note: 'long holiday' })
    await job.update({ input: 'y' })
    expect(await job.describe()).toMatchObject({ paused: true, note: 'long holiday' })
    await job.update({ paused: false, note: null })
    const { paused, note } = await job.describe()
    expect([paused, note]).toEqual([false, undefined])
  })

  test('a run in progress goes on, and the next one follows the new plan', async () => {
    engine = await atHour()
    const job = await engine.schedules.set('job', { every: '10m', workflow: long, overlap: 'skip' })
    await engine.clock.advance('15m')
    await job.update({ workflow: quick, input: 'new', every: '20m' })
    await engine.clock.advance('30m')
    const [running] = await runsOf(engine, 'long')
    expect([running?.status, await slotsOf(engine, 'quick')]).toEqual(['waiting', []])
    await engine.get(running?.runId ?? '').signal(finish)
    await engine.clock.advance('15m')
    expect((await runsOf(engine, 'long')).map(({ status }) => status)).toEqual(['completed'])
    expect((await runsOf(engine, 'quick')).map(({ output }) => output)).toEqual(['new'])
  })

  test('slots of a new timing count from the change on: none of the past is missed', async () => {
    engine = await atHour()
    const daily = { every: '1d', workflow: quick, input: '', catchUp: 'all' } as const
    await engine.schedules.set('set', daily)
    const job = await engine.schedules.set('updated', daily)
    const bounded = {
      ...daily,
      every: '10m',
      until: new Date(engine.clock.now() + 600_000),
    } as const
    const ended = await engine.schedules.set('bounded', bounded)
    await engine.clock.advance('1d')
    await engine.clock.advance('10h')
    const count = await engine.count({ workflow: 'quick' })
    await engine.schedules.set('set', { ...daily, every: '1h' })
    await job.update({ every: '1h' })
    await ended.update({ until: null })
    await engine.clock.advance('5m')
    expect(await engine.count({ workflow: 'quick' })).toBe(count)
    await engine.clock.advance('55m')
    expect(await engine.count({ workflow: 'quick' })).toBe(count + 2 + 6)
    expect(await job.describe()).toMatchObject({ missed: 0 })
  })

  const refused: readonly (readonly [object, RegExp])[] = [
    [{ crons: '@daily' }, /unknown option `crons` of a change of a schedule; did you mean `cron`\?/],
    [{ run: { prioriti: 1 } }, /unknown option `prioriti` of `run`.*did you mean `priority`\?/],
    [{ cron: '61 * * * *' }, /invalid timing: cron "61 \* \* \* \*" cannot be read/],
    [{ cron: '0 0 30 2 *' }, /would never be due/],
    [{ until: new Date('2020-01-01') }, /would never be due.*until 2020-01-01T/],
    [{ from: new Date('2041-01-01') }, /would never be due.*from 2041-.*until 2040-/],
    [{ cron: null }, /cron is null; expected text/],
    [{ timeZone: 'Mars/Base' }, /timeZone "Mars\/Base" is not known/],
    [{ offset: '5m' }, /offset needs every, but the timing is .*Also give every, or give all `timings`/],
    [{ every: '1h', timeZone: 'UTC' }, /timeZone needs cron/],
    [{ cron: '@daily', every: '1h' }, /use timings/],
    [{ timings: [{ every: '1h' }], cron: '@daily' }, /'cron' is beside timings/],
    [{ timings: [{ every: '1h' }], timeZone: 'UTC' }, /timeZone needs cron/],
    [{ catchUpWindow: '1h' }, /`catchUpWindow` of a schedule has no effect with catchUp 'skip'/],
    [{ catchUpWindow: 'soon' }, /`catchUpWindow` of/],
    [{ workflow: 'other' }, /`workflow` of a change of a schedule is 'other'; expected a workflow or an activity/],
    [{ workflow: null }, /`workflow` of a change/],
    [{ paused: null }, /`paused` of a change/],
    [{ run: null }, /`run` of a change/],
    [{ from: new Date(8e15) }, /from is not a valid date/],
    [{ until: 'tomorrow' }, /`until` of a change of a schedule is 'tomorrow'; expected a Date, or null/],
    [{ run: { attributes: { nested: {} } } }, /attribute 'nested'/],
    [{ workflow: order, input: { cents: 5 } }, /the input of workflow 'order'/],
    // It would keep the input that the other workflow had.
    [{ workflow: order }, /the input of workflow 'order'/],
    ['@daily' as never, /must be an object/],
  ]

  test.each(refused)('%j is refused before anything is stored', async (change, message) => {
    engine = await atHour()
    const job = await engine.schedules.set('job', plan)
    const run = engine.get({ workflowId: 'pawl.schedule:job' })
    const state = async () => [(await job.describe()).plan, (await run.describe()).updatedAt]
    const before = await state()
    await engine.clock.advance('1s')
    const invalid = { code: 'INPUT_INVALID', message: expect.stringMatching(message) }
    expect(await rejection(job.update(change))).toMatchObject(invalid)
    await engine.idle()
    expect(await state()).toEqual(before)
  })

  test('what would be too large is refused, and so is a schedule that is not there', async () => {
    engine = await atHour()
    const job = await engine.schedules.set('job', plan)
    const large = await rejection(job.update({ input: 'x'.repeat(1_040_000) }))
    expect(large).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    const missing = { code: 'RUN_NOT_FOUND', message: expect.stringContaining("'nothing'") }
    expect(await rejection(engine.schedules.get('nothing').update({}))).toMatchObject(missing)
    await job.delete()
    expect(await rejection(job.update({ input: 'y' }))).toMatchObject({ code: 'RUN_NOT_FOUND' })
  })

  test('two changes that fit alone and not together: the second is refused, and the schedule goes on', async () => {
    engine = await atHour()
    const job = await engine.schedules.set('job', { ...plan, timeZone: 'UTC' })
    const half = 'x'.repeat(600_000)
    await Promise.all([job.update({ input: half }), job.update({ run: { memo: { half } } })])
    await engine.clock.advance('11m')
    const { plan: after } = await job.describe()
    const applied = [after.input === half, after.run?.memo?.['half'] === half]
    expect(applied.filter(Boolean)).toHaveLength(1)
    expect(await engine.count({ workflow: 'quick' })).toBe(1)
  })

  test('two changes that leave a window and nothing to catch up on: the window goes', async () => {
    engine = await atHour()
    const job = await engine.schedules.set('job', { ...plan, catchUp: 'all' })
    await Promise.all([job.update({ catchUp: 'skip' }), job.update({ catchUpWindow: '1h' })])
    await engine.idle()
    const { plan: after } = await job.describe()
    expect([after.catchUp, after.catchUpWindow]).toEqual(['skip', undefined])
    await job.update({ input: 'y' })
    await engine.schedules.set('job', after)
  })

  test('one that is never due is refused; one whose time has passed is set again, read and changed', async () => {
    engine = await atHour()
    const soon = new Date(engine.clock.now() + 3_600_000)
    const bounded = { ...plan, until: soon }
    const job = await engine.schedules.set('job', bounded)
    await engine.clock.advance('2h')
    await engine.schedules.set('job', bounded)
    await job.update({ input: 'y' })
    expect((await job.describe()).plan).toMatchObject({ input: 'y', until: soon })
    const past = new Date(soon.getTime() - 1)
    const invalid = {
      code: 'INPUT_INVALID',
      message: expect.stringContaining('would never be due'),
    }
    for (const change of [{ until: past }, { from: new Date('2039-01-01') }, { cron: '@daily' }])
      expect(await rejection(job.update(change))).toMatchObject(invalid)
    expect(await rejection(engine.schedules.set('other', bounded))).toMatchObject(invalid)
    const reversed = { ...plan, from: new Date('2041-01-01') }
    expect(await rejection(engine.schedules.set('job', reversed))).toMatchObject(invalid)
    await job.update({ until: null })
    expect((await job.describe()).next).toHaveLength(5)
  })

  test('many changes at once all take effect, whichever holder of the schedule dies', async () => {
    await simulate({ workflows: [quick], seeds: 12, skipTime: false }, async (sim) => {
      const job = await sim.schedules.set('job', plan)
      const all: readonly ScheduleChange<string>[] = [
        { input: 'y' },
        { cron: '*/5 * * * *' },
        { timeZone: 'Asia/Tokyo' },
        { jitter: '3s' },
        { run: { queue: 'default' } },
        { run: { memo: { by: 'me' } } },
        { catchUp: 'one', catchUpWindow: '1h' },
        { note: 'changed' },
      ]
      await Promise.all(all.map((change) => job.update(change)))
      await sim.clock.advance('11m')
      const { plan: after, note } = await job.describe()
      expect({ ...after, note }).toMatchObject({
        input: 'y',
        cron: '*/5 * * * *',
        timeZone: 'Asia/Tokyo',
        jitter: '3s',
        overlap: 'skip',
        run: { queue: 'default', priority: 3, memo: { by: 'me' } },
        catchUp: 'one',
        catchUpWindow: '1h',
        until: plan.until,
        note: 'changed',
      })
      expect(await sim.count({ workflow: 'quick' })).toBeGreaterThan(0)
    })
  }, 60_000)
})

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('api gap 11: changes of two processes at once both take effect', async () => {
    const tick = workflow('tick', async (_ctx, n: number) => n)
    const [one, two] = await Promise.all([bench.engine(), bench.engine()])
    const set = await one.schedules.set('tick', { every: '1h', workflow: tick, input: 1 })
    const changeOf = (by: Engine, change: ScheduleChange) => by.schedules.get('tick').update(change)
    // Before any worker runs, and while one does.
    await Promise.all([changeOf(one, { input: 2 }), changeOf(two, { offset: '5m' })])
    await bench.serve({ workflows: [tick] })
    await Promise.all([changeOf(one, { jitter: '1s' }), changeOf(two, { overlap: 'skip' })])
    const { plan } = await until(
      () => set.describe(),
      (told) => told.plan.overlap === 'skip' && told.plan.jitter === '1s',
    )
    expect(plan).toMatchObject({ every: '1h', offset: '5m', input: 2, catchUp: 'skip' })
    expect(await (await set.trigger()).result()).toBe(2)
    expect((await set.describe()).recent).toHaveLength(1)
    await set.delete()
  })
})
