import type { Command } from 'commander'
import { type CommonOptions, commandOnRun } from '../options.ts'
import { runOperation } from '../run-operation.ts'

interface Options extends CommonOptions {
  readonly reason: string
}

export function terminateCommand(): Command {
  const description = 'end a run and its children without running their code'
  const command = commandOnRun('terminate', description).requiredOption(
    '--reason <text>',
    'the reason, recorded in the history',
  )
  return runOperation<Options>(command, async ({ run, record, options }) => {
    const { runId, endedAt, status } = record
    if (endedAt) return `run ${runId} has already ended: ${status}`
    await run.terminate(options.reason)
    return `run ${runId} will be terminated`
  })
}
