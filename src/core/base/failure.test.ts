import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ActivityError, CancelledError, PawlError, PermanentError, RetryableError, RunError } from './errors.ts'
import { errorOf, type Failure, failureOf, retryAfter } from './failure.ts'
import { limits } from './limits.ts'

test('an error becomes its type, message, code, stack and cause', () => {
  const error = Object.assign(new TypeError('no', { cause: new Error('deep') }), { code: 'E_NO' })
  expect(failureOf(error)).toEqual({
    type: 'TypeError',
    message: 'no',
    code: 'E_NO',
    retryable: true,
    stack: error.stack,
    cause: { type: 'Error', message: 'deep', retryable: true, stack: expect.any(String) },
  })
})

class Declined extends Error {}
class Named extends Error {
  override readonly name = 'CardNamed'
}
class Refused extends PermanentError {}
const renamed = Object.assign(new Error('x'), { name: 'Renamed' })

test.each<[string, unknown, string]>([
  ['the class of an error', new RangeError('x'), 'RangeError'],
  ['the class where the name is inherited', new Declined('x'), 'Declined'],
  ['the class below one of ours', new Refused('x'), 'Refused'],
  ['a name given by the class', new Named('x'), 'CardNamed'],
  ['a name given to the error', renamed, 'Renamed'],
  ['the name of a DOMException', new DOMException('x', 'AbortError'), 'AbortError'],
  ['one of ours', new PawlError('TRY_LATER', 'x'), 'PawlError'],
  ['the name of an object', { name: 'Odd', message: 'x' }, 'Odd'],
  ['an error without a class', Object.setPrototypeOf(new Error('x'), null), 'Error'],
])('the type is %s', (_, error, type) => {
  expect(failureOf(error)).toMatchObject({ type, message: 'x' })
})

test.each<[string, unknown, string]>([
  ['a string', 'boom', 'boom'],
  ['an empty string', '', ''],
  ['null', null, 'null was thrown'],
  ['undefined', undefined, 'undefined was thrown'],
  ['a number', 5, '5 was thrown'],
  ['a bigint', 5n, '5 was thrown'],
  ['a symbol', Symbol('s'), 'Symbol(s) was thrown'],
  ['a function', () => 1, 'a function was thrown'],
  ['an object', { a: 1 }, '{"a":1}'],
  ['an object that is no data', { a: () => 1 }, 'a value of type object was thrown'],
])('%s may be thrown', (_, thrown, message) => {
  expect(failureOf(thrown)).toEqual({ type: 'NonError', message, retryable: true })
})

test('a code may be a number; anything else is left out', () => {
  expect(failureOf(Object.assign(new Error('x'), { code: 404 })).code).toBe('404')
  expect(failureOf(Object.assign(new Error('x'), { code: {} }))).not.toHaveProperty('code')
})

test('getters, proxies and messages that fight back do no harm', () => {
  const thrower = new Error('x')
  for (const key of ['name', 'message', 'stack', 'code', 'cause', 'details', 'constructor']) {
    Object.defineProperty(thrower, key, {
      get() {
        throw new Error('trap')
      },
    })
  }
  expect(failureOf(thrower)).toMatchObject({ type: 'Error', retryable: true })
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  expect(failureOf(proxy)).toMatchObject({ type: 'NonError', retryable: true })
  const odd = Object.assign(new Error('x'), { message: { not: 'text' }, stack: 5 })
  expect(failureOf(odd)).toEqual({ type: 'Error', message: '{"not":"text"}', retryable: true })
})

test('causes that go round, or on and on, end', () => {
  const a = new Error('a')
  const b = new Error('b', { cause: a })
  a.cause = b
  expect(depthOf(failureOf(a))).toBe(1)
  let chain: unknown
  for (let level = 0; level < 1000; level++) chain = new Error(`${level}`, { cause: chain })
  expect(depthOf(failureOf(chain))).toBe(limits.causeDepthMax)
})

test('a cause may be anything', () => {
  expect(failureOf(new Error('a', { cause: 'b' })).cause?.message).toBe('b')
  expect(failureOf(new Error('a', { cause: null }))).not.toHaveProperty('cause')
})

test('message, stack, name and code are cut at their limits, between characters', () => {
  const error = Object.assign(new Error('🦆'.repeat(20_000)), { code: 'c'.repeat(1000) })
  error.name = 'n'.repeat(1000)
  error.stack = 's'.repeat(100_000)
  const failure = failureOf(error)
  expect(failure.message.length).toBe(limits.messageLengthMax)
  expect(failure.message.isWellFormed()).toBe(true)
  expect(failure.stack?.length).toBe(limits.stackLengthMax)
  expect(failure.type.length).toBe(limits.nameLengthMax)
  expect(failure.code?.length).toBe(limits.nameLengthMax)
})

test('details are kept as JSON, or left out with the reason', () => {
  const detailsOf = (details: unknown) => failureOf(new PermanentError('x', { details })).details
  expect(detailsOf({ at: new Date(0) })).toEqual({ at: '1970-01-01T00:00:00.000Z' })
  expect(detailsOf({ f: () => 1 })).toMatch(/^left out: details at f is a function/)
  expect(detailsOf('x'.repeat(100_000))).toMatch(/^left out: 100002 characters/)
})

test('an AggregateError names its errors; the first is its cause', () => {
  const many = Array.from({ length: 50 }, (_, index) => new TypeError(`e${index}`))
  const failure = failureOf(new AggregateError(many, 'all failed'))
  expect(failure).toMatchObject({ type: 'AggregateError', message: 'all failed' })
  expect(failure.cause).toMatchObject({ type: 'TypeError', message: 'e0' })
  const details = failure.details as { errors: unknown[]; count: number }
  expect([details.errors.length, details.count]).toEqual([10, 50])
  expect(details.errors[1]).toEqual({ type: 'TypeError', message: 'e1' })
  const self = new AggregateError([], 'self')
  for (let times = 0; times < 10; times++) self.errors.push(self)
  expect(failureOf(self).message).toBe('self')
})

const inner: Failure = { type: 'Declined', message: 'no funds', retryable: false }
const fields = { failure: inner, activity: 'a', attempts: 1, reason: 'non-retryable' } as const
const again = { ...inner, retryable: true }

test.each<[string, unknown, boolean]>([
  ['an error', new Error('x'), true],
  ['a RetryableError', new RetryableError('x'), true],
  ['a PermanentError', new PermanentError('x'), false],
  ['a class below it', new Refused('x'), false],
  ["another copy's PermanentError", Object.assign(new Error(), { name: 'PermanentError' }), false],
  ['a mistake in the program', new PawlError('NOT_SERIALISABLE', 'x'), false],
  ['a store that is away', new PawlError('STORE_UNAVAILABLE', 'x'), true],
  ['a cancellation', new CancelledError(), false],
  ['an activity given up on for good', new ActivityError(fields), false],
  ['an activity that ran out', new ActivityError({ ...fields, failure: again }), true],
  ['a run that failed for good', new RunError({ failure: inner, runId: 'r' }), false],
])('whether %s is retryable', (_, error, retryable) => {
  expect(failureOf(error).retryable).toBe(retryable)
})

test('wrapping errors keep what they wrap as the cause, within the same bound', () => {
  expect(failureOf(new ActivityError(fields)).cause).toEqual(inner)
  expect(failureOf(new RunError({ failure: inner, runId: 'r' })).cause).toEqual(inner)
  expect(failureOf(new CancelledError('x', { cause: new Error('y') })).cause?.message).toBe('y')
  let nested: Failure = inner
  for (let level = 0; level < 30; level++) {
    nested = failureOf(new RunError({ failure: nested, runId: `${level}` }))
  }
  expect(depthOf(nested)).toBe(limits.causeDepthMax)
})

test('a RetryableError may say how long to wait', () => {
  expect(retryAfter(new RetryableError('x', { after: '5s' }))).toBe(5000)
  expect(retryAfter(new RetryableError('x', { after: 7 }))).toBe(7)
  expect(retryAfter(new RetryableError('x'))).toBeUndefined()
  expect(retryAfter(new RetryableError('x', { after: -7 }))).toBeUndefined()
  expect(retryAfter(new Error('x'))).toBeUndefined()
  expect(retryAfter(null)).toBeUndefined()
})

test('a failure becomes an error again', () => {
  const failure: Failure = {
    type: 'Declined',
    message: 'no funds',
    code: 'E_FUNDS',
    retryable: false,
    details: { limit: 5 },
    stack: 'Declined: no funds\n    at charge (shop.ts:1:1)',
    cause: { type: 'Error', message: 'deep', retryable: true },
  }
  const error = errorOf(failure)
  expect(error).toBeInstanceOf(Error)
  expect(error).toMatchObject({ name: 'Declined', message: 'no funds', stack: failure.stack })
  expect(error).toMatchObject({ code: 'E_FUNDS', details: { limit: 5 } })
  expect(error.cause).toMatchObject({ name: 'Error', message: 'deep', stack: 'Error: deep' })
  expect(Object.keys(error)).toEqual(['code', 'details'])
  expect((error as { details?: unknown }).details).not.toBe(failure.details)
  expect(failureOf(error)).toEqual({
    ...failure,
    cause: { ...failure.cause, stack: 'Error: deep' },
  })
})

test('a damaged failure becomes an error all the same', () => {
  for (const damaged of [null, undefined, 5, {}, { type: {}, cause: 'x' }, { message: null }]) {
    expect(errorOf(damaged as unknown as Failure)).toBeInstanceOf(Error)
  }
  const endless = { type: 'E', message: 'm', retryable: true, cause: undefined as unknown }
  endless.cause = endless
  expect(errorOf(endless as Failure)).toBeInstanceOf(Error)
})

test('anything thrown gives a bounded failure that survives the store', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (thrown) => {
      for (const error of [thrown, new Error('x', { cause: thrown })]) {
        const failure = failureOf(error)
        expect(JSON.parse(JSON.stringify(failure))).toEqual(failure)
        expect(failureOf(errorOf(failure))).toMatchObject({ message: failure.message })
      }
    }),
  )
})

function depthOf(failure: Failure): number {
  return failure.cause === undefined ? 0 : 1 + depthOf(failure.cause)
}
