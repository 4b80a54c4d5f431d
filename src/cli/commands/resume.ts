import type { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { type CommonOptions, commandOnRun, parseJson } from '../options.ts'
import { pauseNote, runOperation } from '../run-operation.ts'

interface Options extends CommonOptions {
  readonly step?: string
  readonly result?: unknown
  readonly note?: string
}

export function resumeCommand(): Command {
  const command = commandOnRun('resume', 'resume a paused run')
    .option('--step <step>', 'complete this step by hand: its key or name')
    .option('--result <json>', 'the result of the step', parseJson)
    .option('--note <text>', 'the reason, recorded in the history')
  return runOperation<Options>(command, async ({ run, record, options }) => {
    const { step, result, note } = options
    if (step === undefined && result !== undefined)
      throw new PawlError('INPUT_INVALID', '--result needs --step: the step with this result.')
    if (step !== undefined && note === undefined)
      throw new PawlError('INPUT_INVALID', '--step needs --note: why it is completed by hand.')
    const pausesAgain = await pauseNote(run)
    await run.resume(step === undefined ? undefined : { step, result, note: note ?? '' })
    return { done: `run ${record.runId} is resumed`, ...pausesAgain }
  })
}
