import type { Command } from 'commander'
import { systemClock } from '../../core/runtime/clock.ts'
import { type CommonOptions, commandOnRun, runRef, withClient, withCommonOptions } from '../options.ts'
import { columns, paint, print, printJson } from '../output.ts'
import { suggestionLines, whyLines } from '../show-why.ts'

export function whyCommand(): Command {
  return withCommonOptions(commandOnRun('why', 'explain why a run makes no progress and what would help')).action(why)
}

async function why(id: string, options: CommonOptions): Promise<void> {
  await withClient(options, async (engine) => {
    const run = engine.get(runRef(id))
    const reason = await run.why()
    if (options.json) return printJson({ runId: run.runId, ...reason })
    for (const line of whyLines(reason, systemClock.now(), columns())) print(line)
    for (const line of suggestionLines(reason, options)) print(`  ${paint('cyan', line)}`)
  })
}
