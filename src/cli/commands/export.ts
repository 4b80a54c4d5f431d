import { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import type { Status } from '../../index.ts'
import { repeated, type StoreOption, withClient, withStoreOptions } from '../options.ts'
import { print } from '../output.ts'

interface Options extends StoreOption {
  readonly status?: readonly string[]
  readonly workflow?: string
  readonly workflowId?: string
}

export function exportCommand(): Command {
  return withStoreOptions(
    new Command('export')
      .description('export full histories as JSON Lines, to keep or to replay in a test')
      .option('--status <status>', 'only runs of this status (repeatable)', repeated)
      .option('--workflow <name>', 'only runs of this workflow')
      .option('--workflow-id <id>', 'only runs of this workflow id'),
  ).action(exportRuns)
}

async function exportRuns(options: Options): Promise<void> {
  const { status, workflow, workflowId } = options
  await withClient(options, async (engine) => {
    const filter = { status: status as readonly Status[] | undefined, workflow, workflowId }
    for await (const line of engine.export(defined(filter))) print(line)
  })
}
