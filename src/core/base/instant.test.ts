import { expect, test } from 'vitest'
import { instantOf } from './time.ts'

test.each([
  [new Date(5), 5],
  [0, 0],
  [-0, 0],
  [-0.5, 0],
  [1.2, 2],
  [8.64e15, 8.64e15],
  [-8.64e15, -8.64e15],
])('%s is an instant', (given, instant) => {
  expect(instantOf(given, 'it')).toBe(instant)
})

test.each([1e18, 8.64e15 + 1, -8.64e15 - 1, Number.NaN, Infinity, new Date(Number.NaN)])('%s is none', (given) => {
  expect(() => instantOf(given, 'runAt')).toThrow(
    expect.objectContaining({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/^runAt is .*; expected a Date, or milliseconds/),
    }),
  )
})

test.each([undefined, {}, 'tomorrow'])('%s is not even a time', (given) => {
  expect(() => instantOf(given as unknown as Date, 'it')).toThrow(/it is not a valid Date/)
})
