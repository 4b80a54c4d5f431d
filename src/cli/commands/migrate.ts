// Moves runs to another definition of their graph: one run, or all runs of a workflow.
import { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { Migration, Status } from '../../index.ts'
import { type CommonOptions, parseCount, repeated, runRef, withClient, withCommonOptions } from '../options.ts'
import { counted, printDone } from '../output.ts'
import type { AnyClient } from '../server-option.ts'

interface Options extends CommonOptions {
  readonly to: string
  readonly step?: readonly string[]
  readonly skip?: readonly string[]
  readonly workflow?: string
  readonly status?: readonly string[]
  readonly limit?: number
}

export function migrateCommand(): Command {
  return withCommonOptions(
    new Command('migrate')
      .description('move runs to another version of their graph')
      .argument('[id]', 'a run id or a workflow id; or use --workflow')
      .requiredOption('--to <hash>', 'the hash of the definition')
      .option('--step <old=new>', 'a step that has another name in that definition (repeatable)', repeated)
      .option('--skip <step>', 'a step to skip (repeatable)', repeated)
      .option('--workflow <name>', 'move all runs of this workflow')
      .option(
        '--status <status>',
        "with --workflow: only runs of this status (repeatable; default: 'paused')",
        repeated,
      )
      .option('--limit <count>', 'with --workflow: the most runs to move', parseCount),
  ).action(migrate)
}

async function migrate(id: string | undefined, options: Options): Promise<void> {
  const to = migrationOf(options)
  await withClient(options, async (engine) => {
    if (options.workflow !== undefined) return migrateMany(engine, id, options.workflow, to, options)
    if (id === undefined) {
      throw new PawlError('INPUT_INVALID', 'no run is given. Name a run, or give --workflow and --limit.')
    }
    const run = engine.get(runRef(id))
    await run.migrate(to)
    const done = `run ${run.runId} will use definition ${to.definitionHash}`
    printDone(options, { runId: run.runId, ...to }, done)
  })
}

async function migrateMany(
  engine: AnyClient,
  id: string | undefined,
  workflow: string,
  to: Migration,
  options: Options,
): Promise<void> {
  const { limit, status } = options
  if (id !== undefined) throw new PawlError('INPUT_INVALID', 'both a run and --workflow are given. Give one of them.')
  if (limit === undefined) {
    throw new PawlError('INPUT_INVALID', '--workflow needs --limit: the most runs to move.')
  }
  const filter = defined({ workflow, status: status as readonly Status[] | undefined })
  const { matched, done, failures } = await engine.batch(filter, { limit }).migrate(to)
  const refused = failures.map(({ runId, code }) => `\n  ${runId} was refused (${code})`)
  const moved = `${counted(matched, 'run')} found, ${done} will use definition ${to.definitionHash}`
  printDone(options, { matched, told: done, failures }, `${moved}${refused.join('')}`)
  if (failures.length > 0) process.exitCode = 1
}

function migrationOf({ to, step = [], skip = [] }: Options): Migration {
  const renamed = step.map((text): [string, string] => {
    const at = text.indexOf('=')
    if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)]
    throw new PawlError('INPUT_INVALID', `--step is '${text}'; expected <old>=<new>.`)
  })
  const steps = [...renamed, ...skip.map((name): [string, null] => [name, null])]
  const names = steps.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return { definitionHash: to, steps: Object.fromEntries(steps) }
  throw new PawlError('INPUT_INVALID', `step '${twice}' is named twice. Name it once, with --step or --skip.`)
}
