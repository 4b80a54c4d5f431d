// What a machine asks for, turn by turn.
import { type AnyWorkflow, activity, machine, type Schema, signal, typed, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { asked, Play, retry } from './machine-play.ts'

const work = activity('the-work', { retry: { maxAttempts: 3 } }, async (n: number) => n)
const other = activity('other', async (n: number) => n)
const poke = signal<string>('poke')
const child = workflow('kid', async () => 1)

const base = {
  input: typed<null>(),
  state: typed<{ seen: string[] }>(),
  output: typed<string[]>(),
  activities: { work, other },
  signals: { poke },
  timers: ['late'],
} as const

type Handlers = Parameters<ReturnType<typeof plain>['on']>[0]
const plain = () => machine('m', base)

/** Notes every event, and does what the overriding handlers say. */
function noting(more: Partial<Handlers> = {}): AnyWorkflow {
  return plain().on({
    start: (_, act) => [{ seen: ['start'] }, act.run('work', 1), act.run('other', 2)],
    activityCompleted: {
      work: ({ seen }, { id, result }) => [{ seen: [...seen, `${id}=${result}`] }],
      other: ({ seen }, { id, result }) => [{ seen: [...seen, `${id}=${result}`] }],
    },
    timerFired: { late: ({ seen }) => [{ seen: [...seen, 'late'] }] },
    signal: { poke: ({ seen }, text) => [{ seen: [...seen, text] }] },
    ...more,
  })
}

describe('A3 events', () => {
  test('each is handled once, in order, also two of one turn', async () => {
    const play = new Play(noting())
    expect(asked(await play.begin())).toEqual(['moved by 0', 'activity:work#1', 'activity:other#1'])
    const both = await play.complete(['activity:other#1', 20], ['activity:work#1', 10])
    expect(asked(both)).toEqual(['moved by 5', 'moved by 6'])
    expect(play.stateNow).toEqual({ seen: ['start', 'other#1=20', 'work#1=10'] })
  })

  test('a state that stays the same is not written again', async () => {
    const play = new Play(noting({ signal: { poke: (state) => [state] } }))
    await play.begin()
    const commands = await play.send(play.signal('poke', 'a'))
    expect(commands).toEqual([{ type: 'Decide', decision: { type: 'StateMoved', by: 5 } }])
  })

  test('signals that came before the start come after it; those it does not know are passed by', async () => {
    const play = new Play(noting())
    const early = [play.signal('poke', 'a'), play.signal('stranger'), play.signal('poke', 'b')]
    const commands = await play.send(...early)
    const requests = ['activity:work#1', 'activity:other#1']
    expect(asked(commands)).toEqual(['moved by 0', ...requests, 'moved by 1', 'moved by 2', 'moved by 3'])
    expect(play.stateNow).toEqual({ seen: ['start', 'a', 'b'] })
  })

  test('nothing is handled behind the end, and an action behind it is an error', async () => {
    const done = new Play(noting({ signal: { poke: (state, _, act) => [state, act.complete([])] } }))
    await done.begin()
    const ended = await done.send(done.signal('poke', 'a'), done.signal('poke', 'b'))
    expect(asked(ended)).toEqual(['moved by 5', 'CompleteRun'])
    const greedy = new Play(noting({ signal: { poke: (s, _, act) => [s, act.complete([]), act.run('work', 1)] } }))
    await greedy.begin()
    const [failed] = await greedy.send(greedy.signal('poke', 'a'))
    expect(failed).toMatchObject({ type: 'FailRun', failure: { code: 'INPUT_INVALID' } })
  })

  test('a cancelled run asks nobody, and an update is refused', async () => {
    const play = new Play(noting())
    await play.begin()
    const update = { type: 'update', id: 'u', name: 'x', payload: { json: null } } as const
    const commands = await play.send(update, { type: 'cancel', id: 'c', reason: 'enough' })
    expect(commands).toMatchObject([
      { type: 'AnswerUpdate', id: 'u', answer: { ok: false, rejected: true } },
      { type: 'CancelRun', reason: 'enough' },
    ])
  })
})

describe('A4 actions', () => {
  test('what a turn requested can be cancelled in it', async () => {
    const play = new Play(
      noting({
        activityCompleted: {
          work: (state, _, act) => [state, act.run('work', 5, { id: 'x' })],
          other: (state, _, act) => [state, act.cancel('x'), act.cancel('nobody')],
        },
      }),
    )
    await play.begin()
    const commands = await play.complete(['activity:work#1', 1], ['activity:other#1', 2])
    expect(asked(commands)).toEqual(['moved by 5', 'activity:work[x]#1', 'moved by 6', 'off activity:work[x]#1'])
    expect([...play.state.open.keys()]).toEqual([])
  })

  test('the result of a request that was cancelled in the same turn is ignored', async () => {
    const play = new Play(
      noting({
        activityCompleted: {
          work: (state, _, act) => [state, act.cancel('other#1')],
          other: () => [{ seen: ['never'] }],
        },
      }),
    )
    await play.begin()
    await play.complete(['activity:work#1', 1], ['activity:other#1', 2])
    expect(play.stateNow).toEqual({ seen: ['start'] })
    // Also for the next holder: nothing was cancelled, since it had ended.
    expect(asked(await new Play(noting(), play.events).begin())).toEqual([])
  })

  test('an id is used once at a time, and each use has a key of its own', async () => {
    const again = noting({
      start: (_, act) => [{ seen: [] }, act.run('work', 1, { id: 'x' })],
      activityCompleted: {
        work: (state, _, act) => [state, act.child(child, undefined, { id: 'x' })],
        other: (state) => [state],
      },
      signal: { poke: (state, _, act) => [state, act.run('other', 1, { id: 'x' })] },
    })
    const play = new Play(again)
    await play.begin()
    expect(asked(await play.complete(['activity:work[x]#1', 1]))).toEqual(['moved by 4', 'child:kid[x]#2'])
    const [failed] = await play.send(play.signal('poke', ''))
    expect(failed).toMatchObject({ type: 'FailRun', failure: { code: 'DUPLICATE_STEP_KEY' } })
  })

  test('a timer of the same name replaces the one before, and one that is cancelled does not fire', async () => {
    const play = new Play(
      noting({
        start: (_, act) => [{ seen: [] }, act.timer('late', '1s')],
        signal: {
          poke: (state, text, act) => [state, text === 'off' ? act.cancelTimer('late') : act.timer('late', 5_000)],
        },
      }),
    )
    await play.begin()
    expect(asked(await play.send(play.signal('poke', 'more')))).toEqual([
      'moved by 4',
      'off timer:late#1',
      'timer:late#2',
    ])
    expect(asked(await play.pass(4_000))).toEqual([])
    expect(asked(await play.pass(1_000))).toEqual(['moved by 8'])
    expect(play.stateNow).toEqual({ seen: ['late'] })
    await play.send(play.signal('poke', 'again'))
    expect(asked(await play.send(play.signal('poke', 'off')))).toEqual(['moved by 13', 'off timer:late#3'])
    expect(play.state.open.size).toBe(0)
  })

  test('the options of an activity are known to the next holder of the run', async () => {
    const play = new Play(
      noting({
        start: (_, act) => [
          { seen: [] },
          act.run('work', 1, { retry: 'none', startToClose: '5s' }),
          act.run('work', 2),
        ],
      }),
    )
    await play.begin()
    const cold = new Play(noting(), play.events)
    await cold.begin()
    expect(cold.step('activity:work#1')).toMatchObject({
      retry: { maxAttempts: 1 },
      startToCloseMs: 5_000,
    })
    expect(cold.step('activity:work#2')?.retry.maxAttempts).toBe(3)
    expect(cold.step('activity:work#3')).toBeUndefined()
  })

  test('a promise, a stranger among the actions and an unknown name are told apart', async () => {
    const wrong: [unknown, RegExp][] = [
      [Promise.resolve([1]), /'start' must return \[state, \.\.\.actions\], but returned a promise/],
      [undefined, /must return .*, but returned undefined\. To change only the state/],
      [[{ seen: [] }, { run: 'work' }], /'start' returned an object behind the state, but only actions/],
      [[{ seen: [] }, undefined], /returned undefined behind the state, but only actions/],
    ]
    for (const [given, message] of wrong) {
      const [, failed] = await new Play(noting({ start: () => given as never })).begin()
      expect(failed).toMatchObject({ type: 'FailRun', failure: { type: 'PawlError' } })
      expect(JSON.stringify(failed)).toMatch(message)
    }
    const unknown = noting({ start: (_, act) => [{ seen: [] }, act.run('nope' as 'work', 1)] })
    expect(JSON.stringify(await new Play(unknown).begin())).toMatch(/no activity 'nope'.*work, other/)
  })
})

describe('failures', () => {
  test('A3 an activity that nobody minds fails the run as it would a function', async () => {
    const play = new Play(noting())
    await play.begin()
    const [failed] = await play.fail('activity:work#1', 'broken')
    expect(failed).toMatchObject({
      type: 'FailRun',
      failure: { type: 'ActivityError', cause: { message: 'broken' } },
    })
    expect(JSON.stringify(failed)).toMatch(/activity 'the-work' failed after 2 attempts/)
  })

  test('a handler that throws fails the run, and its event is handled again when it is tried again', async () => {
    const bad = noting({
      signal: {
        poke: () => {
          throw new TypeError('a bug')
        },
      },
    })
    const play = new Play(bad)
    await play.begin()
    await play.complete(['activity:work#1', 1])
    const [failed] = await play.send(play.signal('poke', 'hello'))
    expect(failed).toMatchObject({ type: 'FailRun', failure: { type: 'TypeError' } })
    const again = new Play(noting(), retry(play))
    // `other` was in progress and is requested again by the start, which asks for nothing else.
    expect(asked(await again.begin())).toEqual(['moved by 0', 'activity:other#1', 'moved by 4', 'moved by 5'])
    expect(again.stateNow).toEqual({ seen: ['start', 'work#1=1', 'hello'] })
    expect(asked(await again.complete(['activity:other#1', 2]))).toEqual(['moved by 10'])
  })

  test('moves stand when a later one is made again', async () => {
    let starts = 0
    const failing = (message: string): AnyWorkflow =>
      noting({
        start: (_, act) => {
          starts++
          return [{ seen: [] }, act.run('work', 1)]
        },
        activityCompleted: {
          work: (_, __, act) => [{ seen: ['worked'] }, act.run('other', 2)],
          other: (state, _, act) => [state, message === '' ? act.complete(['ok']) : act.fail(message)],
        },
      })
    const play = new Play(failing('too slow'))
    await play.begin()
    await play.complete(['activity:work#1', 1])
    await play.complete(['activity:other#1', 1])
    expect(play.turn?.ending).toMatchObject({ failure: { type: 'Error', message: 'too slow' } })
    starts = 0
    const again = new Play(failing(''), retry(play))
    expect(asked(await again.begin())).toEqual(['moved by 8', 'CompleteRun'])
    expect(starts).toBe(0)
  })

  test('waiting for nothing is an error of the code', async () => {
    const lost = machine('lost', {
      ...{ input: typed<null>(), state: typed<number>(), output: typed<number>() },
      activities: {},
    }).on({ start: () => [1], activityCompleted: {} })
    await expect(new Play(lost).begin()).rejects.toMatchObject({ code: 'NON_DURABLE_AWAIT' })
  })
})

const strict: Schema<{ seen: string[] }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      Array.isArray((value as { seen?: unknown }).seen)
        ? { value: value as { seen: string[] } }
        : { issues: [{ message: 'seen is missing' }] },
  },
}

describe('definitions', () => {
  const lean = machine('m', {
    ...{ input: typed<null>(), state: strict, output: typed<string[]>() },
    activities: { work },
  }).on({
    start: (_, act) => [{ seen: [] }, act.run('work', 1)],
    activityCompleted: { work: (s) => [s] },
  })

  test('a run continues with another definition if every request in progress has a handler there', async () => {
    const play = new Play(noting())
    await play.begin()
    await play.complete(['activity:other#1', 1])
    const next = new Play(lean, play.events)
    expect(await next.begin()).toMatchObject([
      { decision: { type: 'DefinitionTaken', steps: [['work', 'activity:the-work']] } },
    ])
    await expect(next.complete(['activity:work#1', 1])).rejects.toMatchObject({
      code: 'NON_DURABLE_AWAIT',
    })
  })

  test('otherwise it is refused with the list', async () => {
    const play = new Play(noting({ start: (_, act) => [{ seen: [] }, act.run('other', 1), act.timer('late', 1)] }))
    await play.begin()
    const refused = new Play(lean, play.events).begin()
    await expect(refused).rejects.toMatchObject({
      name: 'VersionMismatch',
      code: 'VERSION_MISMATCH',
      details: {
        steps: [
          { step: 'other', problem: 'removed' },
          { step: 'late', problem: 'removed' },
        ],
      },
    })
  })

  test('a state that its schema refuses fails the run; one that was there before refuses the code', async () => {
    const bad = machine('m', { ...base, state: strict }).on({
      ...{ start: () => [{} as never], activityCompleted: { work: (s) => [s], other: (s) => [s] } },
      ...{ timerFired: { late: (s) => [s] }, signal: { poke: (s) => [s] } },
    })
    const [, failed] = await new Play(bad).begin()
    expect(failed).toMatchObject({
      failure: {
        message: expect.stringMatching(/state that 'start' of machine 'm' returned.*seen/),
      },
    })
    const loose = new Play(noting({ start: (_, act) => [{} as never, act.run('work', 1)] }))
    await loose.begin()
    await expect(new Play(lean, loose.events).begin()).rejects.toMatchObject({
      details: { steps: [{ step: 'state', problem: 'changed' }] },
    })
  })
})
