import { Command } from 'commander'
import { signal } from '../../index.ts'
import { parseJson, type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { paint, plain, print, printError, printJson } from '../output.ts'

interface Options extends ReadingOptions {
  readonly messageId?: string
}

export function signalCommand(): Command {
  return reading(
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
    const why = await run.why()
    const { messageId } = options
    await run.signal(signal<unknown>(name), payload, {
      ...(messageId !== undefined && { messageId }),
    })
    const { runId, workflowId } = run
    const waitsFor = why.reason === 'signal' && why.name !== name ? why.name : undefined
    if (options.json)
      return printJson({ runId, workflowId, signal: name, ...(waitsFor && { waitsFor }) })
    print(`signal '${plain(name)}' sent to run ${runId}`)
    if (waitsFor !== undefined)
      printError(paint('yellow', `note: the run waits for '${plain(waitsFor)}', and not for this`))
  })
}
