// `ctx.info` and `ctx.log`: what the code can read about its run, and how it logs.

import { limits } from '../../base/limits.ts'
import { decode } from '../../base/value.ts'
import type { RunInfo } from '../../definitions/context.ts'
import type { Log } from '../../definitions/contract.ts'
import type { FunctionExecution } from './execution.ts'

export function runInfo(execution: FunctionExecution): RunInfo {
  const { head, workflow } = execution
  const { memo: kept } = head.extras
  const memo = kept ? (decode(kept) as Record<string, unknown>) : {}
  return {
    runId: head.runId,
    workflowId: head.workflowId,
    name: head.name,
    definitionHash: workflow.definitionHash,
    generation: head.generation,
    attempt: head.attempt ?? 1,
    ...(head.parent && { parent: { runId: head.parent.runId } }),
    memo,
    get attributes() {
      return execution.attributes.current
    },
    queue: head.queue,
    priority: head.priority,
    startedAt: head.createdAt,
    get suggestsContinue() {
      return execution.delivered >= limits.continueSuggestedEvents
    },
    get historyEvents() {
      return execution.delivered
    },
  }
}

export function logOf(execution: FunctionExecution): Log {
  const at =
    (level: keyof Log) =>
    (message: string, fields?: object): void =>
      execution.log({ level, message: String(message), ...(fields && { fields }) })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
