import { Command } from 'commander'
import { type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { printDone } from '../output.ts'

interface Options extends ReadingOptions {
  readonly reason?: string
}

export function cancelCommand(): Command {
  return reading(
    new Command('cancel')
      .description('ask a run, and its children, to stop')
      .argument('<id>', 'a run id, or a workflow id')
      .option('--reason <text>', 'why, for its history'),
  ).action(cancel)
}

async function cancel(id: string, options: Options): Promise<void> {
  await withEngine(options, async (engine) => {
    const run = engine.get(refOf(id))
    const { runId, workflowId, endedAt, status } = await run.describe()
    const known = { runId, workflowId }
    if (endedAt) return printDone(options, known, `run ${runId} has ended already: ${status}`)
    await run.cancel(options.reason)
    printDone(options, known, `run ${runId} will be cancelled`)
  })
}
