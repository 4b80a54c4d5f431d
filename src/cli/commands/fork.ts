import type { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { type CommonOptions, commandOnRun, parseJson, repeated } from '../options.ts'
import { runOperation } from '../run-operation.ts'

interface Options extends CommonOptions {
  readonly input?: unknown
  readonly result?: readonly string[]
}

export function forkCommand(): Command {
  const command = commandOnRun('fork', 'start a copy of a run from one of its steps')
    .argument('<step>', 'the key or the name of the step')
    .option('--input <json>', 'another input for the workflow', parseJson)
    .option('--result <step=json>', 'use this result for a step (repeatable)', repeated)
  return runOperation<Options, [string]>(command, async ({ run, record, options }, step) => {
    const { input, result = [] } = options
    const results = Object.fromEntries(result.map(stepResult))
    const forked = await run.fork({ step, results, ...defined({ input }) })
    const done = `forked run ${forked.runId} from ${record.runId} at step '${step}'`
    return { done, runId: forked.runId, workflowId: forked.runId, from: record.runId }
  })
}

function stepResult(text: string): [string, unknown] {
  const at = text.indexOf('=')
  try {
    if (at > 0) return [text.slice(0, at), parseJson(text.slice(at + 1))]
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new PawlError('INPUT_INVALID', `--result ${text.slice(0, at)}: ${problem}`)
  }
  throw new PawlError('INPUT_INVALID', `--result is '${text}'; expected <step>=<json>.`)
}
