import type { Command } from 'commander'
import { query } from '../../index.ts'
import { loadDefinitions } from '../load-definitions.ts'
import {
  type CommonOptions,
  commandOnRun,
  parseJson,
  repeated,
  runRef,
  withCommonOptions,
  withEngine,
} from '../options.ts'
import { printJson } from '../output.ts'

interface Options extends CommonOptions {
  readonly code: readonly string[]
}

export function queryCommand(): Command {
  return withCommonOptions(
    commandOnRun('query', 'query a run and print the answer as JSON')
      .argument('<name>', 'the name of the query')
      .argument('[json]', 'the payload of the query', parseJson)
      .requiredOption('--code <file>', 'a module that exports the workflow (repeatable)', repeated),
  ).action(ask)
}

async function ask(id: string, name: string, payload: unknown, options: Options): Promise<void> {
  const definitions = await loadDefinitions(options.code)
  await withEngine(
    options,
    async (engine) => {
      printJson(await engine.get(runRef(id)).query(query<unknown, unknown>(name), payload))
    },
    definitions,
  )
}
