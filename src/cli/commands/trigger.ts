import { Command } from 'commander'
import { parseJson, type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { printDone } from '../output.ts'

export function triggerCommand(): Command {
  return reading(
    new Command('trigger')
      .description('start a run that was created with --pending')
      .argument('<id>', 'a run id, or a workflow id')
      .argument('[json]', 'another input than it was started with', parseJson),
  ).action(trigger)
}

async function trigger(id: string, input: unknown, options: ReadingOptions): Promise<void> {
  await withEngine(options, async (engine) => {
    const run = engine.get(refOf(id))
    await run.trigger(input)
    const { runId, workflowId } = await run.describe()
    printDone(options, { runId, workflowId }, `run ${runId} was told to begin`)
  })
}
