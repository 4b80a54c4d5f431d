import { expect, test } from 'vitest'
import { HeldTask } from './held-task.ts'
import type { StepRunner } from './step-runner.ts'

test('a task whose notes cannot be read is run, and ends: nobody waits for an answer that does not come', async () => {
  const outcome = { ok: true, attempt: 1, value: { json: 1 } }
  const running = {
    result: Promise.resolve({ type: 'ended', outcome }),
    begun: () => true,
    abort: () => {},
    cancel: () => {},
  }
  const runner = {
    rulesOf: () => ({}),
    activity: () => ({}),
    start: () => running,
    isCancelled: () => Promise.reject(new Error('the store is away')),
  } as unknown as StepRunner
  const retry = { maxAttempts: 3 }
  const body = JSON.stringify({ key: 'k', generation: 1, workflowId: 'w', retry, awaited: true })
  const lease = { session: 1, nonce: 1, epoch: 1 }
  const about = { taskId: 't', runId: 'r', name: 'n', body, lease, failed: 0, deliveries: 1 }
  expect(await new HeldTask(about, runner).run()).toMatchObject({ result: { type: 'done' } })
})
