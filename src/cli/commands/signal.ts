import type { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { signal } from '../../index.ts'
import { type CommonOptions, commandOnRun, parseJson, runRef, withClient, withCommonOptions } from '../options.ts'
import { paint, plain, print, printError, printJson } from '../output.ts'

interface Options extends CommonOptions {
  readonly messageId?: string
}

export function signalCommand(): Command {
  return withCommonOptions(
    commandOnRun('signal', 'send a signal to a run')
      .argument('<name>', 'the name of the signal')
      .argument('[json]', 'the payload of the signal', parseJson)
      .option('--message-id <id>', 'an id of your own: messages with the same id are delivered once'),
  ).action(send)
}

async function send(id: string, name: string, payload: unknown, options: Options): Promise<void> {
  await withClient(options, async (engine) => {
    const run = engine.get(runRef(id))
    const why = await run.why()
    const { messageId } = options
    await run.signal(signal<unknown>(name), payload, defined({ messageId }))
    const { runId, workflowId } = run
    const waitsFor = why.reason === 'signal' && why.name !== name ? why.name : undefined
    if (options.json) return printJson(defined({ runId, workflowId, signal: name, waitsFor }))
    print(`signal '${plain(name)}' sent to run ${runId}`)
    if (waitsFor !== undefined)
      printError(paint('yellow', `note: the run is waiting for '${plain(waitsFor)}', not for this signal`))
  })
}
