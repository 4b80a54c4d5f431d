import { Command } from 'commander'
import { query } from '../../index.ts'
import { definitionsOf } from '../definitions-of.ts'
import { collect, parseJson, type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { printJson } from '../output.ts'

interface Options extends ReadingOptions {
  readonly code: readonly string[]
}

export function queryCommand(): Command {
  return reading(
    new Command('query')
      .description('ask the code of a run something, and print the answer as JSON')
      .argument('<id>', 'a run id, or a workflow id')
      .argument('<name>', 'the name of the query')
      .argument('[json]', 'its payload', parseJson)
      .requiredOption('--code <file>', 'a module that exports the workflow (repeatable)', collect),
  ).action(ask)
}

async function ask(id: string, name: string, payload: unknown, options: Options): Promise<void> {
  const definitions = await definitionsOf(options.code)
  await withEngine(
    options,
    async (engine) => {
      printJson(await engine.get(refOf(id)).query(query<unknown, unknown>(name), payload))
    },
    definitions,
  )
}
