import type { Command } from 'commander'
import { commandOnRun } from '../options.ts'
import { pauseNote, runOperation } from '../run-operation.ts'

export function retryCommand(): Command {
  const command = commandOnRun('retry', 'retry a failed run from where it failed')
  return runOperation(command, async ({ run, record }) => {
    const pausesAgain = await pauseNote(run)
    await run.retry()
    return { done: `run ${record.runId} is retried from where it stopped`, ...pausesAgain }
  })
}
