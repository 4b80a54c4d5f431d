import { Command, Option } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { pawlCommand } from '../../core/base/shell.ts'
import type { Duration } from '../../core/base/time.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { RunHandle, Why } from '../../index.ts'
import { type Attributes, type StartedRun, type StartOptions, workflow } from '../../index.ts'
import {
  type CommonOptions,
  parseAttributes,
  parseCount,
  parseInteger,
  parseJson,
  suggestedCommand,
  withCommonOptions,
  withNewEngine,
} from '../options.ts'
import { paint, plain, print, printError, printJson } from '../output.ts'
import { suggestionLines, whyLines } from '../show-why.ts'

interface Options extends CommonOptions {
  readonly workflowId?: string
  readonly idempotencyKey?: string
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
  return withCommonOptions(
    new Command('start')
      .description('start a run')
      .argument('<workflow>', 'the name of the workflow')
      .argument('[json]', 'the input', parseJson)
      .option('--workflow-id <id>', 'an id of your own for the run')
      .option('--idempotency-key <key>', 'the same key starts one run only')
      // Its name in the first release.
      .addOption(new Option('--key <key>').hideHelp().conflicts('idempotencyKey'))
      .option('--queue <name>', "the queue of the run (default: 'default')")
      .option('--priority <n>', 'higher priorities go first (default: 0)', parseInteger)
      .option(
        '--attribute <name=value>',
        'an attribute to find the run by (repeatable; repeat a name for a list of texts)',
        parseAttributes,
      )
      .option('--reuse <how>', 'what to do if the workflow id has a run: allow, allowIfEnded, returnExisting, …')
      .option('--delay <duration>', "start after this time, such as '10m'")
      .option('--pending', 'create the run without starting it, until pawl trigger')
      .option('--definition-version <n>', 'the version of a submitted definition', parseCount)
      .option('--wait', 'wait for the run and print its result; exit with 1 if it fails or its code pauses it'),
  ).action(start)
}

async function start(name: string, input: unknown, options: Options): Promise<void> {
  await withNewEngine(options, async (engine) => {
    const contract = workflow.declare<unknown, unknown>(name)
    const run = await engine.start(contract, input, startOptions(options))
    const { runId, workflowId, isNew, alongside } = run
    const started = defined({ runId, workflowId, isNew, alongside })
    const notes = await notesOn(run, options)
    if (!options.wait) {
      if (options.json) return printJson({ ...started, ...(notes.length > 0 && { notes }) })
      print(`run ${paint('bold', runId)} of '${plain(name)}' ${stateOf(run, options)}`)
      const [what, verb] = options.pending ? ['start it', 'trigger'] : ['show it', 'run']
      print(paint('dim', `${what}: ${suggestedCommand(options, pawlCommand(verb, [workflowId]))}`))
      return printNotes(notes)
    }
    // Standard output gets only the result; with --json, standard error gets only an error.
    if (!options.json) {
      printError(`run ${runId} of '${plain(name)}' ${stateOf(run, options)}; waiting for it to finish`)
      printNotes(notes)
    }
    const output = await waitForRun(run, (why) => {
      if (!options.json) printNotes([...whyLines(why, systemClock.now(), Infinity), ...suggestionLines(why, options)])
    })
    printJson(options.json ? { ...started, output } : output)
  })
}

function stateOf({ isNew }: StartedRun<unknown>, { pending }: Options): string {
  if (!isNew) return 'was started before'
  return pending ? 'is pending' : 'started'
}

/** Notes for the user: another run with the same workflow id, or no worker. */
async function notesOn(run: StartedRun<unknown>, options: Options): Promise<string[]> {
  const why = await run.why()
  return [
    ...(run.alongside === undefined
      ? []
      : [`workflow id '${run.workflowId}' has another run in progress, ${run.alongside}`]),
    ...(why.reason === 'noWorker' ? suggestionLines(why, options) : []),
  ]
}

function printNotes(notes: readonly string[]): void {
  for (const note of notes) printError(paint('yellow', `note: ${plain(note)}`))
}

function startOptions(options: Options): StartOptions {
  const { workflowId, idempotencyKey = options.key, queue, delay, pending, definitionVersion: version } = options
  const { priority, attribute, reuse } = options
  return defined({
    priority,
    attributes: attribute,
    // The client checks the policy and the duration.
    reuse: reuse as StartOptions['reuse'],
    delay: delay as Duration | undefined,
    workflowId,
    idempotencyKey,
    queue,
    pending,
    version,
  })
}

// Waits for a run on behalf of a user. It reports once what the run needs from outside, and gives up when the run is
// paused by its own code, because only other code can resume it.

/** How often the command line checks why a run has not ended yet. */
const CHECK_EVERY = '2s'

/** Returns the result of the run. `report` gets, once each, the reasons to wait that the user could remove. */
export async function waitForRun(run: RunHandle<unknown>, report: (why: Why) => void): Promise<unknown> {
  const reported = new Set<string>()
  let before = ''
  for (;;) {
    try {
      return await run.result({ timeout: CHECK_EVERY })
    } catch (error) {
      const why = reasonIn(error)
      if (!why) throw error
      const state = JSON.stringify(why)
      // Another build may resume the run, so only a pause that lasts until the next check counts.
      if (why.reason === 'paused' && why.failure && state === before) throw error
      before = state
      if (!needsUser(why) || reported.has(state)) continue
      reported.add(state)
      report(why)
    }
  }
}

function reasonIn(error: unknown): Why | undefined {
  if (!(error instanceof PawlError) || error.code !== 'NOT_ENDED') return undefined
  return (error.details as { readonly why: Why }).why
}

function needsUser({ reason }: Why): boolean {
  return ['paused', 'pending', 'noWorker', 'signal', 'webhook'].includes(reason)
}
