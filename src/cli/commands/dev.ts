// Runs everything a developer needs in one command, offline: a store, the HTTP API, and a worker whose code is loaded
// again when it changes.
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { develop } from '../dev/develop.ts'
import { parsePort } from '../dev/listen.ts'
import { selfCommand } from '../invocation.ts'
import { type StoreOption, withStoreOptions } from '../options.ts'

interface Options extends StoreOption {
  readonly port?: number
  readonly host: string
}

const PLACES = ['workflows.ts', 'src/workflows.ts'] as const

export function devCommand(): Command {
  return withStoreOptions(
    new Command('dev')
      .description('run a store, the HTTP API and a worker, and reload the code when it changes')
      .argument('[files...]', `TypeScript or JavaScript modules (default: ${PLACES.join(' or ')})`)
      .option('--port <port>', 'the port of the API (default: 7295, or the next free one)', parsePort)
      .option('--host <address>', 'the address of the API', '127.0.0.1'),
  ).action(dev)
}

async function dev(files: readonly string[], options: Options): Promise<void> {
  await develop(files.length > 0 ? files : filesHere(), options)
}

function filesHere(): readonly string[] {
  const found = PLACES.find((place) => existsSync(place))
  if (found !== undefined) return [found]
  throw new PawlError(
    'INPUT_INVALID',
    `no file is given, and there is no ${PLACES.join(' or ')} in this folder. Name a file that exports workflows, write a project with: ${selfCommand()} init, or look at sample workflows with: ${selfCommand()} dev --demo`,
  )
}
