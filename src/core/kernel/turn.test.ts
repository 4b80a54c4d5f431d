import { describe, expect, test } from 'vitest'
import { head } from '../../../test/workflows/replay.ts'
import { isUuid } from '../base/names.ts'
import type { Command, StartChild } from './command.ts'
import type { Message } from './message.ts'
import { type Head, RunState } from './run.ts'
import { Turn } from './turn.ts'

const value = { json: 1 }
const failure = { type: 'Error', message: 'no', retryable: true }
const never = (): boolean => false

const runStep = (key: string): Command => ({
  type: 'RunStep',
  kind: 'activity',
  key,
  after: 0,
  name: 'a',
})
const startChild = (key: string, onClose?: 'abandon'): StartChild => ({
  type: 'StartChild',
  key,
  after: 0,
  name: 'c',
  input: value,
  digest: 'd',
  ...(onClose && { onClose }),
})
const signal = (id: string): Message => ({ type: 'signal', id, name: 'go', payload: value })
const cancel = (id: string, reason?: string): Message => ({
  type: 'cancel',
  id,
  ...(reason !== undefined && { reason }),
})
const taskEnded = (key: string, generation = 1): Message => ({
  type: 'taskEnded',
  id: `task:${key}:${generation}`,
  generation,
  key,
  outcome: { ok: true, attempt: 1, value },
})

/** A state with these commands behind it, some of them queued. */
function after(commands: readonly Command[], queued: (key: string) => boolean = never): RunState {
  const state = new RunState()
  const turn = new Turn(head, state, 100)
  turn.command(commands, (step) => queued(step.key))
  return state
}

function types(turn: Turn): string[] {
  return turn.events.map(({ type }) => type)
}

describe('messages', () => {
  test('become events in the order they were accepted, and all are consumed', () => {
    const turn = new Turn(head, new RunState(), 100)
    turn.receive([signal('1'), signal('2')])
    expect(turn.events).toMatchObject([
      { type: 'SignalReceived', id: '1', seq: 1, at: 100 },
      { type: 'SignalReceived', id: '2', seq: 2, at: 100 },
    ])
    expect(turn.consumed).toEqual(['1', '2'])
  })

  test('with an id that was taken before are consumed and change nothing', () => {
    const state = new RunState()
    new Turn(head, state, 100).receive([signal('1')])
    const turn = new Turn(head, state, 101)
    turn.receive([signal('1'), signal('2'), signal('2')])
    expect(turn.events).toMatchObject([{ id: '2' }])
    expect(turn.consumed).toEqual(['1', '2', '2'])
  })

  test('about a step nobody waits for, or of another generation, vanish', () => {
    const state = after([runStep('s')])
    const turn = new Turn(head, state, 101)
    turn.receive([taskEnded('unknown'), taskEnded('s', 2)])
    expect([types(turn), turn.consumed.length]).toEqual([[], 2])
    turn.receive([taskEnded('s'), { ...taskEnded('s'), id: 'again' }])
    expect(types(turn)).toEqual(['StepCompleted'])
  })

  test('a nudge is consumed and says nothing', () => {
    const turn = new Turn(head, new RunState(), 100)
    turn.receive([{ type: 'nudge', id: 'n' }])
    expect([types(turn), turn.consumed, turn.derivable]).toEqual([[], ['n'], true])
  })

  test('a child’s end settles its key, once', () => {
    const state = after([startChild('c')])
    const message: Message = {
      type: 'childEnded',
      id: 'child:x',
      generation: 1,
      key: 'c',
      child: 'x',
      outcome: { ok: false, failure },
    }
    const turn = new Turn(head, state, 101)
    turn.receive([message, { ...message, id: 'child:x again' }])
    expect(turn.events).toMatchObject([{ type: 'ChildFailed', key: 'c', child: 'x', failure }])
  })
})

describe('cancellation', () => {
  const state = (): RunState =>
    after(
      [startChild('c'), startChild('abandoned', 'abandon'), runStep('queued'), runStep('local')],
      (key) => key === 'queued',
    )

  test('is recorded once, tells children, and drops queued steps', () => {
    const turn = new Turn(head, state(), 101)
    turn.receive([cancel('1', 'why'), cancel('2', 'other')])
    expect(turn.events).toMatchObject([{ type: 'CancelRequested', id: '1', reason: 'why' }])
    expect(turn.consumed).toEqual(['1', '2'])
    expect(turn.outgoing).toMatchObject([
      { type: 'post', message: { type: 'cancel', id: `parent:${head.runId}:1`, reason: 'why' } },
    ])
    expect(turn.dropped).toEqual(['queued'])
  })

  test('makes results that come after it late', () => {
    const turn = new Turn(head, state(), 101)
    turn.receive([cancel('1'), taskEnded('queued')])
    const outcome = { ok: true, attempt: 1, value } as const
    turn.settle([{ type: 'ended', key: 'local', outcome }])
    expect(types(turn)).toEqual(['CancelRequested'])
  })

  test('after the end was decided is consumed and changes nothing', () => {
    const turn = new Turn(head, new RunState(), 101)
    turn.command([{ type: 'CompleteRun', value }], never)
    turn.receive([cancel('late'), signal('s')])
    expect(types(turn)).toEqual(['SignalReceived'])
    expect(turn.close().event).toMatchObject({ type: 'RunCompleted', seq: 2 })
  })
})

describe('results of steps that ran here', () => {
  test('are recorded while their step is open, and dropped otherwise', () => {
    const turn = new Turn(head, after([runStep('s')]), 101)
    const ended = { type: 'ended', key: 's', outcome: { ok: true, attempt: 2, value } } as const
    turn.settle([{ type: 'retry', key: 's', attempt: 1, failure, until: 500 }, ended, ended])
    expect(turn.events).toMatchObject([
      { type: 'StepRetried', key: 's', attempt: 1, until: 500 },
      { type: 'StepCompleted', key: 's', attempt: 2 },
    ])
  })

  test('make a turn that cannot be derived again', () => {
    const turn = new Turn(head, after([runStep('s')]), 101)
    expect(turn.derivable).toBe(true)
    turn.command([runStep('t')], never)
    expect(turn.derivable).toBe(true)
    turn.settle([{ type: 'retry', key: 's', attempt: 1, failure, until: 500 }])
    expect(turn.derivable).toBe(false)
  })
})

describe('time', () => {
  const timers: Command[] = [
    { type: 'SetTimer', key: 't', after: 0, until: 200 },
    { type: 'AwaitSignal', key: 'w', after: 0, name: 'go', until: 200 },
    { type: 'SetTimer', key: 'later', after: 0, until: 201 },
  ]

  test('what is due fires, and nothing earlier', () => {
    const state = after(timers)
    const early = new Turn(head, state, 199)
    early.fireDue()
    expect(early.events).toEqual([])
    const turn = new Turn(head, state, 200)
    turn.fireDue()
    expect(turn.events).toMatchObject([
      { type: 'TimerFired', key: 't' },
      { type: 'TimerFired', key: 'w' },
    ])
  })

  test('a message that came in the same turn was first', () => {
    const turn = new Turn(head, after(timers), 200)
    turn.receive([signal('1')])
    turn.fireDue()
    expect(types(turn)).toEqual(['SignalReceived', 'TimerFired'])
  })

  test('a turn is never stamped before the last event', () => {
    const turn = new Turn(head, after(timers), 5)
    turn.receive([signal('1')])
    expect(turn.events).toMatchObject([{ at: 100 }])
  })
})

describe('commands', () => {
  test('become events, and steps that are queued are marked', () => {
    const turn = new Turn(head, new RunState(), 100)
    turn.command([runStep('here'), runStep('there')], ({ key }) => key === 'there')
    expect(turn.events).toMatchObject([{ key: 'here' }, { key: 'there', queued: true }])
    expect(turn.events[0]).not.toHaveProperty('queued')
    expect(turn.steps.map(({ key }) => key)).toEqual(['here', 'there'])
  })

  test('nothing is asked for after the end', () => {
    const turn = new Turn(head, new RunState(), 100)
    expect(() => turn.command([{ type: 'CancelRun' }, runStep('s')], never)).toThrow(/after the end/)
  })

  test('a child gets the same id whenever it is derived, and another for another key', () => {
    const ids = ['c', 'c', 'd'].map((key) => {
      const turn = new Turn(head, new RunState(), 100)
      turn.command([startChild(key)], never)
      const [event] = turn.events
      const [outgoing] = turn.outgoing
      expect(outgoing).toMatchObject({ type: 'start', runId: (event as { child: string }).child })
      return (event as { child: string }).child
    })
    expect(ids[0]).toBe(ids[1])
    expect(ids[0]).not.toBe(ids[2])
    expect(ids.every(isUuid)).toBe(true)
    expect(ids[0]?.slice(0, 13)).toBe(head.runId.slice(0, 13))
  })
})

describe('closing', () => {
  const parent = { runId: '01900000-0000-7000-8000-00000000000f', generation: 3, key: 'child:x#1' }
  const childHead: Head = { ...head, parent }

  test.each<[Command, object]>([
    [
      { type: 'CompleteRun', value },
      { ok: true, value },
    ],
    [
      { type: 'FailRun', failure },
      { ok: false, failure },
    ],
    [
      { type: 'CancelRun', reason: 'why' },
      { ok: false, failure: { type: 'CancelledError', message: 'why', retryable: false } },
    ],
  ])('tells the parent how it went: %j', (command, outcome) => {
    const turn = new Turn(childHead, new RunState(), 100)
    turn.command([command], never)
    expect(turn.close().outgoing).toEqual([
      {
        type: 'post',
        runId: parent.runId,
        message: {
          type: 'childEnded',
          id: `child:${head.runId}`,
          generation: 3,
          key: parent.key,
          child: head.runId,
          outcome,
        },
      },
    ])
  })

  test('calls off open children and queued steps, changes nothing, and can be done again', () => {
    const state = after([startChild('c'), runStep('queued')], (key) => key === 'queued')
    const turn = new Turn(head, state, 101)
    turn.command([{ type: 'CompleteRun', value }], never)
    const first = turn.close()
    expect(first).toMatchObject({
      event: { type: 'RunCompleted', seq: 3 },
      outgoing: [{ type: 'post', message: { type: 'cancel' } }],
      dropped: ['queued'],
    })
    expect(turn.close()).toEqual(first)
    turn.receive([signal('late')])
    expect(turn.close().event.seq).toBe(4)
    expect(state.ending).toBeUndefined()
  })

  test('needs an ending', () => {
    expect(() => new Turn(head, new RunState(), 1).close()).toThrow(/closed by its ending/)
  })
})
