// Makes this process a worker for what some files export, until it is told to stop.

import { Command } from 'commander'
import { handlers } from '../../addons/handlers/index.ts'
import type { Duration } from '../../core/base/duration.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { WorkerOptions } from '../../index.ts'
import { type Definitions, definitionsOf } from '../definitions-of.ts'
import { collect, openStore, parseCount, type StoreOption, withStore } from '../options.ts'
import { paint, plain, print, showStore } from '../output.ts'

interface Options extends StoreOption {
  readonly queue?: readonly string[]
  readonly concurrency?: number
  readonly lease?: string
  readonly id?: string
  readonly handlers?: true
  readonly pin?: true
  readonly build?: string
}

export function workerCommand(): Command {
  return withStore(
    new Command('worker')
      .description('serve the workflows and activities that files export, and what was submitted')
      .argument('[files...]', 'TypeScript or JavaScript modules')
      .option('--handlers', 'have the built-in handlers, too, with safe settings')
      .option('--pin', 'pin runs to this build, unless their workflow has a `pin` of its own')
      .option('--build <name>', 'the name of this build; else it follows from the code')
      .option('--queue <name>', "a queue to serve (repeatable; 'default')", collect)
      .option('--concurrency <count>', 'runs held, and steps run, at once', parseCount)
      .option('--lease <duration>', 'after this long without a sign of life others take over')
      .option('--id <id>', 'the name of this worker'),
  ).action(work)
}

async function work(files: readonly string[], options: Options): Promise<void> {
  // Heard from the beginning: a worker that is told to stop while it starts stops too.
  const told = toldToStop()
  const definitions = await servedBy(files, options)
  const { build } = options
  const opening = openStore(options, { ...definitions, ...(build !== undefined && { build }) })
  // Opening may wait for a store that is away. A worker that has nothing yet need not drain.
  const engine = await Promise.race([opening, told])
  if (!engine) process.exit(0)
  try {
    const worker = engine.work(workerOptions(options))
    await worker.ready
    introduce(worker.id, definitions, options)
    await told
    print('draining: no new work, running steps are finished (once more to stop at once)')
    await worker.drain()
    print('stopped')
  } finally {
    await engine.close()
  }
  // A file may hold something open, as a database pool; a worker that has drained is done all the same.
  process.exit(0)
}

// A handler that a file exports goes before the built-in one of its name: it may have settings of its own.
async function servedBy(files: readonly string[], options: Options): Promise<Definitions> {
  if (files.length === 0 && !options.handlers) {
    throw new PawlError(
      'INPUT_INVALID',
      'name a file of workflows and activities, or use --handlers to run what was submitted with the built-in ones.',
    )
  }
  const definitions = await definitionsOf(files)
  if (!options.handlers) return definitions
  const names = new Set(definitions.activities.map(({ name }) => name))
  const ready = handlers().filter(({ name }) => !names.has(name))
  return { ...definitions, activities: [...definitions.activities, ...ready] }
}

function workerOptions({ queue, concurrency, lease, id, pin }: Options): WorkerOptions {
  return {
    signals: false,
    ...(pin && { pin }),
    ...(queue && { queues: queue }),
    ...(concurrency !== undefined && { concurrency }),
    // Any text goes: what is no duration is refused by name.
    ...(lease !== undefined && { lease: lease as Duration }),
    ...(id !== undefined && { id }),
  }
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
  const kept = keptRuns(workflows, options)
  if (kept) print(`  build       ${plain(options.build ?? 'by its code')}, keeps ${plain(kept)}`)
  print(paint('dim', 'Ctrl-C drains and stops it.'))
}

/** Which of the runs that it begins stay with its build, if any do. */
function keptRuns(workflows: Definitions['workflows'], { pin }: Options): string | undefined {
  const named = (pinned: boolean): string =>
    workflows.flatMap(({ name, options }) => (options.pin === pinned ? [name] : [])).join(', ')
  if (pin) return `its runs${named(false) && `, but not those of ${named(false)}`}`
  return named(true) && `its runs of ${named(true)}`
}

/** Resolves at the first SIGTERM or SIGINT; the second ends the process. */
function toldToStop(): Promise<void> {
  return new Promise((resolve) => {
    let told = false
    const hear = (signal: NodeJS.Signals): void => {
      if (told) process.exit(signal === 'SIGINT' ? 130 : 143)
      told = true
      resolve()
    }
    process.on('SIGTERM', hear)
    process.on('SIGINT', hear)
  })
}
