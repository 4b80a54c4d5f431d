import { Command } from 'commander'
import type { Status } from '../../index.ts'
import { collect, type StoreOption, withEngine, withStore } from '../options.ts'
import { print } from '../output.ts'

interface Options extends StoreOption {
  readonly status?: readonly string[]
  readonly workflow?: string
  readonly workflowId?: string
}

export function exportCommand(): Command {
  return withStore(
    new Command('export')
      .description('export full histories as JSON Lines, to be kept or replayed in a test')
      .option('--status <status>', 'only runs of this status (repeatable)', collect)
      .option('--workflow <name>', 'only runs of this workflow')
      .option('--workflow-id <id>', 'only runs of this workflow id'),
  ).action(exportRuns)
}

async function exportRuns(options: Options): Promise<void> {
  const { status, workflow, workflowId } = options
  await withEngine(options, async (engine) => {
    const runs = engine.export({
      ...(status && { status: status as readonly Status[] }),
      ...(workflow !== undefined && { workflow }),
      ...(workflowId !== undefined && { workflowId }),
    })
    for await (const line of runs) print(line)
  })
}
