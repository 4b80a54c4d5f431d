import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { type CommonOptions, parseJson, withClient, withCommonOptions } from '../options.ts'
import { printDone } from '../output.ts'

interface Options extends CommonOptions {
  readonly reject?: string
}

export function resolveCommand(): Command {
  return withCommonOptions(
    new Command('resolve')
      .description('complete a step or a webhook by its token')
      .argument('<token>', 'the token from ctx.completionToken() or ctx.webhook()')
      .argument('[json]', 'the result', parseJson)
      .option('--reject <reason>', 'reject it instead, with this reason'),
  ).action(resolve)
}

async function resolve(token: string, value: unknown, options: Options): Promise<void> {
  const { reject } = options
  if (reject !== undefined && value !== undefined)
    throw new PawlError('INPUT_INVALID', 'both a result and --reject are given. Give one of them.')
  await withClient(options, async (engine) => {
    await (reject === undefined ? engine.resolve(token, value) : engine.reject(token, reject))
    printDone(options, { token }, reject === undefined ? 'resolved' : 'rejected')
  })
}
