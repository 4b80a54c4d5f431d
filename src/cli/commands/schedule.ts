// One schedule: described, changed or controlled by a verb.

import { Command } from 'commander'
import type { OneTiming } from '../../addons/schedules/timing.ts'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import type { Duration } from '../../core/base/time.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { Schedule, ScheduleChange, ScheduleDescription, ScheduleRecord, Timing } from '../../index.ts'
import { type CommonOptions, parseJson, repeated, withClient, withCommonOptions } from '../options.ts'
import {
  clockTime,
  counted,
  paint,
  paintStatus,
  plain,
  print,
  printDone,
  printJson,
  printTable,
  relative,
  showValue,
} from '../output.ts'

/** The verbs and the options of each. */
const verbs = {
  describe: [],
  update: [
    ...['cron', 'timeZone', 'every', 'offset', 'overlap', 'catchUp', 'catchUpWindow', 'jitter'],
    ...['from', 'until', 'input', 'note', 'clear'],
  ],
  pause: ['note'],
  resume: [],
  trigger: [],
  delete: [],
  backfill: ['from', 'to'],
} as const satisfies Readonly<Record<string, readonly string[]>>
type Verb = keyof typeof verbs

interface VerbOptions extends CommonOptions {
  readonly note?: string
  readonly from?: string
  readonly to?: string
  readonly until?: string
  readonly cron?: readonly string[]
  readonly timeZone?: string
  readonly every?: readonly string[]
  readonly offset?: string
  readonly overlap?: string
  readonly catchUp?: string
  readonly catchUpWindow?: string
  readonly jitter?: string
  readonly input?: unknown
  readonly clear?: readonly string[]
}

export function scheduleCommand(): Command {
  return withCommonOptions(
    new Command('schedule')
      .description('describe, update, pause, resume, trigger, delete or backfill a schedule')
      .argument('<verb>', Object.keys(verbs).join(', '))
      .argument('<id>', 'the id of the schedule')
      .option('--note <text>', 'pause, update: the reason for the pause')
      .option('--from <time>', 'backfill, update: the first instant, such as 2026-01-31T00:00:00Z')
      .option('--to <time>', 'backfill: the last instant')
      .option('--until <time>', 'update: the last instant')
      .option('--cron <expression>', 'update: when it is due (repeatable)', repeated)
      .option('--time-zone <name>', 'update: the time zone of --cron')
      .option('--every <duration>', 'update: how often it is due (repeatable)', repeated)
      .option('--offset <duration>', 'update: the offset of --every')
      .option('--overlap <policy>', 'update: allow, skip, bufferOne, replace or terminate')
      .option('--catch-up <policy>', 'update: skip, one or all')
      .option('--catch-up-window <duration>', 'update: how far back missed slots are made up')
      .option('--jitter <duration>', 'update: the longest random delay of a slot')
      .option('--input <json>', 'update: the input of its runs', parseJson)
      .option('--clear <option>', 'update: remove an option, such as catch-up-window (repeatable)', repeated),
  ).action(async (given: string, id: string, options: VerbOptions) => {
    const verb = verbOf(given, options)
    await withClient(options, async (engine) => {
      const schedule = engine.schedules.get(id)
      if (verb === 'describe') return show(await schedule.describe(), options)
      printDone(options, { id }, await act(schedule, verb, options))
    })
  })
}

function verbOf(given: string, options: VerbOptions): Verb {
  if (!Object.hasOwn(verbs, given)) {
    const known = Object.keys(verbs)
    const expected = `${known.slice(0, -1).join(', ')} or ${known.at(-1)}`
    throw invalid(`unknown verb '${given}'; expected ${expected}.`)
  }
  const verb = given as Verb
  const allowed: readonly string[] = [...verbs[verb], 'store', 'url', 'tokenFile', 'codecs', 'json']
  const other = Object.keys(options).find((name) => !allowed.includes(name))
  if (other !== undefined) throw invalid(`'${verb}' has no option --${dashed(other)}. See: pawl schedule --help`)
  return verb
}

const dashed = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

function invalid(message: string): PawlError {
  return new PawlError('INPUT_INVALID', message)
}

async function act(schedule: Schedule, verb: Exclude<Verb, 'describe'>, options: VerbOptions): Promise<string> {
  const { id } = schedule
  switch (verb) {
    case 'update':
      await schedule.update(changeOf(options))
      return `schedule '${id}' is changed`
    case 'pause':
      await schedule.pause(options.note)
      return `schedule '${id}' is paused`
    case 'resume':
      await schedule.resume()
      return `schedule '${id}' is resumed`
    case 'trigger':
      return `run ${(await schedule.trigger()).runId} started`
    case 'delete':
      await schedule.delete()
      return `schedule '${id}' is deleted; its runs in progress continue`
    case 'backfill': {
      const { from = '', to = '' } = options
      const count = await schedule.backfill({ from: new Date(from), to: new Date(to) })
      return `${counted(count, 'run')} will be started`
    }
  }
}

/** The change for the client, which checks it. */
function changeOf(options: VerbOptions): ScheduleChange {
  const {
    cron,
    timeZone,
    every,
    offset,
    clear = [],
    from,
    until,
    store,
    url,
    tokenFile,
    codecs,
    json,
    ...others
  } = options
  const change: Record<string, unknown> = {
    ...others,
    ...(from !== undefined && { from: new Date(from) }),
    ...(until !== undefined && { until: new Date(until) }),
    ...timingOf({ cron, timeZone, every, offset }),
  }
  for (const given of clear) {
    const name = given.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    if (Object.hasOwn(options, name))
      throw invalid(`both --${dashed(name)} and --clear ${given} are given. Give one of them.`)
    change[name] = null
  }
  if (Object.keys(change).length === 0)
    throw invalid('there is nothing to change. Give an option, such as --cron, or --clear.')
  return change
}

/** Several intervals, or intervals beside cron expressions, become a list of timings. */
function timingOf({ cron, timeZone, every = [], offset }: TimingOptions): ScheduleChange {
  const zoned = timeZone === undefined ? {} : { timeZone }
  const shifted = offset === undefined ? {} : { offset: offset as Duration }
  const expressions = cron?.length === 1 ? cron[0] : cron
  if (every.length + (expressions === undefined ? 0 : 1) > 1) {
    const timings: OneTiming[] = every.map((each) => ({ every: each as Duration, ...shifted }))
    return {
      timings: expressions === undefined ? timings : [{ cron: expressions, ...zoned }, ...timings],
    }
  }
  const [interval] = every
  return defined({
    cron: expressions,
    every: interval as Duration | undefined,
    ...zoned,
    ...shifted,
  })
}

interface TimingOptions {
  readonly cron: readonly string[] | undefined
  readonly timeZone: string | undefined
  readonly every: readonly string[] | undefined
  readonly offset: string | undefined
}

function show(schedule: ScheduleDescription, { json }: CommonOptions): void {
  const { plan, recent, id, workflow, paused } = schedule
  // In JSON the workflow is its name; the contract has no use there.
  if (json) return printJson({ ...schedule, plan: { ...plan, workflow } })
  const now = systemClock.now()
  print(`${paint('bold', plain(id))}  ${paint(paused ? 'yellow' : 'green', paused ? 'paused' : 'active')}`)
  for (const [name, value] of facts(schedule, now)) print(`  ${paint('dim', name.padEnd(12))} ${value}`)
  if (recent.length === 0) return
  print()
  const rows = recent.map((run) => [
    run.slot ? clockTime(run.slot, now) : 'triggered',
    paintStatus(run.status),
    run.runId,
    relative(run.createdAt, now),
  ])
  printTable(recentHeads, rows)
}

const recentHeads = [
  { title: 'SLOT' },
  { title: 'STATUS' },
  { title: 'RUN' },
  { title: 'STARTED', optional: true },
] as const

function facts(schedule: ScheduleDescription, now: number): [string, string][] {
  const { plan, timing, note, next, workflow, missed, lastMissed } = schedule
  const { overlap = '', catchUp, catchUpWindow, jitter, from, until, run, input } = plan
  const timings = 'timings' in timing ? timing.timings : [timing]
  const all: [string, string | undefined][] = [
    ['workflow', workflow],
    ...timings.map((each, index): [string, string] => [index === 0 ? 'when' : '', timingText(each)]),
    ['from', from?.toISOString()],
    ['until', until?.toISOString()],
    ['jitter', jitter === undefined ? undefined : String(jitter)],
    ['overlap', overlap],
    ['catch-up', `${catchUp}${catchUpWindow === undefined ? '' : ` within ${catchUpWindow}`}`],
    ['missed', lastMissed && `${missed}, last ${relative(lastMissed, now)}`],
    ['note', note],
    ['next', next.map((slot) => clockTime(slot, now)).join(', ') || '-'],
  ]
  const shown = all.flatMap(([name, value]): [string, string][] => (value === undefined ? [] : [[name, plain(value)]]))
  if (input !== undefined) shown.push(['input', showValue(input, 15)])
  if (run !== undefined) shown.push(['run', showValue(run, 15)])
  return shown
}

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
  await withClient(options, async (engine) => {
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

// The timing of a schedule as text.

/** The timing on one line. */
export function timingText(timing: Timing): string {
  if ('timings' in timing) return timing.timings.map(timingText).join('; ')
  if ('cron' in timing) return `${[timing.cron].flat().join('; ')} ${timing.timeZone ?? 'UTC'}`
  const { every, offset } = timing
  return offset === undefined ? `every ${every}` : `every ${every} + ${offset}`
}
