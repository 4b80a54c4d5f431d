import { Command } from 'commander'
import { signal } from '../../definitions/messages.ts'
import { parseJson, refOf, type StoreOption, withEngine, withStore } from '../options.ts'
import { plain, print } from '../output.ts'

interface Options extends StoreOption {
  readonly messageId?: string
}

export function signalCommand(): Command {
  return withStore(
    new Command('signal')
      .description('send a signal to a run')
      .argument('<id>', 'a run id, or a workflow id')
      .argument('<name>', 'the name of the signal')
      .argument('[json]', 'its payload', parseJson)
      .option('--message-id <id>', 'the same id is delivered once, however often it is sent'),
  ).action(send)
}

async function send(id: string, name: string, payload: unknown, options: Options): Promise<void> {
  await withEngine(options, async (engine) => {
    const run = engine.get(refOf(id))
    const { messageId } = options
    await run.signal(signal<unknown>(name), payload, {
      ...(messageId !== undefined && { messageId }),
    })
    print(`signal '${plain(name)}' sent to run ${run.runId}`)
  })
}
