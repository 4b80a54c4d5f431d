import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { encode } from '../base/value.ts'
import { encodeTurn } from '../kernel/codec.ts'
import type { Event } from '../kernel/event.ts'
import type { HistoryEvent } from './public-history.ts'
import { publicEvents } from './public-history.ts'

type Sample<Type> = Omit<Event & { readonly type: Type }, 'type' | 'at'>
type Told<Type> = Omit<HistoryEvent & { readonly type: Type }, 'type' | 'at' | 'seq'>

const at = Date.UTC(2030, 0, 1)
const due = new Date(at)
// JSON alone cannot say it: code that forgets to decode it gives something else.
const value = { when: due, n: 5n }
const payload = encode(value, 'a value')
const failure = { type: 'Error', message: 'no', retryable: true }
const asked = { key: 'k', after: 0 }
const [step, id, messageId] = ['k', 'm', 'm']

/** Every event of the kernel, as it is stored and as it is told. */
const samples: { readonly [Type in Event['type']]: readonly [Sample<Type>, Told<Type>] } = {
  StepStarted: [
    {
      ...asked,
      kind: 'activity',
      name: 'a',
      input: payload,
      digest: 'd',
      queued: true,
      startBy: at,
      closeBy: at,
    },
    { step, kind: 'activity', name: 'a', input: value, queued: true, startBy: due, closeBy: due },
  ],
  StepBegun: [{ key: 'k' }, { step }],
  StepQueued: [
    { key: 'k', attempt: 2 },
    { step, attempt: 2 },
  ],
  StepRetried: [
    { key: 'k', attempt: 1, failure, until: at, left: true },
    { step, attempt: 1, failure, until: due, leftOpen: true },
  ],
  StepCompleted: [
    { key: 'k', attempt: 1, value: payload, byHand: 'why', id },
    { step, attempt: 1, result: value, byHand: 'why', messageId },
  ],
  StepFailed: [
    { key: 'k', attempt: 5, failure, reason: 'exhausted', id },
    { step, attempt: 5, failure, reason: 'exhausted', messageId },
  ],
  TimerStarted: [
    { ...asked, until: at },
    { step, until: due },
  ],
  TimerFired: [{ key: 'k' }, { step }],
  WaitStarted: [
    { ...asked, name: 'go', until: at },
    { step, name: 'go', until: due, condition: false },
  ],
  ChildStarted: [
    { ...asked, name: 'c', child: 'r', input: payload, digest: 'd' },
    { step, name: 'c', childRunId: 'r', input: value, parentClose: 'cancel' },
  ],
  ChildCompleted: [
    { key: 'k', value: payload },
    { step, result: value },
  ],
  ChildFailed: [
    { key: 'k', child: 'r', failure },
    { step, childRunId: 'r', failure },
  ],
  CalledOff: [
    { keys: ['a', 'b'], met: ['b'] },
    { steps: ['a', 'b'], met: ['b'] },
  ],
  MessageSent: [
    { ...asked, to: 'r', message: 'signal', name: 'go' },
    { step, to: 'r', message: 'signal', name: 'go' },
  ],
  SignalReceived: [
    { id, name: 'go', payload },
    { messageId, name: 'go', payload: value },
  ],
  UpdateReceived: [
    { id, name: 'add', payload },
    { messageId, name: 'add', payload: value },
  ],
  UpdateAccepted: [{ id }, { messageId }],
  UpdateCompleted: [
    { id, value: payload },
    { messageId, result: value },
  ],
  UpdateFailed: [
    { id, failure, rejected: true },
    { messageId, failure, rejected: true },
  ],
  TokenMade: [
    { key: 'k', token: 't' },
    { step, token: 't' },
  ],
  CancelRequested: [
    { id, reason: 'why' },
    { messageId, reason: 'why' },
  ],
  PauseRequested: [
    { id, note: 'why' },
    { messageId, note: 'why' },
  ],
  ResumeRequested: [{ id }, { messageId }],
  RunTriggered: [
    { id, input: payload },
    { messageId, input: value },
  ],
  MigrationRequested: [
    { id, hash: 'h', steps: { a: 'b', c: null } },
    { messageId, definitionHash: 'h', steps: { a: 'b', c: null } },
  ],
  MessageDiscarded: [
    { id, message: 's', note: 'why' },
    { messageId, discarded: 's', note: 'why' },
  ],
  AttributesSet: [
    { ...asked, attributes: { due: { at }, n: 1 } },
    { step, attributes: { due, n: 1 } },
  ],
  StreamWritten: [
    { ...asked, stream: 'tokens', bytes: 9 },
    { step, stream: 'tokens', bytes: 9 },
  ],
  Patched: [{ id: 'p' }, { id: 'p' }],
  CompensationBegan: [asked, { step }],
  CompensationEnded: [asked, { step }],
  DefinitionTaken: [
    {
      hash: 'h',
      version: 2,
      steps: [
        ['a', 'step'],
        ['b', 'wait', 'a'],
      ],
    },
    {
      definitionHash: 'h',
      version: 2,
      steps: [
        { name: 'a', what: 'step', after: [] },
        { name: 'b', what: 'wait', after: ['a'] },
      ],
    },
  ],
  StepSkipped: [{ key: 'k' }, { step }],
  StepRefused: [
    { key: 'k', failure },
    { step, failure },
  ],
  ListTaken: [
    { key: 'k', items: encode([due], 'items') },
    { step, items: [due] },
  ],
  StateMoved: [
    { by: 1, state: payload, options: payload },
    { by: 1, state: value },
  ],
  RunCompleted: [
    { value: payload, notBegun: ['a'] },
    { output: value, notBegun: ['a'], cutOff: [] },
  ],
  RunFailed: [
    { failure, undone: { failures: [failure] } },
    { failure, compensationFailures: [failure] },
  ],
  RunCancelled: [{ reason: 'why' }, { reason: 'why' }],
  RunContinued: [{}, {}],
  GenerationBegan: [
    { reason: 'forked', input: payload, from: 'r', again: ['k'], keysOf: 1, parsed: true },
    { reason: 'forked', input: value, attempt: 1, forkedFrom: 'r' },
  ],
}

test.each(Object.entries(samples))('house: %s is told as it is described', (type, [stored, said]) => {
  const event = { ...stored, type, at } as Event
  const body = encodeTurn({ build: 'b', events: [event] })
  expect(publicEvents({ seq: 6, count: 1, body, turnId: 1, epoch: 1 })).toEqual([{ seq: 7, at: due, type, ...said }])
})

test('house: the page about histories has every event', () => {
  const page = readFileSync(new URL('../../../docs/reference/history.md', import.meta.url), 'utf8')
  const types = ['RunStarted', ...Object.keys(samples)]
  expect(types.filter((type) => !page.includes(`| \`${type}\` |`))).toEqual([])
})
