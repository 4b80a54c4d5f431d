// State machines as workflows: a state and an event in, the next state and actions out.
import { activity, CancelledError, graph, machine, query, RunError, signal, typed, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'
import { asked, model, state, stop, type Turn, tool, turn } from './machine-turn.ts'

const waits = workflow('waits', async (ctx) => {
  const { why } = await ctx.wait(stop)
  return why
})

const nothing = { input: typed<void>(), output: typed<string>() }

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('A3: a machine goes from state to state, and each is in its history', async () => {
    asked.length = 0
    const engine = await bench.serve({ workflows: [turn], activities: [model, tool] }, { warm: 0 })
    const run = await engine.start(turn, { prompt: 'ab' })
    expect(await run.result()).toEqual({ answer: 'said ab!!', calls: 3 })
    expect(asked).toEqual(['start', 'model#1', 'tool#1', 'model#2', 'tool#2', 'model#3'])
    const states = (await historyOf(run)).flatMap((event) =>
      event.type === 'StateMoved' ? [(event.state as Turn | undefined)?.at] : [],
    )
    // The last move leaves it as it was.
    const [thinking, acting] = ['thinking', 'acting']
    expect(states).toEqual([thinking, acting, thinking, acting, thinking, undefined])
    const steps = (await run.steps()).map(({ key }) => key)
    const activities = ['model#1', 'tool#1', 'model#2', 'tool#2', 'model#3'].map((each) => `activity:${each}`)
    expect(steps).toEqual([activities[0], 'timer:deadline#1', ...activities.slice(1)])
    // Also after the end, by a process that has only the code; and it asks none of it.
    const reader = await bench.engine({ workflows: [turn] })
    expect(await reader.get(turn, run.runId).query(state)).toEqual({ at: 'thinking', calls: 3 })
    expect(asked).toHaveLength(6)
    expect(await rejection(run.query(query('mood')))).toMatchObject({ code: 'QUERY_NOT_FOUND' })
  })

  test('A3: another worker goes on from the last state, and asks no code about what is behind it', async () => {
    const [gate, reached] = [new Gate(), new Gate()]
    const slow = activity('model', async (prompt: string) => {
      if (prompt === 'ab!') {
        reached.open()
        await gate.opened
      }
      return { say: prompt, tool: prompt === 'ab' ? 'ab!' : null }
    })
    asked.length = 0
    const first = await bench.worker({ workflows: [turn], activities: [slow, tool] })
    const run = await first.engine.start(turn, { prompt: 'ab' })
    await reached.opened
    expect(await run.query(state)).toEqual({ at: 'thinking', calls: 2 })
    expect(asked).toEqual(['start', 'model#1', 'tool#1'])
    const draining = first.worker.drain()
    gate.open()
    await draining
    const second = await bench.serve({ workflows: [turn], activities: [slow, tool] })
    expect(await second.get(turn, run.runId).result()).toEqual({ answer: 'ab!', calls: 2 })
    expect(asked).toEqual(['start', 'model#1', 'tool#1', 'model#2'])
  })

  test('A3 S6: signals are taken at any time, in order, also before the start; strangers are passed by', async () => {
    const note = signal<string>('note')
    const rest = signal('rest')
    const book = machine('book', {
      ...nothing,
      state: typed<string[]>(),
      activities: {},
      // What it is called here need not be what it is called elsewhere.
      signals: { line: note, rest },
    }).on({
      start: () => [['begun']],
      activityCompleted: {},
      signal: {
        line: (lines, text, act) => {
          const all = [...lines, text]
          return text === 'end' ? [all, act.complete(all.join(' '))] : [all]
        },
        rest: (lines) => [lines],
      },
    })
    const idle = await bench.engine({ workflows: [book] })
    const early = { workflowId: 'b', signal: note, payload: 'a' }
    const run = await idle.signalWithStart(book, early)
    await run.signal(note, 'b')
    await run.signal(signal('stranger'))
    await bench.serve({ workflows: [book] }, { warm: 0 })
    expect(await waitsFor(run, 'signal')).toMatchObject({
      name: 'note',
      suggestion: expect.stringContaining("It also takes 'rest': pawl signal"),
    })
    expect(await run.query(state)).toEqual(['begun', 'a', 'b'])
    await run.signal(note, 'end')
    expect(await run.result()).toBe('begun a b end')
  })

  test('A3 S6: a machine that is told to shut down finishes its requests in progress first', async () => {
    const shutdown = signal('shutdown')
    const [gate, begun] = [new Gate(), new Gate()]
    const job = activity('job', async (n: number) => {
      begun.open()
      await gate.opened
      return n
    })
    const worker = machine('worker', {
      ...nothing,
      state: typed<{ at: 'working' | 'stopping'; done: number }>(),
      activities: { job },
      signals: { shutdown },
    }).on({
      start: (_, act) => [{ at: 'working', done: 0 }, act.run('job', 1)],
      activityCompleted: {
        job: ({ at, done }, _, act) =>
          at === 'stopping'
            ? [{ at, done: done + 1 }, act.complete(`${done + 1} done`)]
            : [{ at, done: done + 1 }, act.run('job', done)],
      },
      signal: { shutdown: ({ done }) => [{ at: 'stopping', done }] },
    })
    const engine = await bench.serve({ workflows: [worker], activities: [job] })
    const run = await engine.start(worker)
    await begun.opened
    await run.signal(shutdown)
    await until(
      () => run.query(query<void, { at: string }>('state')),
      ({ at }) => at === 'stopping',
    )
    gate.open()
    expect(await run.result()).toBe('1 done')
  })

  test('A4: timers fire, are replaced and cancelled; a run can be failed', async () => {
    const clock = machine('clock', {
      ...nothing,
      state: typed<{ ticks: number }>(),
      activities: {},
      timers: ['tick', 'never', 'long'],
    }).on({
      start: (_, act) => [
        { ticks: 0 },
        act.timer('tick', '1h'),
        act.timer('never', 5),
        act.cancelTimer('never'),
        act.timer('tick', 5),
        act.timer('long', '1h'),
      ],
      activityCompleted: {},
      timerFired: {
        tick: ({ ticks }, act) =>
          ticks < 2
            ? [{ ticks: ticks + 1 }, act.timer('tick', 5)]
            : [{ ticks }, act.fail(new RangeError(`${ticks} ticks`))],
        never: (now, act) => [now, act.complete('never')],
        long: (now, act) => [now, act.complete('long')],
      },
    })
    const engine = await bench.serve({ workflows: [clock] }, { warm: 0 })
    const run = await engine.start(clock)
    const error = await rejection(run.result())
    expect(error).toBeInstanceOf(RunError)
    expect((error as RunError).failure).toMatchObject({ type: 'RangeError', message: '2 ticks' })
    const keys = (await historyOf(run)).flatMap(({ type, step }) => (type === 'TimerFired' ? [step] : []))
    expect(keys).toEqual(['timer:tick#2', 'timer:tick#3', 'timer:tick#4'])
  })

  test('A4: an activity and a child are cancelled by their ids', async () => {
    let aborted = false
    const endless = activity('endless', async (_: void, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      aborted = true
    })
    const quitter = machine('quitter', {
      ...nothing,
      state: typed<number>(),
      activities: { endless },
      signals: { stop },
      timers: ['grace'],
    }).on({
      start: (_, act) => [0, act.run('endless', undefined, { id: 'loop' }), act.child(waits)],
      activityCompleted: { endless: (n) => [n] },
      signal: {
        stop: (n, _, act) => [n, act.cancel('loop'), act.cancel('waits#1'), act.timer('grace', 5)],
      },
      timerFired: { grace: (n, act) => [n, act.complete('stopped')] },
    })
    const engine = await bench.serve({ workflows: [quitter, waits], activities: [endless] })
    const run = await engine.start(quitter)
    await until(
      () => engine.list({ workflow: waits }),
      ({ items }) => items.length === 1 && items[0]?.status === 'waiting',
    )
    await run.signal(stop, { why: 'enough' })
    expect(await run.result()).toBe('stopped')
    const children = await until(
      () => engine.list({ workflow: waits }),
      ({ items }) => items[0]?.endedAt !== undefined,
    )
    expect(children.items[0]?.status).toBe('cancelled')
    await until(
      () => aborted,
      (yes) => yes,
    )
  })

  test('A4: children of every style, and how each ended', async () => {
    const bad = workflow('bad', async () => {
      throw new TypeError('broken')
    })
    const double = graph<number>('double').step('times', ({ input }) => input * 2)
    const parent = machine('parent', {
      ...nothing,
      state: typed<Record<string, unknown>>(),
      activities: {},
    }).on({
      start: (_, act) => [
        {},
        act.child(turn, { prompt: 'long enough' }, { id: 'machine' }),
        act.child(double, 21, { id: 'graph' }),
        act.child(bad),
      ],
      activityCompleted: {},
      childEnded: (seen, { id, outcome }, act) => {
        const now = { ...seen, [id]: outcome.ok ? outcome.value : outcome.failure.message }
        return Object.keys(now).length < 3 ? [now] : [now, act.complete(JSON.stringify(now))]
      },
    })
    const workflows = [parent, turn, double, bad]
    const engine = await bench.serve({ workflows, activities: [model, tool] })
    expect(JSON.parse(await engine.execute(parent))).toEqual({
      machine: { answer: 'said long enough', calls: 1 },
      graph: { times: 42 },
      'bad#1': 'broken',
    })
  })

  test('A3: without handlers a failed activity or child fails the run, and with them it is told', async () => {
    const flaky = activity('flaky', { retry: 'none' }, async () => {
      throw new TypeError('no luck')
    })
    const bad = workflow('bad', async () => {
      throw new TypeError('no child')
    })
    const parts = { ...nothing, state: typed<number>(), activities: { try: flaky } }
    const plain = machine('plain', { ...parts, input: typed<'activity' | 'child'>() }).on({
      start: (which, act) => [0, which === 'child' ? act.child(bad) : act.run('try')],
      activityCompleted: { try: (n) => [n] },
    })
    const minding = machine('minding', parts).on({
      start: (_, act) => [0, act.run('try')],
      activityCompleted: { try: (n) => [n] },
      activityFailed: (n, { activity: name, id, failure }, act) =>
        n === 0 ? [1, act.run('try', undefined, { id: 'again' })] : [n, act.complete(`${name} ${id} ${failure.type}`)],
    })
    const engine = await bench.serve({ workflows: [plain, minding, bad], activities: [flaky] })
    const failures = await Promise.all(
      (['activity', 'child'] as const).map(async (which) => {
        const error = await rejection(engine.execute(plain, which))
        return (error as RunError).failure
      }),
    )
    expect(failures).toMatchObject([
      {
        type: 'ActivityError',
        message: expect.stringContaining("activity 'flaky' failed"),
        cause: { message: 'no luck' },
      },
      { type: 'RunError', cause: { message: 'no child' } },
    ])
    expect(await engine.execute(minding)).toBe('try again TypeError')
  })

  test('A3: a cancelled run ends at once, and cancels its requests in progress', async () => {
    const holder = machine('holder', {
      ...nothing,
      state: typed<number>(),
      activities: {},
      timers: ['long'],
    }).on({
      start: (_, act) => [0, act.child(waits), act.timer('long', '1h')],
      activityCompleted: {},
      timerFired: { long: (n) => [n] },
      childEnded: (n, _, act) => [n, act.complete('never')],
    })
    const engine = await bench.serve({ workflows: [holder, waits] })
    const run = await engine.start(holder)
    await waitsFor(run, 'child')
    await run.cancel('enough')
    expect(await rejection(run.result())).toBeInstanceOf(CancelledError)
    const { items } = await until(
      () => engine.list({ workflow: waits }),
      ({ items: [child] }) => child?.endedAt !== undefined,
    )
    expect(items[0]?.status).toBe('cancelled')
  })

  test('users: a machine that has a handler for it cleans up when it is cancelled', async () => {
    const done: string[] = []
    const work = activity('work', async (_: void, { signal: stopped }) => {
      await new Promise((_resolve, reject) => stopped.addEventListener('abort', () => reject(new Error('stopped'))))
    })
    const refund = activity('refund', async (order: string) => {
      done.push(order)
      return 'refunded'
    })
    const more = signal('more')
    const shop = machine('shop', {
      ...nothing,
      state: typed<string>(),
      activities: { work, refund },
      signals: { more },
      timers: ['late'],
    }).on({
      start: (_, act) => ['paid', act.run('work'), act.child(waits), act.timer('late', '1h')],
      activityCompleted: {
        work: (state) => [state],
        refund: (state, { result }) => [`${state} ${result}`],
      },
      cancelled: (state, { reason }, act) => [`${state}, ${reason}`, act.run('refund', 'order-1')],
      timerFired: { late: (state) => [state] },
      signal: { more: (state, _, act) => [`${state}, more`, act.run('refund', 'order-2')] },
    })
    const { engine, worker } = await bench.worker({
      workflows: [shop, waits],
      activities: [work, refund],
    })
    const run = await engine.start(shop)
    await waitsFor(run, 'activity')
    // What a signal asks for that comes in the same turn is stopped with the rest.
    await run.cancel('changed my mind')
    expect(await rejection(run.result())).toMatchObject({ reason: 'changed my mind' })
    expect(done).toEqual(['order-1'])
    const now = query<void, string>('state')
    expect(await run.query(now)).toBe('paid, changed my mind refunded')
    const { items } = await until(
      () => engine.list({ workflow: waits }),
      ({ items: [child] }) => child?.endedAt !== undefined,
    )
    expect(items[0]?.status).toBe('cancelled')
    // A worker that begins with the history of such a run comes to the same end.
    const other = await engine.start(shop)
    await waitsFor(other, 'activity')
    await worker.drain(0)
    await other.signal(more)
    await other.cancel('later')
    const second = await bench.serve({ workflows: [shop, waits], activities: [work, refund] }, { warm: 0 })
    expect(await rejection(second.get(other.runId).result())).toMatchObject({ reason: 'later' })
    expect(done.filter((each) => each === 'order-1')).toHaveLength(2)
    expect((await historyOf(other)).at(-1)?.type).toBe('RunCancelled')
  })
})
