// Has runs go by another definition of their graph: one, or all that a filter finds.

import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import type { Engine, Migration, Status } from '../../index.ts'
import { collect, parseCount, type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { counted, printDone } from '../output.ts'

interface Options extends ReadingOptions {
  readonly to: string
  readonly step?: readonly string[]
  readonly skip?: readonly string[]
  readonly workflow?: string
  readonly status?: readonly string[]
  readonly limit?: number
}

export function migrateCommand(): Command {
  return reading(
    new Command('migrate')
      .description('move runs to another version of their graph')
      .argument('[id]', 'a run id, or a workflow id; or use --workflow')
      .requiredOption('--to <hash>', 'the definition to go by')
      .option('--step <old=new>', 'a step that has another name there (repeatable)', collect)
      .option('--skip <step>', 'a step that is not to be done (repeatable)', collect)
      .option('--workflow <name>', 'all runs of this workflow')
      .option('--status <status>', "… that are of this status (repeatable; 'paused')", collect)
      .option('--limit <count>', '… and no more than this', parseCount),
  ).action(migrate)
}

async function migrate(id: string | undefined, options: Options): Promise<void> {
  const to = migrationOf(options)
  await withEngine(options, async (engine) => {
    if (options.workflow !== undefined)
      return migrateMany(engine, id, options.workflow, to, options)
    if (id === undefined) {
      throw new PawlError('INPUT_INVALID', 'which run? Name one, or give --workflow and --limit.')
    }
    const run = engine.get(refOf(id))
    await run.migrate(to)
    const done = `run ${run.runId} was told to go by definition ${to.definitionHash}`
    printDone(options, { runId: run.runId, ...to }, done)
  })
}

async function migrateMany(
  engine: Engine,
  id: string | undefined,
  workflow: string,
  to: Migration,
  options: Options,
): Promise<void> {
  const { limit, status } = options
  if (id !== undefined) throw new PawlError('INPUT_INVALID', 'name a run or --workflow, not both.')
  if (limit === undefined) {
    throw new PawlError('INPUT_INVALID', 'how many at most? Give --limit with --workflow.')
  }
  const filter = { workflow, ...(status && { status: status as readonly Status[] }) }
  const { matched, done, failures } = await engine.batch(filter, { limit }).migrate(to)
  const refused = failures.map(({ runId, code }) => `\n  ${runId} refused it (${code})`)
  const told = `${counted(matched, 'run')} found, ${done} told to go by definition ${to.definitionHash}`
  printDone(options, { matched, told: done, failures }, `${told}${refused.join('')}`)
  if (failures.length > 0) process.exitCode = 1
}

function migrationOf({ to, step = [], skip = [] }: Options): Migration {
  const renamed = step.map((text): [string, string] => {
    const at = text.indexOf('=')
    if (at > 0 && at < text.length - 1) return [text.slice(0, at), text.slice(at + 1)]
    throw new PawlError('INPUT_INVALID', `--step takes <old>=<new>, and not '${text}'.`)
  })
  const steps = [...renamed, ...skip.map((name): [string, null] => [name, null])]
  const names = steps.map(([name]) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return { definitionHash: to, steps: Object.fromEntries(steps) }
  throw new PawlError('INPUT_INVALID', `step '${twice}' is named twice.`)
}
