import type { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { query } from '../../index.ts'
import { loadDefinitions } from '../load-definitions.ts'
import {
  type CommonOptions,
  commandOnRun,
  parseJson,
  repeated,
  runRef,
  withClient,
  withCommonOptions,
  withEngine,
} from '../options.ts'
import { printJson } from '../output.ts'
import { type AnyClient, refuseServer } from '../server-option.ts'

interface Options extends CommonOptions {
  readonly code?: readonly string[]
}

export function queryCommand(): Command {
  return withCommonOptions(
    commandOnRun('query', 'query a run and print the answer as JSON')
      .argument('<name>', 'the name of the query')
      .argument('[json]', 'the payload of the query', parseJson)
      .option('--code <file>', 'a module that exports the workflow (repeatable); a server has its own', repeated),
  ).action(ask)
}

async function ask(id: string, name: string, payload: unknown, options: Options): Promise<void> {
  const answer = async (client: AnyClient): Promise<void> => {
    printJson(await client.get(runRef(id)).query(query<unknown, unknown>(name), payload))
  }
  const { code, url } = options
  if (code === undefined && url !== undefined) return withClient(options, answer)
  if (code === undefined) {
    throw new PawlError(
      'INPUT_INVALID',
      'a query needs --code: a module that exports the workflow; or --url: a server.',
    )
  }
  refuseServer(options, '--code, by which this process answers the query,')
  await withEngine(options, 'a query', answer, await loadDefinitions(code))
}
