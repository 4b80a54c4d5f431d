import { expect, test } from 'vitest'
import { limits } from '../base/limits.ts'
import {
  decodeMessage,
  decodePayload,
  decodeTurn,
  decodeVersioned,
  encodeMessage,
  encodePayload,
  encodeTurn,
} from './codec.ts'
import type { Event } from './event.ts'
import type { Message } from './message.ts'

const events: Event[] = [
  { type: 'StepStarted', kind: 'step', key: 'step:a#1', after: 0, name: 'a', at: 5 },
  { type: 'RunCompleted', value: { json: { text: '\u0000 ü 🦆' } }, at: 6 },
]

test('a turn is text a person can read, with its version and its build, and back', () => {
  const text = encodeTurn({ build: 'b1', events })
  expect(JSON.parse(text)).toEqual({ version: 1, build: 'b1', events })
  expect(decodeTurn(text)).toEqual({ build: 'b1', events })
  // Stores join texts by control characters.
  expect(/\p{Cc}/u.test(text)).toBe(false)
})

test('a turn in a newer format is refused, and says what to do', () => {
  const text = JSON.stringify({ version: 2, build: 'b', events: [] })
  expect(() => decodeTurn(text)).toThrow(
    expect.objectContaining({
      code: 'SCHEMA_TOO_NEW',
      message: expect.stringMatching(/format 2.*up to 1.*Upgrade pawl/),
    }),
  )
})

test('older formats are lifted step by step to the current one', () => {
  const lifts = {
    1: (body: { events: unknown[] }) => ({ ...body, events: [...body.events, 'from 1'] }),
    2: (body: { events: unknown[] }) => ({ ...body, events: [...body.events, 'from 2'] }),
  }
  const text = (version: number): string => JSON.stringify({ version, build: 'b', events: ['e'] })
  expect(decodeVersioned(text(1), lifts, 3)).toEqual({
    build: 'b',
    events: ['e', 'from 1', 'from 2'],
  })
  expect(decodeVersioned(text(2), lifts, 3)).toEqual({ build: 'b', events: ['e', 'from 2'] })
  expect(decodeVersioned(text(3), lifts, 3)).toEqual({ build: 'b', events: ['e'] })
  expect(() => decodeVersioned(text(0), lifts, 3)).toThrow(/no way to read history format 0/)
})

test('a turn that is too large is refused with advice', () => {
  const value = { json: 'x'.repeat(limits.turnBytesMax) }
  const huge: Event[] = [{ type: 'RunCompleted', value, at: 1 }]
  expect(() => encodeTurn({ build: 'b', events: huge })).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }))
})

test.each<Message>([
  { type: 'signal', id: 'm', name: 'go', payload: { json: [1, null], notes: [['undefined', 1]] } },
  { type: 'cancel', id: 'c', reason: 'why' },
  { type: 'cancel', id: 'c' },
  { type: 'nudge', id: 'n' },
  { type: 'discard', id: 'd', message: 'm', note: 'why' },
  {
    type: 'taskEnded',
    id: 't',
    generation: 2,
    key: 'k',
    outcome: { ok: true, attempt: 1, value: { json: 1 } },
  },
])('a $type message goes there and back', (message) => {
  const text = encodeMessage(message)
  expect(JSON.parse(text)).toMatchObject({ version: 1 })
  expect(decodeMessage(text)).toEqual(message)
})

test('a message in a newer format is refused', () => {
  const text = JSON.stringify({ version: 2, type: 'nudge', id: 'n' })
  expect(() => decodeMessage(text)).toThrow(expect.objectContaining({ code: 'SCHEMA_TOO_NEW' }))
})

test('a payload goes there and back with its notes', () => {
  const payload = { json: { a: null }, notes: [['undefined', 'a']] as const }
  expect(decodePayload(encodePayload(payload))).toEqual(payload)
})
