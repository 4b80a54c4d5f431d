// `ctx.client` of step bodies: starts, signals and cancels other runs. A body may run more than once, so every call
// gets an id that a later attempt derives again: from the step, the call, and how often the same call was made before.

import type { Passes } from './addons/retention/sweep.ts'
import { deriveUuid, digestPayload } from './core/base/digest.ts'
import { encode } from './core/base/value.ts'
import type { ActivityClient, Client, RunHandle, RunRef } from './core/index.ts'

/** What steps of pawl's own workflows can do besides. */
export interface OwnActivityClient extends ActivityClient {
  get(run: RunRef): RunHandle<unknown>
  readonly retention: Passes
}

/** `key` is the same for every attempt of the step. */
export function activityClient(
  client: Pick<Client, 'start' | 'get'> & { readonly retention: Passes },
  key: string,
): OwnActivityClient {
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
    get: (run) => client.get(run),
    retention: client.retention,
    cancel: (run, reason) => client.get(run).cancel(reason),
  }
}
