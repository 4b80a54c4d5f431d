import type { Command } from 'commander'
import { type CommonOptions, commandOnRun, parseJson } from '../options.ts'
import { runOperation } from '../run-operation.ts'

export function triggerCommand(): Command {
  const command = commandOnRun('trigger', 'start a run that was created with --pending').argument(
    '[json]',
    'an input that replaces the one it was created with',
    parseJson,
  )
  return runOperation<CommonOptions, [unknown]>(command, async ({ run, record }, input) => {
    await run.trigger(input)
    return `run ${record.runId} is triggered`
  })
}
