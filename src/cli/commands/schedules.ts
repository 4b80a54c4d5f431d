import { Command } from 'commander'
import type { Schedule, ScheduleRecord } from '../../client/schedules.ts'
import { PawlError } from '../../kernel/errors.ts'
import { systemClock } from '../../runtime/clock.ts'
import { type ReadingOptions, reading, withEngine } from '../options.ts'
import { paint, plain, print, printDone, printJson, relative, table } from '../output.ts'

const heads = [
  { title: 'SCHEDULE' },
  { title: 'WORKFLOW', least: 12 },
  { title: 'WHEN', least: 12 },
  { title: 'NEXT' },
  { title: 'NOTE', optional: true, least: 8 },
] as const

export function schedulesCommand(): Command {
  return reading(new Command('schedules').description('list schedules')).action(list)
}

async function list(options: ReadingOptions): Promise<void> {
  await withEngine(options, async (engine) => {
    const page = await engine.schedules.list({ limit: 1_000 })
    if (options.json) return printJson(page)
    if (page.items.length === 0)
      return print('No schedules. Set one: engine.schedules.set(id, { cron, workflow })')
    const now = systemClock.now()
    for (const line of table(
      heads,
      page.items.map((item) => cells(item, now)),
    ))
      print(line)
  })
}

function cells(
  { id, workflow, timing, paused, next, note }: ScheduleRecord,
  now: number,
): string[] {
  const [first] = next
  const soon = first ? relative(first, now) : paint('dim', '-')
  return [
    plain(id),
    plain(workflow),
    plain(timingText(timing)),
    paused ? paint('yellow', 'paused') : soon,
    plain(note ?? ''),
  ]
}

function timingText(timing: ScheduleRecord['timing']): string {
  if (!('cron' in timing)) return `every ${timing.every}`
  return `${[timing.cron].flat().join('; ')} ${timing.timeZone ?? 'UTC'}`
}

type Verb = 'pause' | 'resume' | 'trigger' | 'delete' | 'backfill'

interface VerbOptions extends ReadingOptions {
  readonly note?: string
  readonly from?: string
  readonly to?: string
}

export function scheduleCommand(): Command {
  return reading(
    new Command('schedule')
      .description('pause, resume, trigger, delete or backfill a schedule')
      .argument('<verb>', 'pause, resume, trigger, delete or backfill')
      .argument('<id>', 'the id of the schedule')
      .option('--note <text>', 'why it is paused')
      .option('--from <time>', 'the first instant to fill in, as 2026-01-31T00:00:00Z')
      .option('--to <time>', 'the last instant to fill in'),
  ).action(async (verb: string, id: string, options: VerbOptions) => {
    await withEngine(options, async (engine) => {
      printDone(options, { id }, await act(engine.schedules.get(id), verb as Verb, options))
    })
  })
}

async function act(schedule: Schedule, verb: Verb, options: VerbOptions): Promise<string> {
  const { id } = schedule
  switch (verb) {
    case 'pause':
      await schedule.pause(options.note)
      return `schedule '${id}' takes no slot until it is resumed`
    case 'resume':
      await schedule.resume()
      return `schedule '${id}' goes on`
    case 'trigger':
      return `run ${(await schedule.trigger()).runId} started`
    case 'delete':
      await schedule.delete()
      return `schedule '${id}' is gone; its runs go on`
    case 'backfill': {
      const { from = '', to = '' } = options
      const count = await schedule.backfill({ from: new Date(from), to: new Date(to) })
      return `${count} runs will be started`
    }
    default:
      throw new PawlError(
        'INPUT_INVALID',
        `'${String(verb)}' is not pause, resume, trigger, delete or backfill.`,
      )
  }
}
