import type { Command } from 'commander'
import { type CommonOptions, commandOnRun } from '../options.ts'
import { runOperation } from '../run-operation.ts'

export function resetCommand(): Command {
  const description = 'reset a run to a step and run everything from there again'
  const command = commandOnRun('reset', description).argument('<step>', 'the key or the name of the step')
  return runOperation<CommonOptions, [string]>(command, async ({ run, record }, step) => {
    await run.reset({ step })
    return `run ${record.runId} is reset to ${step}`
  })
}
