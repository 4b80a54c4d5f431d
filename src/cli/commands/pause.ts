import type { Command } from 'commander'
import { type CommonOptions, commandOnRun } from '../options.ts'
import { runOperation } from '../run-operation.ts'

interface Options extends CommonOptions {
  readonly note?: string
}

export function pauseCommand(): Command {
  const description = 'pause a run after its running steps finish'
  const command = commandOnRun('pause', description).option(
    '--note <text>',
    'the reason, shown while the run is paused',
  )
  return runOperation<Options>(command, async ({ run, record, options }) => {
    await run.pause(options.note)
    return `run ${record.runId} will pause after its running steps finish`
  })
}
