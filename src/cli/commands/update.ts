import { Command } from 'commander'
import type { Duration } from '../../core/base/duration.ts'
import { update } from '../../index.ts'
import { parseJson, type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { printJson } from '../output.ts'

interface Options extends ReadingOptions {
  readonly messageId?: string
  readonly timeout?: string
}

export function updateCommand(): Command {
  return reading(
    new Command('update')
      .description('send an update to a run, wait for its answer, and print it as JSON')
      .argument('<id>', 'a run id, or a workflow id')
      .argument('<name>', 'the name of the update')
      .argument('[json]', 'its payload', parseJson)
      .option('--message-id <id>', 'the same id is delivered once, however often it is sent')
      .option(
        '--timeout <duration>',
        "give up after so long, as in '10s'; the run may still do it",
      ),
  ).action(send)
}

async function send(id: string, name: string, payload: unknown, options: Options): Promise<void> {
  await withEngine(options, async (engine) => {
    const { messageId, timeout } = options
    const answer = await engine.get(refOf(id)).update(update<unknown, unknown>(name), payload, {
      ...(messageId !== undefined && { messageId }),
      // Any text goes: what is no duration is refused by name.
      ...(timeout !== undefined && { timeout: timeout as Duration }),
    })
    printJson(answer)
  })
}
