// What a step body does with other runs. A body may run more than once: the same call made as often as before is the same call,
// so that what an earlier attempt has done is not done again, whatever else it did.

import { deriveUuid, digestPayload } from '../base/digest.ts'
import { encode } from '../base/value.ts'
import type { ActivityClient } from '../definitions/contract.ts'
import type { Client } from './client.ts'

/** `key` is the same for every attempt at the step. */
export function activityClient(client: Pick<Client, 'start' | 'get'>, key: string): ActivityClient {
  const made = new Map<string, number>()
  const idOf = (value: unknown, ...call: string[]): string => {
    const same = JSON.stringify([...call, digestPayload(encode(value, 'the payload'))])
    const times = (made.get(same) ?? 0) + 1
    made.set(same, times)
    return deriveUuid('activity client', key, same, String(times))
  }
  return {
    async start(workflow, ...[input, options = {}]) {
      const own = idOf(input, 'start', workflow.name, options.workflowId ?? '')
      const run = await client.start(workflow, input as never, { idempotencyKey: own, ...options })
      return { runId: run.runId, workflowId: run.workflowId, isNew: run.isNew }
    },
    async signal(run, signal, ...[payload, options = {}]) {
      const to = typeof run === 'string' ? run : `id:${run.workflowId}`
      const own = idOf(payload, 'signal', to, signal.name)
      await client.get(run).signal(signal as never, payload, { messageId: own, ...options })
    },
    cancel: (run, reason) => client.get(run).cancel(reason),
  }
}
