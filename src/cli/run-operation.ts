// Commands that do one thing to one run and report what they did. Each verb is a file in commands/.
import type { Command } from 'commander'
import type { RunHandle, RunRecord } from '../index.ts'
import { type CommonOptions, runRef, withCommands, withCommonOptions, withEngine } from './options.ts'
import { paint, printDone, printError, proseLines } from './output.ts'

/** What was done, a note for the user, and further facts for `--json`. */
interface Done extends Readonly<Partial<Record<string, string>>> {
  readonly done: string
  readonly note?: string
}

interface Target<Options> {
  readonly run: RunHandle<unknown>
  readonly record: RunRecord
  readonly options: Options
}

/** Makes the command act on its run. `act` gets the arguments after the id and returns what it did. */
export function runOperation<Options extends CommonOptions, Args extends readonly unknown[] = readonly []>(
  command: Command,
  act: (target: Target<Options>, ...args: Args) => Promise<string | Done>,
): Command {
  return withCommonOptions(command).action(async (id: string, ...rest: unknown[]) => {
    // commander passes the arguments, then the options, then the command.
    const options = rest.at(-2) as Options
    const args = rest.slice(0, -2) as unknown as Args
    await withEngine(options, async (engine) => {
      const run = engine.get(runRef(id))
      const record = await run.describe()
      const result = await act({ run, record, options }, ...args)
      const { done, ...facts } = typeof result === 'string' ? { done: result } : result
      printDone(options, { runId: record.runId, workflowId: record.workflowId, ...facts }, done)
      if (facts.note !== undefined && !options.json) {
        printError(paint('yellow', `note: ${proseLines(withCommands(options, facts.note))}`))
      }
    })
  })
}

/** A note if the code that paused the run would pause it again. */
export async function pauseNote(run: RunHandle<unknown>): Promise<{ readonly note?: string }> {
  const why = await run.why()
  if (why.reason !== 'paused' || why.failure === undefined) return {}
  const note = `the same code will pause it again. ${why.suggestion ?? ''}`
  return { note: note.trimEnd() }
}
