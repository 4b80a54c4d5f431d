import { expect, test } from 'vitest'
import { Bus } from '../telemetry/announcement.ts'
import type { WorkerContext } from './context.ts'
import { HeldTask } from './held-task.ts'
import { Slots } from './slots.ts'

test('a task whose notes cannot be read is run, and ends: nobody waits for an answer that does not come', async () => {
  const context = {
    settings: { code: 'b' },
    slots: new Slots(1),
    session: { alive: true },
    registry: { activity: () => ({ handler: () => 1 }) },
    aroundBodies: [],
    bus: new Bus(),
    line: { send: () => Promise.reject(new Error('the store is away')) },
  } as unknown as WorkerContext
  const retry = { maxAttempts: 3 }
  const body = JSON.stringify({ key: 'k', generation: 1, workflowId: 'w', retry, awaited: true })
  const lease = { session: 1, nonce: 1, epoch: 1 }
  const about = { taskId: 't', runId: 'r', name: 'n', body, lease, failed: 0, deliveries: 1 }
  expect(await new HeldTask(context, about).run()).toMatchObject({ result: { type: 'done' } })
})
