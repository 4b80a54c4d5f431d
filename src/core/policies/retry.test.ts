import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { limits } from '../base/limits.ts'
import { backoffMs, givesUp, type RetrySettings, retryRule } from './retry.ts'

const failure = { type: 'Declined', message: 'no', retryable: true }

describe('R1 defaults', () => {
  test('five attempts, a second, twice as long each time, at most a minute, a tenth of jitter', () => {
    const rule = {
      maxAttempts: 5,
      initialMs: 1_000,
      maxMs: 60_000,
      factor: 2,
      jitter: 0.1,
      curve: 'exponential',
      nonRetryable: [],
    }
    expect(retryRule(undefined)).toEqual(rule)
    expect(retryRule({})).toEqual(rule)
    expect(retryRule('exponential')).toEqual(rule)
  })

  test('each setting can be changed alone', () => {
    const settings: RetrySettings = {
      maxAttempts: 9,
      initial: '2s',
      max: '1h',
      factor: 3,
      jitter: 0,
      nonRetryable: ['Declined'],
    }
    expect(retryRule(settings)).toEqual({
      maxAttempts: 9,
      initialMs: 2_000,
      maxMs: 3_600_000,
      factor: 3,
      jitter: 0,
      curve: 'exponential',
      nonRetryable: ['Declined'],
    })
  })
})

describe('presets', () => {
  test('none tries once', () => {
    expect(givesUp(retryRule('none'), failure, 1)).toBe('exhausted')
  })

  test('quadraticMinutes waits one, then four minutes, and then gives up (R4)', () => {
    const rule = retryRule('quadraticMinutes')
    expect([1, 2].map((attempt) => backoffMs(rule, attempt, 0.5))).toEqual([60_000, 240_000])
    expect([1, 2, 3].map((attempt) => givesUp(rule, failure, attempt))).toEqual([undefined, undefined, 'exhausted'])
  })

  test('an unknown one is refused with the known', () => {
    expect(() => retryRule('sometimes' as 'none')).toThrow(
      expect.objectContaining({
        code: 'DEFINITION_INVALID',
        message: expect.stringMatching(/'sometimes'.*'none', 'exponential', 'quadraticMinutes'/),
      }),
    )
  })
})

describe('pauses', () => {
  test('double until they reach the longest', () => {
    const rule = retryRule({ maxAttempts: 20 })
    const pauses = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => backoffMs(rule, attempt, 0.5))
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  })

  test('are never further from their middle than the jitter says', () => {
    fc.assert(
      fc.property(
        fc.record({
          attempt: fc.integer({ min: 1, max: limits.retryAttemptsMax }),
          fraction: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          jitter: fc.double({ min: 0, max: 1, noNaN: true }),
          factor: fc.double({ min: 1, max: 1_000, noNaN: true }),
        }),
        ({ attempt, fraction, jitter, factor }) => {
          const rule = retryRule({ jitter, factor })
          const middle = backoffMs({ ...rule, jitter: 0 }, attempt, 0)
          const pause = backoffMs(rule, attempt, fraction)
          expect(Number.isSafeInteger(pause)).toBe(true)
          expect(Math.abs(pause - middle)).toBeLessThanOrEqual(middle * jitter + 1)
          expect(pause).toBeGreaterThanOrEqual(0)
        },
      ),
    )
  })

  test('of attempt numbers beyond counting stay at the longest', () => {
    const rule = retryRule({ jitter: 0, factor: 1_000 })
    expect(backoffMs(rule, limits.retryAttemptsMax, 0.5)).toBe(60_000)
  })
})

describe('giving up', () => {
  const rule = retryRule({ maxAttempts: 3, nonRetryable: ['Declined'] })

  test('on failures that are not to be tried again, at once', () => {
    expect(givesUp(rule, failure, 1)).toBe('non-retryable')
    expect(givesUp(retryRule({}), { ...failure, retryable: false }, 1)).toBe('non-retryable')
  })

  test.each(['TypeError', 'ReferenceError', 'SyntaxError'])(
    'R5 on a %s at once: it is a mistake in the code, unless it has a cause or the policy asks for a retry',
    (type) => {
      const mistake = { ...failure, type }
      expect(givesUp(retryRule({}), mistake, 1)).toBe('non-retryable')
      expect(givesUp(retryRule({ nonRetryable: ['Busy'] }), mistake, 1)).toBe('non-retryable')
      // As `fetch` throws it.
      expect(givesUp(retryRule({}), { ...mistake, cause: failure }, 1)).toBeUndefined()
      for (const retryable of [[type], ['*']]) expect(givesUp(retryRule({ retryable }), mistake, 1)).toBeUndefined()
    },
  )

  test('R1 never, if the attempts have no end', () => {
    const endless = retryRule({ maxAttempts: Number.POSITIVE_INFINITY })
    expect(givesUp(endless, failure, 1_000_000_000)).toBeUndefined()
    // As it is after it has travelled with a task.
    expect(JSON.parse(JSON.stringify(endless))).toEqual(endless)
  })

  test('on others when the attempts are used up', () => {
    const other = { ...failure, type: 'Busy' }
    expect([1, 2, 3, 4].map((attempt) => givesUp(rule, other, attempt))).toEqual([
      undefined,
      undefined,
      'exhausted',
      'exhausted',
    ])
  })
})

test.each<[RetrySettings, RegExp]>([
  [{ maxAttempts: 0 }, /maxAttempts is 0/],
  [{ maxAttempts: 1.5 }, /maxAttempts is 1.5/],
  [{ maxAttempts: limits.retryAttemptsMax + 1 }, /maxAttempts/],
  [{ factor: 0.5 }, /factor is 0.5/],
  [{ factor: Number.NaN }, /factor is NaN/],
  [{ jitter: -0.1 }, /jitter/],
  [{ jitter: 1.1 }, /jitter/],
])('%j is refused', (settings, message) => {
  expect(() => retryRule(settings)).toThrow(
    expect.objectContaining({
      code: 'DEFINITION_INVALID',
      message: expect.stringMatching(message),
    }),
  )
})

test('durations that make no sense are refused by name', () => {
  expect(() => retryRule({ initial: -1 })).toThrow(/retry\.initial/)
  expect(() => retryRule({ max: 'soon' as '1s' })).toThrow(/retry\.max/)
})
