// Runs everything a developer needs in one command, offline: a store, the HTTP API, and a worker whose code is loaded
// again when it changes.
import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { runDemo } from '../dev/demo.ts'
import { develop } from '../dev/develop.ts'
import { parsePort } from '../dev/listen.ts'
import { selfCommand } from '../invocation.ts'
import { type LogFormat, logOption } from '../log-option.ts'
import { type StoreOption, withStoreOptions } from '../options.ts'
import { readSettings } from '../serve/settings.ts'
import { refuseServer, withoutServerHelp } from '../server-option.ts'

interface Options extends StoreOption {
  readonly port?: number
  readonly host: string
  readonly demo?: true
  readonly log?: LogFormat
}

const PLACES = ['workflows.ts', 'src/workflows.ts'] as const
const CONFIG = 'pawl.config.ts'

export function devCommand(): Command {
  return withoutServerHelp(
    withStoreOptions(
      new Command('dev')
        .description('run a store, the HTTP API and a worker, and reload the code when it changes')
        .argument(
          '[files...]',
          `TypeScript or JavaScript modules (default: ${PLACES.join(', ')}, or the modules of ${CONFIG})`,
        )
        .option('--port <port>', 'the port of the API (default: 7295, or the next free one)', parsePort)
        .option('--host <address>', 'the address of the API', '127.0.0.1')
        .addOption(logOption())
        .option('--demo', 'run sample workflows instead of files, in a store of their own'),
    ),
  ).action(dev)
}

async function dev(files: readonly string[], options: Options, command: Command): Promise<void> {
  refuseServer(options, 'dev')
  if (!options.demo) return develop(files.length > 0 ? files : await filesHere(), options)
  if (files.length > 0) {
    throw new PawlError('INPUT_INVALID', '--demo runs sample workflows and takes no files. Leave out one of them.')
  }
  const hasStore = command.getOptionValueSource('store') !== 'default'
  return runDemo({ ...options, hasStore })
}

async function filesHere(): Promise<readonly string[]> {
  const found = PLACES.find((place) => existsSync(place))
  if (found !== undefined) return [found]
  const { modules = [] } = existsSync(CONFIG)
    ? (await readSettings({ flags: {}, environment: {}, file: CONFIG })).config
    : {}
  if (modules.length > 0) return modules
  throw new PawlError(
    'INPUT_INVALID',
    `no file is given, and this folder has no ${PLACES.join(', no ')} and no ${CONFIG} with modules. Name a file that exports workflows, write a project with: ${selfCommand()} init, or look at sample workflows with: ${selfCommand()} dev --demo`,
  )
}
