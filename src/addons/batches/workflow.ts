// A batch with a kept preview is a run of this workflow. Its input is the list of runs as they were shown, which nothing
// changes any more. It waits to be started, and then works through the list in chunks: each chunk is a step, so a batch
// that is cut off continues where it was.

import type { OwnActivityClient } from '../../activity-client.ts'
import { defined } from '../../core/base/defined.ts'
import { deriveUuid } from '../../core/base/digest.ts'
import { limits } from '../../core/base/limits.ts'
import { BATCH, type RunHandle, signal, TIMEOUT, workflow } from '../../core/index.ts'
import { type BatchOutcome, onEach } from './batch.ts'

/** What is done to each run, with its arguments. */
export type BatchAct =
  | { readonly operation: 'cancel' | 'terminate' | 'pause' | 'resume' | 'retry' }
  | { readonly operation: 'reset'; readonly step: string }
  | {
      readonly operation: 'migrate'
      readonly definitionHash: string
      readonly steps?: Readonly<Record<string, string | null>>
    }
  | { readonly operation: 'signal'; readonly name: string; readonly payload?: unknown }

export interface BatchPlan {
  readonly act: BatchAct
  readonly runIds: readonly string[]
  /** Of `retry` and `reset`: the generations of the runs as they were shown. */
  readonly generations?: readonly number[]
  readonly reason?: string
}

export const start = signal('start')

/** The queue of pawl's own workflows is that of schedules, which every worker serves. */
export const batchWorkflow = workflow(
  BATCH,
  { queue: 'pawl.schedules', pin: false },
  async (ctx, { act, runIds, generations, reason }: BatchPlan): Promise<BatchOutcome | undefined> => {
    const expired = (await ctx.wait(start, { timeout: limits.batchPreviewMs })) === TIMEOUT
    if (expired) return undefined
    const failures: BatchOutcome['failures'][number][] = []
    let done = 0
    ctx.setAttributes({ started: true })
    for (let at = 0; at < runIds.length; at += limits.batchChunk) {
      const chunk = runIds.slice(at, at + limits.batchChunk)
      const failed = await ctx.run('chunk', (step) => {
        const client = step.client as OwnActivityClient
        return onEach(chunk, (runId, index) => {
          const id = deriveUuid(ctx.info.runId, runId)
          return doTo(client.get(runId), act, { reason, id, generation: generations?.[at + index] })
        })
      })
      done += chunk.length - failed.length
      failures.push(...failed)
      ctx.setAttributes({ done, failed: failures.length })
    }
    return { matched: runIds.length, done, failures: failures.slice(0, limits.batchFailuresKept) }
  },
)

/** A chunk may run more than once, so each act has the same effect the second time. */
async function doTo(
  run: RunHandle<unknown>,
  act: BatchAct,
  {
    reason,
    id,
    generation,
  }: { readonly reason: string | undefined; readonly id: string; readonly generation: number | undefined },
): Promise<void> {
  // It has begun again since, by this chunk or by hand: a run that has failed again is not the one that was shown.
  if (generation !== undefined && (await run.describe()).generation > generation) return
  switch (act.operation) {
    case 'cancel':
      return run.cancel(reason)
    case 'terminate':
      return run.terminate(reason ?? 'terminated in a batch')
    case 'pause':
      return run.pause(reason)
    case 'resume':
      return run.resume()
    case 'retry':
      return run.retry()
    case 'reset':
      return run.reset({ step: act.step })
    case 'migrate':
      return run.migrate(defined({ definitionHash: act.definitionHash, steps: act.steps }))
    case 'signal':
      return run.signal(signal<unknown>(act.name), act.payload, { messageId: id })
  }
}
