import { describe, expect, test } from 'vitest'
import { AssertionFailure } from '../base/assert.ts'
import type { Event, EventBody } from './event.ts'
import { dueAt } from './requests.ts'
import { RunState, statusOf } from './run.ts'

const value = { json: 1 }
const failure = { type: 'Error', message: 'no', retryable: true }

/** Events one millisecond apart. */
function at(...bodies: EventBody[]): Event[] {
  return bodies.map((body, index) => ({ ...body, at: 100 + index }))
}

function started(key: string, queued?: true): EventBody {
  const kind = 'activity' as const
  return { type: 'StepStarted', kind, name: 'a', key, after: 0, ...(queued && { queued }) }
}
const timer = (key: string, until: number): EventBody => ({
  type: 'TimerStarted',
  key,
  after: 0,
  until,
})
const wait = (key: string, name: string, until?: number): EventBody => ({
  type: 'WaitStarted',
  key,
  after: 0,
  name,
  ...(until !== undefined && { until }),
})
const child = (key: string): EventBody => ({
  type: 'ChildStarted',
  key,
  after: 0,
  name: 'c',
  child: 'run',
  input: value,
  digest: 'd',
})
const signalled = (id: string, name: string): EventBody => ({
  type: 'SignalReceived',
  id,
  name,
  payload: value,
})
const completed = (key: string): EventBody => ({ type: 'StepCompleted', key, attempt: 1, value })
const retried = (key: string, until: number): EventBody => ({
  type: 'StepRetried',
  key,
  attempt: 2,
  failure,
  until,
})

describe('the fold', () => {
  test('numbers events from 1 and keeps the time of the last', () => {
    const state = new RunState()
    const [first, second] = at(started('s'), completed('s'))
    expect(first && state.apply(first)).toMatchObject({ seq: 1, at: 100 })
    expect(second && state.apply(second)).toMatchObject({ seq: 2, at: 101 })
    expect([state.seq, state.at]).toEqual([2, 101])
  })

  test('knows what is open, in the order it was asked for', () => {
    const events = at(started('s'), timer('t', 500), wait('w', 'go', 400), child('c'))
    const { open } = RunState.of(events)
    expect([...open].map(([key, each]) => [key, each.type])).toEqual([
      ['s', 'step'],
      ['t', 'timer'],
      ['w', 'wait'],
      ['c', 'child'],
    ])
  })

  test.each<[string, EventBody, EventBody]>([
    ['StepCompleted', started('k'), completed('k')],
    ['StepFailed', started('k'), { type: 'StepFailed', key: 'k', attempt: 1, failure, reason: 'exhausted' }],
    ['TimerFired', timer('k', 1), { type: 'TimerFired', key: 'k' }],
    ['ChildCompleted', child('k'), { type: 'ChildCompleted', key: 'k', value }],
    ['ChildFailed', child('k'), { type: 'ChildFailed', key: 'k', child: 'run', failure }],
  ])('%s settles what was asked for', (_type, asked, settled) => {
    expect(RunState.of(at(asked, settled)).open.size).toBe(0)
    expect(() => RunState.of(at(settled))).toThrow(AssertionFailure)
    expect(() => RunState.of(at(asked, settled, settled))).toThrow(/settles an open request/)
  })

  test('a retried step stays open, and remembers its attempts and when it is due', () => {
    const state = RunState.of(at(started('s'), retried('s', 900)))
    expect(state.open.get('s')).toMatchObject({ failed: 2, retryAt: 900, failure })
    expect(state.requests.wakeAt()).toBe(900)
    expect(() => RunState.of(at(retried('s', 1)))).toThrow(/only an open step starts, waits or is tried again/)
    expect(() => RunState.of(at(timer('t', 1), retried('t', 1)))).toThrow(AssertionFailure)
  })

  test('a signal settles the oldest wait of its name; one nobody waits for is kept for the next', () => {
    const waits = at(wait('w1', 'go'), wait('other', 'stop'), wait('w2', 'go'), signalled('1', 'go'))
    expect([...RunState.of(waits).open.keys()]).toEqual(['other', 'w2'])
    const early = at(signalled('1', 'go'), wait('w1', 'go'), wait('w2', 'go'))
    expect([...RunState.of(early).open.keys()]).toEqual(['w2'])
  })

  test('the ids of signals and cancellations are remembered', () => {
    const state = RunState.of(at(signalled('1', 'go'), { type: 'CancelRequested', id: '2' }))
    expect(['1', '2', '3'].map((id) => state.knows(id))).toEqual([true, true, false])
  })

  test('a cancellation leaves nothing open, and comes once', () => {
    const cancel: EventBody = { type: 'CancelRequested', id: 'c', reason: 'r' }
    const state = RunState.of(at(started('s'), timer('t', 1), child('c'), cancel))
    expect([state.open.size, state.cancelled]).toEqual([0, true])
    expect(() => RunState.of(at(cancel, cancel))).toThrow(/cancelled once/)
  })
})

describe('a history that could not have happened is refused', () => {
  test.each<EventBody>([{ type: 'RunCompleted', value }, { type: 'RunFailed', failure }, { type: 'RunCancelled' }])(
    'nothing follows $type',
    (ending) => {
      const state = RunState.of(at(started('s'), ending))
      expect(state.ending).toMatchObject(ending)
      expect(() => RunState.of(at(ending, started('s')))).toThrow(/has ended/)
      expect(() => RunState.of(at(ending, ending))).toThrow(/has ended/)
    },
  )

  test('a key is not asked for twice while it is open', () => {
    expect(() => RunState.of(at(started('k'), timer('k', 1)))).toThrow(/requested once: k/)
  })

  test('time does not run backwards', () => {
    const [first, second] = at(started('a'), started('b'))
    expect(() => RunState.of([second, first] as Event[])).toThrow(/backwards/)
    const together = [first, { ...second, at: first?.at ?? 0 }] as Event[]
    expect(RunState.of(together).seq).toBe(2)
  })

  test('an event of an unknown type is refused', () => {
    const strange = { type: 'Imagined', at: 1 } as unknown as Event
    expect(() => RunState.of([strange])).toThrow(/unexpected/)
  })
})

describe('wakeAt', () => {
  test('is the earliest of timers, time-outs and retries', () => {
    const events = at(timer('t', 700), wait('w', 'go', 600), started('s'), retried('s', 650))
    const state = RunState.of(events)
    expect(state.requests.wakeAt()).toBe(600)
    expect(state.requests.wakeAt((key) => key !== 's')).toBe(600)
    expect(RunState.of(at(started('s'), retried('s', 650))).requests.wakeAt(() => false)).toBeUndefined()
  })

  test('is nothing when only messages can wake the run', () => {
    const state = RunState.of(at(wait('w', 'go'), child('c'), started('q', true)))
    expect(state.requests.wakeAt()).toBeUndefined()
    expect([...state.open.values()].map(dueAt)).toEqual([undefined, undefined, undefined])
  })

  test('what has a time is known in the order it was asked for, and forgotten with it', () => {
    const state = RunState.of(at(timer('t', 700), started('s'), wait('w', 'go', 600)))
    const timed = (): string[] => [...state.requests.timed()].map(([key]) => key)
    expect(timed()).toEqual(['t', 'w'])
    state.apply({ ...retried('s', 650), at: 500 })
    expect(timed()).toEqual(['t', 'w', 's'])
    state.apply({ type: 'CalledOff', keys: ['t', 's'], at: 500 })
    expect(timed()).toEqual(['w'])
    state.apply({ ...timer('t', 700), at: 500 })
    expect(timed()).toEqual(['w', 't'])
  })

  test('an endings’ status is its own', () => {
    expect(statusOf({ type: 'RunCompleted', value })).toBe('completed')
    expect(statusOf({ type: 'RunFailed', failure })).toBe('failed')
    expect(statusOf({ type: 'RunCancelled' })).toBe('cancelled')
  })
})
