// What a step body does with other runs. A body may run more than once: its calls are told apart by their order, so that what
// an earlier attempt has done is not done again.
import type { ActivityClient } from '../definitions/contract.ts'
import { deriveUuid } from '../kernel/digest.ts'
import type { Client } from './client.ts'

/** `key` is the same for every attempt at the step. */
export function activityClient(client: Pick<Client, 'start' | 'get'>, key: string): ActivityClient {
  let calls = 0
  const nextId = (): string => deriveUuid('activity client', key, String(++calls))
  return {
    async start(workflow, ...[input, options = {}]) {
      const own = nextId()
      const isNamed = options.workflowId !== undefined || options.idempotencyKey !== undefined
      const named = isNamed ? options : { ...options, idempotencyKey: own }
      const run = await client.start(workflow, input as never, named)
      return { runId: run.runId, workflowId: run.workflowId, isNew: run.isNew }
    },
    async signal(run, signal, ...[payload, options = {}]) {
      const messageId = options.messageId ?? nextId()
      await client.get(run).signal(signal as never, payload, { messageId })
    },
    cancel: (run, reason) => client.get(run).cancel(reason),
  }
}
