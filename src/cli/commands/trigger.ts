import { Command } from 'commander'
import { parseJson, refOf, type StoreOption, withEngine, withStore } from '../options.ts'
import { print } from '../output.ts'

export function triggerCommand(): Command {
  return withStore(
    new Command('trigger')
      .description('let a run begin that was started with --pending')
      .argument('<id>', 'a run id, or a workflow id')
      .argument('[json]', 'another input than it was started with', parseJson),
  ).action(trigger)
}

async function trigger(id: string, input: unknown, options: StoreOption): Promise<void> {
  await withEngine(options, async (engine) => {
    const run = engine.get(refOf(id))
    await run.trigger(input)
    print(`run ${run.runId} was told to begin`)
  })
}
