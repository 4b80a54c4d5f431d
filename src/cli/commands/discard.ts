import type { Command } from 'commander'
import { type CommonOptions, commandOnRun } from '../options.ts'
import { runOperation } from '../run-operation.ts'

interface Options extends CommonOptions {
  readonly note?: string
}

export function discardCommand(): Command {
  const description = 'discard a message that no worker can read, so that the run continues'
  const command = commandOnRun('discard', description)
    .argument('<message>', 'the id of the message, as pawl why shows it')
    .option('--note <text>', 'the reason, recorded in the history')
  return runOperation<Options, [string]>(command, async ({ run, record, options }, message) => {
    await run.discardMessage(message, options.note)
    return `message '${message}' of run ${record.runId} will be discarded`
  })
}
