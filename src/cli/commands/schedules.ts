import { Command } from 'commander'
import { systemClock } from '../../core/runtime/clock.ts'
import type { ScheduleRecord } from '../../index.ts'
import { type CommonOptions, withCommonOptions, withEngine } from '../options.ts'
import { paint, plain, print, printJson, printTable, relative } from '../output.ts'
import { timingText } from '../timing-text.ts'

const heads = [
  { title: 'SCHEDULE' },
  { title: 'WORKFLOW', least: 12 },
  { title: 'WHEN', least: 12 },
  { title: 'NEXT' },
  { title: 'NOTE', optional: true, least: 8 },
  { title: 'CATCH-UP', optional: true },
] as const

export function schedulesCommand(): Command {
  return withCommonOptions(new Command('schedules').description('list schedules')).action(list)
}

async function list(options: CommonOptions): Promise<void> {
  await withEngine(options, async (engine) => {
    const page = await engine.schedules.list({ limit: 1_000 })
    if (options.json) return printJson(page)
    if (page.items.length === 0) return print('No schedules. Set one: engine.schedules.set(id, { cron, workflow })')
    const now = systemClock.now()
    printTable(
      heads,
      page.items.map((item) => cells(item, now)),
    )
  })
}

function cells(schedule: ScheduleRecord, now: number): string[] {
  const { id, workflow, timing, paused, next, note } = schedule
  const [first] = next
  const soon = first ? relative(first, now) : paint('dim', '-')
  return [
    plain(id),
    plain(workflow),
    plain(timingText(timing)),
    paused ? paint('yellow', 'paused') : soon,
    plain(note ?? ''),
    plain(catchUpText(schedule)),
  ]
}

function catchUpText({ catchUp, catchUpWindow, missed }: ScheduleRecord): string {
  const lost = missed > 0 ? `, missed ${missed}` : ''
  return `${catchUp ?? ''}${catchUpWindow === undefined ? '' : ` within ${catchUpWindow}`}${lost}`
}
