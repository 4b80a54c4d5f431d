// The judge, judged: each kind of wrong must be seen, or a green crash test says nothing.
import { describe, expect, test } from 'vitest'
import type { Event } from '../../src/core/kernel/event.ts'
import { type CheckedRun, type CheckedTurn, checkAgreement, checkAll, checkNaps, type Evidence } from './check.ts'
import { checkAttempts, checkOverlaps, recoveries } from './check-bodies.ts'
import { napMs } from './definitions.ts'
import type { Begun, LedgerLine, Left, Recorded } from './ledger.ts'

const runId = 'run-1'
const value = { json: 2 } as const

function begun(key: string, order: number, more: Partial<Begun> = {}): Begun {
  const plain = { attempt: 1, maxAttempts: 3, pid: 1, after: [] }
  return { type: 'begun', runId, key, order, ...plain, ...more }
}

function recorded(key: string, order: number): Recorded {
  return { type: 'recorded', runId, key, order, pid: 1 }
}

function left(key: string, order: number, more: Partial<Left> = {}): Left {
  return { type: 'left', runId, key, attempt: 1, pid: 1, order, ...more }
}

function completed(key: string): Event {
  return { type: 'StepCompleted', key, attempt: 1, value, at: 10 }
}

const ending: Event = { type: 'RunCompleted', value, at: 30 }

function turn(seq: number, events: readonly Event[], more: Partial<CheckedTurn> = {}): CheckedTurn {
  return { seq, count: events.length, turnId: seq + 1, epoch: 1, events, ...more }
}

const turns = [
  turn(0, [completed('step:link#1')]),
  turn(1, [completed('step:link#2')], { epoch: 2 }),
  turn(2, [{ type: 'SignalReceived', id: 'signal:a', name: 'go', payload: value, at: 20 }], {
    epoch: 2,
  }),
  turn(3, [completed('step:link#3'), ending], { epoch: 3 }),
]
const ledger: readonly LedgerLine[] = [
  begun('step:link#1', 1),
  recorded('step:link#1', 3),
  begun('step:link#2', 4, { after: ['step:link#1'] }),
  begun('step:link#3', 6, { after: ['step:link#2'] }),
]

/** A good story of one run of 'chain' with three links, with parts of it replaced. */
function story(run: Partial<CheckedRun> = {}, lines = ledger, more: Partial<Evidence> = {}) {
  const whole = { runId, name: 'chain', status: 'completed', output: { total: 12 }, turns, ...run }
  return checkAll({
    started: new Map([[runId, 4]]),
    signals: new Map([[runId, ['signal:a']]]),
    runs: new Map([[runId, whole]]),
    ledger: lines,
    ...more,
  })
}

describe('the checker of the crash tests', () => {
  test('finds nothing wrong with a good story, interruptions included', () => {
    expect(story()).toEqual([])
    const again = begun('step:link#1', 2, { attempt: 2, pid: 2 })
    expect(story({}, [again, ...ledger])).toEqual([])
  })

  test('INV1: a lost, unended, wrong or unknown run', () => {
    expect(story({}, [], { runs: new Map() }).join()).toContain('is not in the store')
    expect(story({ status: 'waiting' }).join()).toContain('INV1: run run-1 (chain) is waiting')
    expect(story({ status: 'paused' }).join()).toContain('is paused')
    expect(story({ output: { total: 11 } }).join()).toContain('ended with {"total":11}')
    const stray = { ...begun('step:link#1', 2), runId: 'run-2' }
    expect(story({}, [...ledger, stray]).join()).toContain('the store has no such run')
  })

  test('INV2: a step that runs again after a step that rests on it had begun', () => {
    const late = begun('step:link#2', 7, { attempt: 2, pid: 2 })
    expect(story({}, [...ledger, late])).toEqual([
      'INV2: run-1 step:link#2 began again in 2 1 µs after its result was durable',
    ])
  })

  test('INV2: a step that runs again after its worker heard that its result is recorded', () => {
    const lines = [...ledger, recorded('step:link#3', 8), begun('step:link#3', 9, { pid: 2 })]
    expect(story({}, lines).join()).toContain('INV2: run-1 step:link#3 began again in 2')
  })

  test('INV2: two results of one step, and one that nobody made', () => {
    const twice = [...turns.slice(0, 3), turn(3, [completed('step:link#2'), ending])]
    expect(story({ turns: twice.map((each) => ({ ...each, epoch: 1 })) })).toEqual([
      'INV2: run-1 has two results of step:link#2',
    ])
    const lines = ledger.slice(0, 3)
    expect(story({}, lines).join()).toContain('step:link#3 1, which no worker began')
  })

  test('INV14: a step without retries that runs twice, and one attempt too many', () => {
    const once = { maxAttempts: 1 }
    const twice = [begun('step:only#1', 1, once), begun('step:only#1', 2, { ...once, pid: 2 })]
    expect(story({}, [...ledger, ...twice])).toEqual(['INV14: run-1 step:only#1 began 2 times; its policy allows 1'])
    const fourth = begun('step:flaky#1', 1, { attempt: 4 })
    expect(story({}, [...ledger, fourth])).toEqual(['INV14: run-1 step:flaky#1 was called attempt 4 of 3'])
  })

  test('INV3: a gap, a turn that is there twice, and one that is not what it says', () => {
    const gap = turns.map((each) => (each.seq === 3 ? { ...each, seq: 4 } : each))
    expect(story({ turns: gap })).toEqual(['INV3: a turn of run-1 begins at 4, expected 3'])
    const twin = turns.map((each) => (each.seq === 3 ? { ...each, turnId: 1 } : each))
    expect(story({ turns: twin })).toEqual(['INV3: turn 1 of run-1 is there twice'])
    const fork = [...turns.slice(0, 3), turn(2, [], { turnId: 9, epoch: 3 }), ...turns.slice(3)]
    expect(story({ turns: fork }).join()).toContain('begins at 2, expected 3')
    const short = turns.map((each) => (each.seq === 3 ? { ...each, count: 1 } : each))
    expect(story({ turns: short })).toEqual(['INV3: a turn of run-1 says 1, has 2 events'])
  })

  test('INV5: a turn of an older lease after one of a newer', () => {
    const stale = turns.map((each) => (each.seq === 2 ? { ...each, epoch: 1 } : each))
    expect(story({ turns: stale })).toEqual(['INV5: epoch 1 of run-1 wrote after epoch 2'])
  })

  test('INV7: an acknowledged signal that is missing, or there twice', () => {
    const signals = new Map([[runId, ['signal:a', 'signal:b']]])
    expect(story({}, ledger, { signals })).toEqual(['INV7: signal signal:b is 0 times in the history of run-1'])
    const [, , third] = turns
    const twice = third ? [...turns.slice(0, 3), { ...third, seq: 3, turnId: 7 }] : []
    expect(story({ turns: twice }).join()).toContain('signal:a is 2 times')
  })

  test('INV8, INV10, INV12: an early timer, a lost child, a life after the end', () => {
    const timer: Event[] = [
      { type: 'TimerStarted', key: 'sleep#1', until: 50, after: 0, at: 1 },
      { type: 'TimerFired', key: 'sleep#1', at: 49 },
    ]
    expect(story({ turns: [...turns.slice(0, 3), turn(3, timer, { epoch: 3 })] })).toEqual([
      'INV8: sleep#1 of run-1 fired early',
    ])
    const child: Event = {
      type: 'ChildStarted',
      key: 'child:chain#1',
      name: 'chain',
      child: 'run-9',
      input: value,
      digest: '',
      after: 0,
      at: 1,
    }
    const orphaned = [...turns.slice(0, 3), turn(3, [child, ending], { epoch: 3 })]
    expect(story({ turns: orphaned })).toEqual(['INV10: child run-9 of run-1 is not in the store'])
    const undead = [...turns, turn(5, [completed('step:link#9')], { epoch: 3 })]
    expect(story({ turns: undead }).join()).toContain('INV12: run-1 goes on after RunCompleted')
  })

  test('INV6: a body that begins while it runs elsewhere, unless that process was killed or stopped', () => {
    const again = begun('step:link#1', 3, { attempt: 2, pid: 2 })
    const twice = [begun('step:link#1', 1), again, left('step:link#1', 5)]
    const none = { killed: [], resumed: [] }
    expect(checkOverlaps({ ledger: twice, ...none }).join()).toContain('ran in 1 and 2 at once')
    expect(checkOverlaps({ ledger: twice, ...none, resumed: [{ pid: 1 }] })).toEqual([])
    const killed = [{ pid: 1, order: 2 }]
    const cut = { ledger: twice.slice(0, 2), ...none, killed }
    expect(checkOverlaps(cut)).toEqual([])
    expect(checkOverlaps({ ...cut, killed: [] }).join()).toContain('at once')
    // The number of a process that was killed is used again.
    expect(checkOverlaps({ ...cut, killed: [...killed, { pid: 1, order: 9 }] })).toEqual([])
    expect(recoveries(cut, [2])).toEqual([0.001])
    expect(recoveries({ ...cut, killed: [{ pid: 1, order: 1.5 }] }, [1.5, 2])).toEqual([])
  })

  test('INV4: a result that is not what the history says', () => {
    const made = { type: 'StepCompleted', key: 'step:made#1', attempt: 1, at: 1 } as const
    const trace = {
      name: 'trace',
      turns: [turn(0, [{ ...made, value: { json: { n: 1, token: 'a' } } }])],
    }
    const run = { runId, status: 'completed', ...trace }
    expect(checkAgreement({ ...run, output: { total: 1, tokens: ['a'] } })).toEqual([])
    expect(checkAgreement({ ...run, output: { total: 1, tokens: ['b'] } })).toEqual([
      'INV4: run-1 gave b, and its history has a',
    ])
  })

  test('INV14: a body that begins again under the same number', () => {
    const again = [begun('step:link#1', 1), begun('step:link#1', 3, { pid: 2 })]
    expect(checkAttempts({ ledger: again, killed: [], resumed: [] })).toEqual([
      'INV14: run-1 step:link#1 began as attempt 1 after attempt 1',
    ])
    expect(checkAttempts({ ledger: again, killed: [], resumed: [], failedOver: [2] })).toEqual([])
    expect(checkAttempts({ ledger: again, killed: [], resumed: [], failedOver: [5_000_000] })).toHaveLength(1)
    const late = [begun('step:link#1', 1), begun('step:link#1', 9_000_000, { pid: 2 })]
    expect(checkAttempts({ ledger: late, killed: [], resumed: [], failedOver: [4_000_000] })).toHaveLength(1)
  })

  test('INV8: a nap that was too short, unless the clock was set forward', () => {
    const from = 10_000_000
    const woken = from + (napMs - 100) * 1_000 - 1
    const slept = turn(0, [{ ...completed('step:asleep#1'), attempt: 2 } as Event])
    const runs = new Map([[runId, { runId, name: 'nap', status: 'completed', turns: [slept] }]])
    const check = (awake: number, setForward: readonly number[] = []) => {
      const asleep = left('step:asleep#1', from, { attempt: 2 })
      // A process that was stopped, and goes on with an attempt that nobody counts.
      const stale = left('step:asleep#1', awake + 500_000)
      const nap = [stale, asleep, begun('step:awake#1', awake), stale]
      return checkNaps({ ledger: nap, runs }, setForward)
    }
    expect(check(woken)).toEqual(['INV8: run-1 slept 199.999 ms, and not 300'])
    expect(check(woken, [from + 1])).toEqual([])
    expect(check(woken + 1)).toEqual([])
  })
})
