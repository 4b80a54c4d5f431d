import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { parseJson, type ReadingOptions, reading, withEngine } from '../options.ts'
import { printDone } from '../output.ts'

interface Options extends ReadingOptions {
  readonly reject?: string
}

export function resolveCommand(): Command {
  return reading(
    new Command('resolve')
      .description('complete a step, or settle a webhook, by its token')
      .argument('<token>', 'what ctx.completionToken() or ctx.webhook() gave')
      .argument('[json]', 'its result', parseJson)
      .option('--reject <reason>', 'let it fail instead'),
  ).action(resolve)
}

async function resolve(token: string, value: unknown, options: Options): Promise<void> {
  const { reject } = options
  if (reject !== undefined && value !== undefined)
    throw new PawlError('INPUT_INVALID', 'a result and --reject do not go together. Give one.')
  await withEngine(options, async (engine) => {
    await (reject === undefined ? engine.resolve(token, value) : engine.reject(token, reject))
    printDone(options, { token }, reject === undefined ? 'resolved' : 'rejected')
  })
}
