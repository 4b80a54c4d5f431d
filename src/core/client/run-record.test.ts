import { expect, test } from 'vitest'
import { answerOf } from './run-record.ts'

test.each([
  [{}, 'UPDATE_FAILED', 'the update failed: too late'],
  [{ rejected: true }, 'UPDATE_REJECTED', 'the update was rejected: too late'],
] as const)('api D11: an update that was not done says so: %o', (how, code, message) => {
  const failure = { type: 'Error', message: 'too late', retryable: true }
  const event = { type: 'UpdateFailed', id: 'u', failure, at: 0, ...how } as const
  expect(() => answerOf([event], 'u')).toThrow(expect.objectContaining({ code, message }))
})
