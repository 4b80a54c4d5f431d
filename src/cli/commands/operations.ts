// What an operator does to one run.

import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import type { RunHandle } from '../../index.ts'
import { collect, parseJson, type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { paint, printDone, printError, proseLines } from '../output.ts'

/** What was done, and other facts about it; `note` is what the caller should know. */
interface Done extends Readonly<Partial<Record<string, string>>> {
  readonly done: string
  readonly note?: string
}

/** A command about one run: what it does, and what it says when that is done. */
function about<Options extends ReadingOptions>(
  command: Command,
  act: (
    run: RunHandle<unknown>,
    args: readonly string[],
    options: Options,
  ) => Promise<string | Done>,
): Command {
  return reading(command).action(async (id: string, ...rest: unknown[]) => {
    const options = rest.find((each): each is Options => isOptions(each)) as Options
    const args = rest.filter((each): each is string => typeof each === 'string')
    await withEngine(options, async (engine) => {
      const run = engine.get(refOf(id))
      const { runId, workflowId } = await run.describe()
      const acted = await act(run, args, options)
      const { done, ...other } = typeof acted === 'string' ? { done: acted } : acted
      printDone(options, { runId, workflowId, ...other }, done)
      if (other.note !== undefined && !options.json)
        printError(paint('yellow', `note: ${proseLines(other.note)}`))
    })
  })
}

function isOptions(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'store' in value
}

const id = ['<id>', 'a run id, or a workflow id'] as const

export function operationCommands(): Command[] {
  return [
    terminateCommand(),
    pauseCommand(),
    resumeCommand(),
    discardCommand(),
    retryCommand(),
    ...rewinds(),
  ]
}

function terminateCommand(): Command {
  const command = new Command('terminate')
    .description('end a run, and its children, without asking their code')
    .argument(...id)
    .requiredOption('--reason <text>', 'why, for its history')
  return about<ReadingOptions & { reason: string }>(command, async (run, _, { reason }) => {
    await run.terminate(reason)
    return `run ${run.runId} will be ended where it is`
  })
}

function pauseCommand(): Command {
  const command = new Command('pause')
    .description('pause a run once its running steps have finished')
    .argument(...id)
    .option('--note <text>', 'why, for whoever finds it paused')
  return about<ReadingOptions & { note?: string }>(command, async (run, _, { note }) => {
    await run.pause(note)
    return `run ${run.runId} will pause once its running steps have finished`
  })
}

function resumeCommand(): Command {
  const command = new Command('resume')
    .description('resume a paused run')
    .argument(...id)
    .option('--step <step>', 'settle this step by hand: its key or name')
    .option('--result <json>', 'what the step gives', parseJson)
    .option('--note <text>', 'why, for its history')
  type Options = ReadingOptions & { step?: string; result?: unknown; note?: string }
  return about<Options>(command, async (run, _, { step, result, note }) => {
    if (step === undefined && result !== undefined)
      throw new PawlError('INPUT_INVALID', '--result is that of a step: say which, with --step.')
    if (step !== undefined && note === undefined)
      throw new PawlError('INPUT_INVALID', 'a step that is settled by hand needs a --note: why?')
    const again = await mayPauseAgain(run)
    await run.resume(step === undefined ? undefined : { step, result, note: note ?? '' })
    return { done: `run ${run.runId} is resumed`, ...again }
  })
}

function discardCommand(): Command {
  const command = new Command('discard')
    .description('drop a message that no worker can read, so that the run continues without it')
    .argument(...id)
    .argument('<message>', 'the id of the message, as pawl why shows it')
    .option('--note <text>', 'why, for its history')
  return about<ReadingOptions & { note?: string }>(
    command,
    async (run, [message = ''], { note }) => {
      await run.discardMessage(message, note)
      return `message '${message}' of run ${run.runId} will be dropped`
    },
  )
}

function retryCommand(): Command {
  const command = new Command('retry')
    .description('resume a failed run from the step that failed')
    .argument(...id)
  return about(command, async (run) => {
    const again = await mayPauseAgain(run)
    await run.retry()
    return { done: `run ${run.runId} is resumed from where it stopped`, ...again }
  })
}

function rewinds(): Command[] {
  const reset = new Command('reset')
    .description('reset a run to a step, and run everything from there again')
    .argument(...id)
    .argument('<step>', 'the key of the step, or its name')
  const fork = new Command('fork')
    .description('start a copy of a run from one of its steps')
    .argument(...id)
    .argument('<step>', 'the key of the step, or its name')
    .option('--input <json>', 'another input for the workflow', parseJson)
    .option('--result <step=json>', 'go on with this result of a step (repeatable)', collect)
  type Options = ReadingOptions & { input?: unknown; result?: readonly string[] }
  return [
    about(reset, async (run, [step = '']) => {
      await run.reset({ step })
      return `run ${run.runId} is reset to ${step}`
    }),
    about<Options>(fork, async (run, [step = ''], { input, result }) => {
      const results = Object.fromEntries((result ?? []).map(stepResult))
      const forked = await run.fork({ step, results, ...(input !== undefined && { input }) })
      const done = `forked run ${forked.runId} from ${run.runId} at step '${step}'`
      return { done, runId: forked.runId, workflowId: forked.runId, from: run.runId }
    }),
  ]
}

// The code that paused a run pauses it again; whoever resumes it expects otherwise.
async function mayPauseAgain(run: RunHandle<unknown>): Promise<{ readonly note?: string }> {
  const why = await run.why()
  if (why.reason !== 'paused' || why.failure === undefined) return {}
  const note = `the same code will pause it again. ${why.suggestion ?? ''}`
  return { note: note.trimEnd() }
}

function stepResult(text: string): [string, unknown] {
  const at = text.indexOf('=')
  try {
    if (at > 0) return [text.slice(0, at), parseJson(text.slice(at + 1))]
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    throw new PawlError('INPUT_INVALID', `--result ${text.slice(0, at)}: ${problem}`)
  }
  throw new PawlError('INPUT_INVALID', `--result takes <step>=<json>, and not '${text}'.`)
}
