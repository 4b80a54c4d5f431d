// Runs a worker for the definitions that files export, until a signal stops it.
import { Command } from 'commander'
import { handlers } from '../../addons/handlers/index.ts'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { Duration } from '../../core/base/time.ts'
import type { WorkerOptions } from '../../index.ts'
import { type Definitions, loadDefinitions } from '../load-definitions.ts'
import { type LogFormat, loggerOf, logOption } from '../log-option.ts'
import { openStore, parseCount, repeated, type StoreOption, withStoreOptions } from '../options.ts'
import { paint, plain, print, showStore } from '../output.ts'
import { serveMetrics } from '../serve-metrics.ts'
import { refuseServer, withoutServerHelp } from '../server-option.ts'

interface Options extends StoreOption {
  readonly queue?: readonly string[]
  readonly concurrency?: number
  readonly lease?: string
  readonly id?: string
  readonly handlers?: true
  readonly pin?: true
  readonly build?: string
  readonly metrics?: string
  readonly log?: LogFormat
}

export function workerCommand(): Command {
  return withoutServerHelp(
    withStoreOptions(
      new Command('worker')
        .description('run a worker for the workflows and activities in files, and for submitted graphs')
        .argument('[files...]', 'TypeScript or JavaScript modules')
        .option('--handlers', 'add the built-in handlers, with safe settings')
        .option('--pin', 'pin runs to this build, unless their workflow sets `pin`')
        .option('--build <name>', 'the name of this build (default: derived from the code)')
        .option('--queue <name>', "a queue to serve (repeatable; default: 'default')", repeated)
        .option('--concurrency <count>', 'how many runs to hold and steps to run at once', parseCount)
        .option('--lease <duration>', 'other workers take over after this time without a sign of life')
        .option('--id <id>', 'the name of this worker')
        .option('--metrics <port>', 'serve /metrics on this port, or address and port')
        .addOption(logOption()),
    ),
  ).action(work)
}

async function work(files: readonly string[], options: Options): Promise<void> {
  // Listen from the beginning, so that a worker can be stopped while it starts.
  const stopped = stopSignal()
  refuseServer(options, 'a worker')
  const definitions = await servedDefinitions(files, options)
  const { build } = options
  const opening = openStore(options, { ...definitions, logger: loggerOf(options.log), ...defined({ build }) })
  // Opening may wait for an unavailable store. A worker without an engine has nothing to drain.
  const engine = await Promise.race([opening, stopped])
  if (!engine) process.exit(0)
  try {
    const scraped = options.metrics === undefined ? undefined : await serveMetrics(engine, options.metrics)
    const worker = engine.work(workerOptions(options))
    await worker.ready
    introduce(worker.id, definitions, options)
    if (scraped) print(`  metrics     ${scraped.url}`)
    await stopped
    print('draining: finishing running steps, taking no new work (signal again to stop at once)')
    await worker.drain()
    scraped?.close()
    print('stopped')
  } finally {
    await engine.close()
  }
  // A loaded file may keep the process alive, for example by a database pool; a drained worker exits anyway.
  process.exit(0)
}

// A handler that a file exports replaces the built-in one of the same name.
export async function servedDefinitions(
  files: readonly string[],
  options: Pick<Options, 'handlers'>,
): Promise<Definitions> {
  if (files.length === 0 && !options.handlers) {
    throw new PawlError(
      'INPUT_INVALID',
      'no file is given. Name a file that exports workflows or activities, or use --handlers to run submitted graphs with the built-in handlers.',
    )
  }
  const definitions = await loadDefinitions(files)
  if (!options.handlers) return definitions
  const names = new Set(definitions.activities.map(({ name }) => name))
  const ready = handlers().filter(({ name }) => !names.has(name))
  return { ...definitions, activities: [...definitions.activities, ...ready] }
}

function workerOptions({ queue, concurrency, lease, id, pin }: Options): WorkerOptions {
  // The engine checks the duration.
  const limits = { concurrency, lease: lease as Duration | undefined }
  return { signals: false, ...defined({ pin, queues: queue, ...limits, id }) }
}

function introduce(id: string, { workflows, activities }: Definitions, options: Options): void {
  const names = (definitions: readonly { readonly name: string }[]): string =>
    definitions
      .map(({ name }) => plain(name))
      .toSorted()
      .join(', ') || paint('dim', 'none')
  print(`worker ${paint('bold', plain(id))} is working`)
  print(`  store       ${showStore(options.store)}`)
  print(`  queues      ${plain((options.queue ?? ['default']).join(', '))}`)
  print(`  workflows   ${names(workflows)}`)
  print(`  activities  ${names(activities)}`)
  const pinned = pinnedRuns(workflows, options)
  if (pinned) print(`  build       ${plain(options.build ?? 'from the code')}, pins ${plain(pinned)}`)
  print(paint('dim', 'Ctrl-C drains and stops it.'))
}

/** Which of its runs it pins to its build; empty if none. */
function pinnedRuns(workflows: Definitions['workflows'], { pin }: Options): string | undefined {
  const named = (pinned: boolean): string =>
    workflows.flatMap(({ name, options }) => (options.pin === pinned ? [name] : [])).join(', ')
  if (pin) return `all runs${named(false) && ` except those of ${named(false)}`}`
  return named(true) && `runs of ${named(true)}`
}

/** Resolves at the first SIGTERM or SIGINT; the second ends the process. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    const stop = (signal: NodeJS.Signals): void => {
      if (isStopping) process.exit(signal === 'SIGINT' ? 130 : 143)
      isStopping = true
      resolve()
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
