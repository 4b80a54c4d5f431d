import { Command } from 'commander'
import { refOf, type StoreOption, withEngine, withStore } from '../options.ts'
import { print } from '../output.ts'

interface Options extends StoreOption {
  readonly reason?: string
}

export function cancelCommand(): Command {
  return withStore(
    new Command('cancel')
      .description('ask a run, and its children, to stop')
      .argument('<id>', 'a run id, or a workflow id')
      .option('--reason <text>', 'why, for its history'),
  ).action(cancel)
}

async function cancel(id: string, options: Options): Promise<void> {
  await withEngine(options, async (engine) => {
    const run = engine.get(refOf(id))
    const { endedAt, status } = await run.describe()
    if (endedAt) return print(`run ${run.runId} has ended already: ${status}`)
    await run.cancel(options.reason)
    print(`run ${run.runId} will be cancelled`)
  })
}
