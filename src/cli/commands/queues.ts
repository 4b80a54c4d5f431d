import { Command } from 'commander'
import type { QueueRecord } from '../../core/index.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { type CommonOptions, withClient, withCommonOptions } from '../options.ts'
import { counted, paint, plain, print, printJson, printTable, relative } from '../output.ts'

const heads = [
  { title: 'QUEUE', least: 12 },
  { title: 'WAITING', least: 10 },
  { title: 'OLDEST' },
  { title: 'WORKERS', least: 8 },
] as const

export function queuesCommand(): Command {
  return withCommonOptions(
    new Command('queues').description('list what waits for a worker, by queue: how much, and since when'),
  ).action(queues)
}

async function queues(options: CommonOptions): Promise<void> {
  await withClient(options, async (client) => {
    const items = await client.queues()
    if (options.json) return printJson({ items })
    if (items.length === 0) return print('Nothing waits for a worker.')
    const workers = (await client.workers()).filter(({ alive }) => alive)
    const able = (queue: string): number => workers.filter((worker) => worker.queues.includes(queue)).length
    const now = systemClock.now()
    printTable(
      heads,
      items.map((each) => cells(each, { now, workers: able(each.queue) })),
    )
  })
}

function cells(
  { queue, kind, due, oldest }: QueueRecord,
  { now, workers }: { readonly now: number; readonly workers: number },
): string[] {
  return [
    plain(queue),
    counted(due, kind),
    `due ${relative(oldest, now)}`,
    workers === 0 ? paint('red', 'none: start one with --queue') : `${workers} alive`,
  ]
}
