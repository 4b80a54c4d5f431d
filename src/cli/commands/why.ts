import { Command } from 'commander'
import { systemClock } from '../../core/runtime/clock.ts'
import { type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { columns, paint, print, printJson } from '../output.ts'
import { suggestionLines, whyLines } from '../sentence.ts'

export function whyCommand(): Command {
  return reading(
    new Command('why')
      .description('say why a run is not moving, and what would move it')
      .argument('<id>', 'a run id, or a workflow id'),
  ).action(why)
}

async function why(id: string, options: ReadingOptions): Promise<void> {
  await withEngine(options, async (engine) => {
    const run = engine.get(refOf(id))
    const reason = await run.why()
    if (options.json) return printJson({ runId: run.runId, ...reason })
    for (const line of whyLines(reason, systemClock.now(), columns())) print(line)
    for (const line of suggestionLines(reason, options)) print(`  ${paint('cyan', line)}`)
  })
}
