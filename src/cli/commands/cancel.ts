import type { Command } from 'commander'
import { type CommonOptions, commandOnRun } from '../options.ts'
import { runOperation } from '../run-operation.ts'

interface Options extends CommonOptions {
  readonly reason?: string
}

export function cancelCommand(): Command {
  const command = commandOnRun('cancel', 'cancel a run and its children').option(
    '--reason <text>',
    'the reason, recorded in the history',
  )
  return runOperation<Options>(command, async ({ run, record, options }) => {
    const { runId, endedAt, status } = record
    if (endedAt) return `run ${runId} has already ended: ${status}`
    await run.cancel(options.reason)
    return `run ${runId} will be cancelled`
  })
}
