import { Command } from 'commander'
import type { Duration } from '../../core/base/duration.ts'
import { pawlCommand } from '../../core/base/shell.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { type Attributes, type StartedRun, type StartOptions, workflow } from '../../index.ts'
import { follow } from '../following.ts'
import {
  parseAttributes,
  parseCount,
  parseInteger,
  parseJson,
  type ReadingOptions,
  reaching,
  reading,
  withNewEngine,
} from '../options.ts'
import { paint, plain, print, printError, printJson } from '../output.ts'
import { suggestionLines, whyLines } from '../sentence.ts'

interface Options extends ReadingOptions {
  readonly workflowId?: string
  readonly key?: string
  readonly queue?: string
  readonly delay?: string
  readonly priority?: number
  readonly attribute?: Attributes
  readonly reuse?: string
  readonly pending?: true
  readonly definitionVersion?: number
  readonly wait?: true
}

export function startCommand(): Command {
  return reading(
    new Command('start')
      .description('start a run')
      .argument('<workflow>', 'the name of the workflow')
      .argument('[json]', 'its input', parseJson)
      .option('--workflow-id <id>', 'a name of your own for the run')
      .option('--key <key>', 'an idempotency key: the same key starts one run, however often')
      .option('--queue <name>', "the queue its worker serves ('default')")
      .option('--priority <n>', 'higher is taken first (0)', parseInteger)
      .option(
        '--attribute <name=value>',
        'what it is found by (repeatable; the same name again makes a list of texts)',
        parseAttributes,
      )
      .option(
        '--reuse <how>',
        'if the workflow id has a run already: allow, allowIfEnded, returnExisting, …',
      )
      .option('--delay <duration>', "begin later, as in '10m'")
      .option('--pending', 'let it wait for pawl trigger')
      .option('--definition-version <n>', 'a version of a submitted definition', parseCount)
      .option('--wait', 'print the result; end with 1 if it fails, or if its code pauses it'),
  ).action(start)
}

async function start(name: string, input: unknown, options: Options): Promise<void> {
  await withNewEngine(options, async (engine) => {
    const contract = workflow.declare<unknown, unknown>(name)
    const run = await engine.start(contract, input, startOptions(options))
    const { runId, workflowId, isNew, alongside } = run
    const started = { runId, workflowId, isNew, ...(alongside !== undefined && { alongside }) }
    const notes = await notesOn(run)
    if (!options.wait) {
      if (options.json) return printJson({ ...started, ...(notes.length > 0 && { notes }) })
      print(`run ${paint('bold', runId)} of '${plain(name)}' ${stateOf(run, options)}`)
      const [what, verb] = options.pending ? ['let it begin', 'trigger'] : ['follow it', 'run']
      print(paint('dim', `${what}: ${reaching(options, pawlCommand(verb, [workflowId]))}`))
      return tell(notes)
    }
    // Standard output is for the result alone, and with --json standard error for an error alone.
    if (!options.json) {
      printError(
        `run ${runId} of '${plain(name)}' ${stateOf(run, options)}; waiting for it to finish`,
      )
      tell(notes)
    }
    const output = await follow(run, (why) => {
      if (!options.json)
        tell([...whyLines(why, systemClock.now(), Infinity), ...suggestionLines(why, options)])
    })
    printJson(options.json ? { ...started, output } : output)
  })
}

function stateOf({ isNew }: StartedRun<unknown>, { pending }: Options): string {
  if (!isNew) return 'was started before'
  return pending ? 'waits to be triggered' : 'started'
}

/** What whoever started it should know. */
async function notesOn(run: StartedRun<unknown>): Promise<string[]> {
  const why = await run.why()
  return [
    ...(run.alongside === undefined
      ? []
      : [`workflow id '${run.workflowId}' has another run in progress, ${run.alongside}`]),
    ...(why.reason === 'noWorker' && why.suggestion !== undefined ? [why.suggestion] : []),
  ]
}

function tell(notes: readonly string[]): void {
  for (const note of notes) printError(paint('yellow', `note: ${plain(note)}`))
}

function startOptions(options: Options): StartOptions {
  const { workflowId, key, queue, delay, pending, definitionVersion: version } = options
  const { priority, attribute, reuse } = options
  return {
    ...(priority !== undefined && { priority }),
    ...(attribute && { attributes: attribute }),
    // The client refuses what is no way to reuse an id, and says which there are.
    ...(reuse !== undefined && { reuse: reuse as NonNullable<StartOptions['reuse']> }),
    ...(workflowId !== undefined && { workflowId }),
    ...(key !== undefined && { idempotencyKey: key }),
    ...(queue !== undefined && { queue }),
    ...(pending && { pending }),
    ...(version !== undefined && { version }),
    // Any text goes: what is no duration is refused by name.
    ...(delay !== undefined && { delay: delay as Duration }),
  }
}
