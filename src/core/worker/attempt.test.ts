import { expect, test } from 'vitest'
import { PawlError } from '../base/errors.ts'
import { retryRule } from '../policies/retry.ts'
import type { AttemptOf } from './activity-context.ts'
import { Attempt } from './attempt.ts'
import type { WorkerContext } from './context.ts'

const of: AttemptOf = {
  ...{ runId: 'r', generation: 1, key: 'activity:pay#1', name: 'pay', attempt: 2 },
  ...{ workflowId: 'w', keysOf: 1, chapter: 1, queue: 'default', priority: 0, readyAt: undefined },
  trace: { runId: 'r', generation: 1 },
  ...{ startToCloseMs: undefined, heartbeatMs: undefined, closeBy: undefined },
  lease: { session: 1, epoch: 1, nonce: 1 },
  retry: retryRule({ maxAttempts: 3, jitter: 0 }),
}

function contextThat(send: () => Promise<never>): WorkerContext {
  const slots = { run: (work: () => Promise<void>) => void work() }
  const context = { slots, session: { alive: true }, line: { send }, random: { fraction: () => 0 } }
  return context as unknown as WorkerContext
}

test('an attempt that cannot read the notes of earlier ones fails, and does not call its body', async () => {
  const context = contextThat(async () => {
    throw new PawlError('STORE_REFUSED', 'the store refuses to read notes')
  })
  let called = false
  const body = (): void => {
    called = true
  }
  const attempt = new Attempt(context, of, { kind: 'activity', body } as never)
  expect(await attempt.result).toMatchObject({
    type: 'retry',
    attempt: 2,
    failure: { message: 'the store refuses to read notes' },
  })
  expect(called).toBe(false)
})
