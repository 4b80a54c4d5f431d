// Tools for language models: over the API of a server, or over that of a store in this process.
import { Command, Option } from 'commander'
import { serveMcp } from '../../mcp/serve.ts'
import type { Allowed } from '../../mcp/tools.ts'
import type { InputOf } from '../../operations/inputs.ts'
import { withApi } from '../api.ts'
import { type StoreOption, showPlace, withStoreOptions } from '../options.ts'
import { printError } from '../output.ts'
import { stopSignal } from '../stop-signal.ts'

interface Options extends StoreOption {
  readonly allow: Allowed
}

export function mcpCommand(): Command {
  const allow = new Option('--allow <scope>', 'whether tools may also change runs')
  return withStoreOptions(
    new Command('mcp')
      .description(
        'offer runs as tools to a language model, by the Model Context Protocol on standard input and output',
      )
      .addOption(allow.choices(['read', 'operate']).default('read')),
  ).action(mcp)
}

async function mcp(options: Options): Promise<void> {
  await withApi(options, async (api) => {
    const { stopped } = stopSignal()
    const tools = await serveMcp(options.allow, (operation, input, reason) =>
      api(reason).call(operation, input as InputOf<typeof operation>),
    )
    // Standard output belongs to the protocol.
    const may =
      options.allow === 'read' ? 'tools only read; --allow operate lets them change runs' : 'tools may change runs'
    printError(`pawl mcp on ${showPlace(options)}: ${may}`)
    await Promise.race([stopped, tools.closed])
    await tools.close()
  })
}
