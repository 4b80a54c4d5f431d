import { expect, expectTypeOf, test } from 'vitest'
import { defined } from './defined.ts'

interface Cancel {
  readonly type: 'cancel'
  readonly reason?: string
  readonly tags?: readonly string[]
}

function cancel(reason: string | undefined, tags?: readonly string[]): Cancel {
  return defined({ type: 'cancel', reason, tags })
}

test('a property that is undefined is absent', () => {
  expect(Object.keys(cancel(undefined))).toEqual(['type'])
  expect(cancel('late', ['a'])).toEqual({ type: 'cancel', reason: 'late', tags: ['a'] })
})

test('every other empty value stays, and the order of the properties', () => {
  const fields = { none: null, no: false, zero: 0, text: '', gone: undefined, last: 1 }
  expect(Object.entries(defined(fields))).toEqual([
    ['none', null],
    ['no', false],
    ['zero', 0],
    ['text', ''],
    ['last', 1],
  ])
  expect(fields).toHaveProperty('gone')
})

test('the type makes optional what may be undefined, and keeps the rest', () => {
  const made = defined({ type: 'cancel', reason: undefined as string | undefined })
  expectTypeOf(made).toExtend<Cancel>()
  expectTypeOf<{ type: 'cancel' }>().toExtend<typeof made>()
  expectTypeOf<{ reason: string }>().not.toExtend<typeof made>()
})
