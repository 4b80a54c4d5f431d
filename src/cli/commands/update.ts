import type { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import type { Duration } from '../../core/base/time.ts'
import { update } from '../../index.ts'
import { type CommonOptions, commandOnRun, parseJson, runRef, withClient, withCommonOptions } from '../options.ts'
import { printJson } from '../output.ts'

interface Options extends CommonOptions {
  readonly messageId?: string
  readonly timeout?: string
}

export function updateCommand(): Command {
  return withCommonOptions(
    commandOnRun('update', 'send an update to a run and print its answer as JSON')
      .argument('<name>', 'the name of the update')
      .argument('[json]', 'the payload of the update', parseJson)
      .option('--message-id <id>', 'an id of your own: messages with the same id are delivered once')
      .option('--timeout <duration>', "stop waiting after this time, such as '10s'; the run may still handle it"),
  ).action(send)
}

async function send(id: string, name: string, payload: unknown, options: Options): Promise<void> {
  await withClient(options, async (engine) => {
    const { messageId, timeout } = options
    // The client checks the duration.
    const limits = defined({ messageId, timeout: timeout as Duration | undefined })
    const run = engine.get(runRef(id))
    printJson(await run.update(update<unknown, unknown>(name), payload, limits))
  })
}
