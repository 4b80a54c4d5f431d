import { expect, test } from 'vitest'
import { AssertionFailure, assert, unreachable } from './assert.ts'
import { ActivityError, CancelledError, PawlError, PermanentError, RetryableError, RunError } from './errors.ts'
import type { Failure } from './failure.ts'

const failure: Failure = { type: 'Declined', message: 'no funds', retryable: false }

test('every class is an Error with its own name, also in its stack', () => {
  const errors = {
    PawlError: new PawlError('RUN_NOT_FOUND', 'm'),
    ActivityError: new ActivityError({ failure, activity: 'a', attempts: 1, reason: 'timeout' }),
    RunError: new RunError({ failure, runId: 'r' }),
    CancelledError: new CancelledError(),
    RetryableError: new RetryableError('m'),
    PermanentError: new PermanentError('m'),
  }
  for (const [name, error] of Object.entries(errors)) {
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe(name)
    expect(error.stack).toMatch(new RegExp(`^${name}: `))
    expect(Object.keys(error)).not.toContain('name')
  }
})

test('a PawlError carries its code, its details and its cause', () => {
  const cause = new Error('why')
  const error = new PawlError('INPUT_INVALID', 'bad', { details: { a: 1 }, cause })
  expect([error.code, error.details, error.cause]).toEqual(['INPUT_INVALID', { a: 1 }, cause])
  expect(Object.keys(new PawlError('INPUT_INVALID', 'bad'))).toEqual(['code'])
})

test('an ActivityError tells which activity, how often and why', () => {
  const fields = { failure, activity: 'charge', attempts: 3, reason: 'exhausted' } as const
  const error = new ActivityError(fields)
  expect(error).toMatchObject(fields)
  expect(error.message).toBe("activity 'charge' failed after 3 attempts (exhausted): Declined: no funds")
})

test('a RunError tells which run, and what else failed', () => {
  const error = new RunError({ failure, runId: 'r1', compensationFailures: [failure] })
  expect(error.message).toBe("run 'r1' failed: Declined: no funds")
  expect(error.compensationFailures).toEqual([failure])
  expect(new RunError({ failure, runId: 'r1' }).compensationFailures).toEqual([])
})

test('what was not given is not there', () => {
  expect(Object.keys(new CancelledError())).toEqual([])
  expect(new CancelledError('user').reason).toBe('user')
  expect(new CancelledError('user').message).toBe('cancelled: user')
  expect(Object.keys(new RetryableError('m'))).toEqual([])
  expect(new RetryableError('m', { after: '5s' }).after).toBe('5s')
  expect(new PermanentError('m', { details: 1, cause: 2 })).toMatchObject({ details: 1, cause: 2 })
})

test('assertions throw what is plainly a bug in pawl', () => {
  expect(() => assert(true, 'fine')).not.toThrow()
  expect(() => assert(0, 'zero')).toThrow(AssertionFailure)
  expect(() => assert(false, 'x is set')).toThrow('pawl assertion failed: x is set')
  expect(() => unreachable({ type: 'new' } as never)).toThrow('unexpected {"type":"new"}')
  expect(() => unreachable(1n as never)).toThrow('unexpected bigint')
})
