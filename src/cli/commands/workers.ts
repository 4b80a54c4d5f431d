import { Command } from 'commander'
import type { WorkerRecord } from '../../core/index.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { type CommonOptions, suggestedCommand, withClient, withCommonOptions } from '../options.ts'
import { paint, plain, print, printJson, printTable, relative } from '../output.ts'

const heads = [
  { title: 'WORKER', least: 12 },
  { title: 'STATE' },
  { title: 'QUEUES', least: 8 },
  { title: 'BUILD', least: 8, optional: true },
  { title: 'CODE FOR', least: 12, optional: true },
] as const

export function workersCommand(): Command {
  return withCommonOptions(
    new Command('workers').description('list the workers that use the store, and what each can do'),
  ).action(workers)
}

async function workers(options: CommonOptions): Promise<void> {
  await withClient(options, async (client) => {
    const items = await client.workers()
    if (options.json) return printJson({ items })
    const start = suggestedCommand(options, 'pawl worker <file>')
    if (items.length === 0) return print(`No worker uses this store. Start one: ${start}`)
    const now = systemClock.now()
    printTable(
      heads,
      items.map((worker) => cells(worker, now)),
    )
  })
}

function cells(
  { worker, alive, expiresAt, queues, build, workflows, activities }: WorkerRecord,
  now: number,
): string[] {
  return [
    plain(worker),
    alive ? paint('green', 'alive') : paint('red', `silent, its lease ended ${relative(expiresAt, now)}`),
    plain(queues.join(', ')),
    build === undefined ? paint('dim', '-') : plain(build),
    workflows === undefined ? 'anything' : plain([...workflows, ...(activities ?? [])].join(', ')) || paint('dim', '-'),
  ]
}
