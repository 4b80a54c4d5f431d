import { expect, test } from 'vitest'
import type { Event, EventBody } from '../kernel/event.ts'
import { stepsOf } from './steps.ts'
import { timelineOf } from './timeline.ts'

const value = { json: 1 }
const failure = { type: 'Error', message: 'no', retryable: true }

/** Events one millisecond apart, from 100 on. */
function at(...bodies: EventBody[]): Event[] {
  return bodies.map((body, index) => ({ ...body, at: 100 + index }))
}
const wait = (key: string): EventBody => ({ type: 'WaitStarted', key, after: 0, name: 'paid' })
const signal = (id: string): EventBody => ({
  type: 'SignalReceived',
  id,
  name: 'paid',
  payload: value,
})
const step = (name: string): EventBody => ({
  ...{ type: 'StepStarted', kind: 'activity', name, key: `activity:${name}#1`, after: 0 },
})

function outcomes(...bodies: EventBody[]): string[] {
  const { rows } = timelineOf(at(...bodies), 100, 200)
  return rows.map(({ name, key, outcome, from, to }) => {
    const span = `${from.getTime()}-${to?.getTime() ?? ''}`
    return `${key ?? name} ${outcome} ${span}`
  })
}

test('a signal settles the oldest wait of its name; one that came early, the next wait', () => {
  expect(outcomes(wait('a'), wait('b'), signal('1'))).toEqual(['a done 100-102', 'b open 101-'])
  expect(outcomes(signal('1'))).toEqual(['paid done 100-100'])
  expect(outcomes(signal('1'), wait('a'))).toEqual(['a done 101-101'])
})

test('the signal of a wait that was cancelled before the code saw it is for the next wait', () => {
  const history = [wait('a'), signal('1'), { type: 'CalledOff', keys: ['a'] } as const, wait('b')]
  expect(outcomes(...history)).toEqual(['a done 100-101', 'b done 103-103'])
})

test('a cancelled run cancels what is open, except what is shielded or awaited', () => {
  const awaited: EventBody = { ...step('slow'), onCancel: 'wait' } as EventBody
  const shielded: EventBody = { ...step('undo'), key: 'shield#1/activity:undo#1' } as EventBody
  const cancel: EventBody = { type: 'CancelRequested', id: 'c' }
  expect(outcomes(step('fast'), awaited, shielded, cancel)).toEqual([
    'activity:fast#1 cancelled 100-103',
    'activity:slow#1 open 101-',
    'shield#1/activity:undo#1 open 102-',
    'cancel requested done 103-103',
  ])
})

test('Q4: a step has its attempts, failures and end; the end of a run ends what is open', () => {
  const events = at(
    step('charge'),
    { type: 'StepRetried', key: 'activity:charge#1', attempt: 1, failure, until: 150 },
    { type: 'StepFailed', key: 'activity:charge#1', attempt: 2, failure, reason: 'exhausted' },
    step('ship'),
    { type: 'RunFailed', failure },
  )
  const [charge, ship] = timelineOf(events, 100, 200).rows
  expect(charge).toMatchObject({ attempts: 2, outcome: 'failed', failure, name: 'charge' })
  expect(charge?.retries).toEqual([{ at: new Date(101), attempt: 1, failure, until: new Date(150) }])
  expect(ship).toMatchObject({ outcome: 'cancelled', to: new Date(104) })
  expect(timelineOf(events, 100, 200).to).toEqual(new Date(104))
  expect(stepsOf(events, 200).map((each) => [each.step, each.state, each.attempts])).toEqual([
    ['charge', 'failed', 2],
    ['ship', 'cancelled', 0],
  ])
})
