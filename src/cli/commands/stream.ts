// Reads a stream of a run as it is written, or lists the streams that the run has.
import type { Command } from 'commander'
import type { Json } from '../../core/base/value.ts'
import type { StreamPart } from '../../index.ts'
import type { RemoteClient } from '../../remote/index.ts'
import { withLive } from '../live.ts'
import { type CommonOptions, commandOnRun, parseInteger, runRef, withCommonOptions } from '../options.ts'
import { counted, paint, plain, print, printError, printJson, printJsonLine, printText } from '../output.ts'

interface Options extends CommonOptions {
  readonly from?: number
}

export function streamCommand(): Command {
  const description = 'read a stream of a run as it is written, until it is closed; without a name, list the streams'
  const command = commandOnRun('stream', description)
    .argument('[name]', 'the name of the stream')
    .option('--from <offset>', 'the offset of the first item (default: 0)', parseInteger)
  return withCommonOptions(command).action(stream)
}

async function stream(id: string, name: string | undefined, options: Options): Promise<void> {
  const ref = runRef(id)
  const run = typeof ref === 'string' ? ref : `w:${ref.workflowId}`
  await withLive(options, (client) =>
    name === undefined ? list(client, run, options) : follow(client, { run, name }, options),
  )
}

async function list(client: RemoteClient, run: string, { json }: Options): Promise<void> {
  const { items } = await client.call('streams.list', { run })
  if (json) return printJson(items)
  if (items.length === 0) return print('The run has written to no stream.')
  for (const { name, items: count, bytes, closed } of items)
    print(`${plain(name)}  ${counted(count, 'item')}, ${counted(bytes, 'byte')}${closed ? ', closed' : ''}`)
}

async function follow(
  client: RemoteClient,
  of: { readonly run: string; readonly name: string },
  { from, json }: Options,
): Promise<void> {
  const parts: StreamPart[] = []
  let part: number | undefined
  let isLineOpen = false
  const note = (text: string): void => {
    if (isLineOpen) print()
    isLineOpen = false
    printError(paint('dim', text))
  }
  const onConnection = (state: 'open' | 'lost'): void => {
    if (state === 'lost' && !json) note('the connection broke; trying again')
  }
  const input = { ...of, ...(from !== undefined && { from }) }
  for await (const each of client.live('live.stream', input, { onConnection })) {
    if (json) printJsonLine(each)
    else if (each.event === 'part') parts[each.data.number] = each.data
    else if (each.event === 'item') {
      const { part: number, chunk } = each.data
      const next = parts[number]
      if (next && number !== part && isAgain(next)) note(againText(next))
      part = number
      isLineOpen = show(chunk)
    }
  }
  if (isLineOpen) print()
}

/** Texts are written as they are, so that they join; other values have a line each. Returns whether the line is open. */
function show(chunk: Json): boolean {
  if (typeof chunk !== 'string') {
    print(JSON.stringify(chunk))
    return false
  }
  printText(chunk)
  return !chunk.endsWith('\n')
}

function isAgain({ attempt, generation, chapter }: StreamPart): boolean {
  return attempt > 1 || generation > chapter
}

function againText({ step = 'the run', attempt, keep }: StreamPart): string {
  const kept = keep === 0 ? 'what it wrote before is void' : `the first ${counted(keep, 'item')} that it wrote stay`
  return `attempt ${attempt} of ${plain(step)} begins: ${kept}`
}
