// Makes this process a worker for what some files export, until it is told to stop.
import { Command } from 'commander'
import type { WorkerOptions } from '../../engine.ts'
import type { Duration } from '../../kernel/duration.ts'
import { type Definitions, definitionsOf } from '../definitions-of.ts'
import { collect, openStore, parseCount, type StoreOption, withStore } from '../options.ts'
import { paint, print, showStore } from '../output.ts'

interface Options extends StoreOption {
  readonly queue?: readonly string[]
  readonly concurrency?: number
  readonly lease?: string
  readonly id?: string
}

export function workerCommand(): Command {
  return withStore(
    new Command('worker')
      .description('serve the workflows and activities that files export')
      .argument('<files...>', 'TypeScript or JavaScript modules')
      .option('--queue <name>', "a queue to serve (repeatable; 'default')", collect)
      .option('--concurrency <count>', 'runs held, and steps run, at once', parseCount)
      .option('--lease <duration>', 'after this long without a sign of life others take over')
      .option('--id <id>', 'the name of this worker'),
  ).action(work)
}

async function work(files: readonly string[], options: Options): Promise<void> {
  // Heard from the beginning: a worker that is told to stop while it starts stops too.
  const told = toldToStop()
  const definitions = await definitionsOf(files)
  const engine = await openStore(options, definitions)
  try {
    const worker = engine.work(workerOptions(options))
    await worker.ready
    introduce(worker.id, definitions, options)
    await told
    print('draining: no new work, steps under way are finished (once more to stop at once)')
    await worker.drain()
    print('stopped')
  } finally {
    await engine.close()
  }
  // A file may hold something open, as a database pool; a worker that has drained is done all the same.
  process.exit(0)
}

function workerOptions({ queue, concurrency, lease, id }: Options): WorkerOptions {
  return {
    signals: false,
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
      .map(({ name }) => name)
      .toSorted()
      .join(', ') || paint('dim', 'none')
  print(`worker ${paint('bold', id)} is working`)
  print(`  store       ${showStore(options.store)}`)
  print(`  queues      ${(options.queue ?? ['default']).join(', ')}`)
  print(`  workflows   ${names(workflows)}`)
  print(`  activities  ${names(activities)}`)
  print(paint('dim', 'Ctrl-C drains and stops it.'))
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
