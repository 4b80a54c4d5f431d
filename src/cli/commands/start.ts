import { Command } from 'commander'
import type { StartOptions } from '../../client/start-options.ts'
import { workflow } from '../../definitions/workflow.ts'
import type { Duration } from '../../kernel/duration.ts'
import { pawlCommand } from '../../kernel/shell.ts'
import { parseCount, parseJson, type ReadingOptions, reading, withNewEngine } from '../options.ts'
import { paint, plain, print, printError, printJson } from '../output.ts'

interface Options extends ReadingOptions {
  readonly workflowId?: string
  readonly key?: string
  readonly queue?: string
  readonly delay?: string
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
      .option('--delay <duration>', "begin later, as in '10m'")
      .option('--pending', 'let it wait for pawl trigger')
      .option('--definition-version <n>', 'a version of a submitted definition', parseCount)
      .option('--wait', 'wait for the result and print it'),
  ).action(start)
}

async function start(name: string, input: unknown, options: Options): Promise<void> {
  await withNewEngine(options, async (engine) => {
    const contract = workflow.declare<unknown, unknown>(name)
    const run = await engine.start(contract, input, startOptions(options))
    const { runId, workflowId } = run
    if (!options.wait) {
      if (options.json) return printJson({ runId, workflowId })
      const waits = options.pending ? 'waits to be triggered' : 'is started'
      print(`run ${paint('bold', runId)} of '${plain(name)}' ${waits}`)
      const [what, verb] = options.pending ? ['let it begin', 'trigger'] : ['follow it', 'run']
      return print(paint('dim', `${what}: ${pawlCommand(verb, [workflowId])}`))
    }
    // Standard output is for the result alone.
    const begins = options.pending ? 'waits to be triggered' : 'is started'
    printError(`run ${runId} of '${plain(name)}' ${begins}; waiting for its end`)
    const output = await run.result()
    printJson(options.json ? { runId, workflowId, output } : output)
  })
}

function startOptions(options: Options): StartOptions {
  const { workflowId, key, queue, delay, pending, definitionVersion: version } = options
  return {
    ...(workflowId !== undefined && { workflowId }),
    ...(key !== undefined && { idempotencyKey: key }),
    ...(queue !== undefined && { queue }),
    ...(pending && { pending }),
    ...(version !== undefined && { version }),
    // Any text goes: what is no duration is refused by name.
    ...(delay !== undefined && { delay: delay as Duration }),
  }
}
