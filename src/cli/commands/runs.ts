import { Command, Option } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { shellWord } from '../../core/base/shell.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { RunSummary } from '../../operations/live/events.ts'
import { type FilterOptions, filterOf, isNarrowed, withFilterOptions } from '../filter-options.ts'
import { withLive } from '../live.ts'
import {
  type CommonOptions,
  isMissingDefault,
  parseCount,
  showPlace,
  suggestedCommand,
  withClient,
  withCommonOptions,
} from '../options.ts'
import {
  formatAge,
  paint,
  paintStatus,
  plain,
  print,
  printJson,
  printJsonLine,
  printTable,
  spent,
  table,
} from '../output.ts'
import { Screen } from '../screen.ts'

interface Options extends CommonOptions, FilterOptions {
  readonly limit: number
  readonly cursor?: string
  readonly watch?: true
}

const heads = [
  { title: 'RUN' },
  { title: 'WORKFLOW', least: 12 },
  { title: 'WORKFLOW ID', least: 12, optional: true },
  { title: 'STATUS' },
  { title: 'AGE', align: 'end', optional: true },
  { title: 'TOOK', align: 'end', optional: true },
] as const

export function runsCommand(): Command {
  return withCommonOptions(
    withFilterOptions(new Command('runs').description('list runs, newest first'))
      .option('--limit <count>', 'the most runs to list', parseCount, 20)
      .addOption(new Option('--cursor <cursor>', 'continue an earlier list').conflicts('watch'))
      .option('--watch', 'keep the list up to date until Ctrl-C; in a pipe, print a line per change'),
  ).action(runs)
}

async function runs(options: Options): Promise<void> {
  if (options.watch) return watch(options)
  if (isMissingDefault(options)) {
    return options.json ? printJson({ items: [] }) : print(emptyState(options))
  }
  await withClient(options, async (engine) => {
    const { limit, cursor } = options
    const page = await engine.list(filterOf(options), defined({ limit, cursor }))
    if (options.json) return printJson(page)
    if (page.items.length === 0) return print(emptyState(options))
    const now = systemClock.now()
    printTable(
      heads,
      page.items.map((run) => cells(run, now)),
    )
    if (page.cursor !== undefined) print(paint('dim', `more: repeat with --cursor ${shellWord(page.cursor)}`))
  })
}

/** Prints the newest runs again whenever one of them changes: in place on a terminal, else the runs that changed. */
async function watch(options: Options): Promise<void> {
  const { limit, json } = options
  const shown = new Map<string, RunSummary>()
  const screen = new Screen()
  await withLive(options, async (client) => {
    for await (const each of client.live('live.runs', { ...filterOf(options), limit })) {
      if (json) printJsonLine(each)
      else if (each.event === 'reset') shown.clear()
      else if (each.event === 'left') shown.delete(each.data.runId)
      else if (each.event === 'run') {
        shown.set(each.data.runId, dated(each.data))
        if (!screen.isTerminal) print(cells(dated(each.data), systemClock.now()).join('  '))
      } else if (each.event === 'caughtUp' && screen.isTerminal) screen.show(tableOf([...shown.values()], options))
    }
  })
}

function tableOf(found: readonly RunSummary[], options: Options): readonly string[] {
  if (found.length === 0) return [emptyState(options)]
  const now = systemClock.now()
  const newest = found.toSorted((one, other) => other.createdAt.getTime() - one.createdAt.getTime())
  return table(
    heads,
    newest.slice(0, options.limit).map((run) => cells(run, now)),
  )
}

// Live events have their times as texts.
function dated(run: RunSummary): RunSummary {
  const { createdAt, endedAt } = run
  return { ...run, createdAt: new Date(createdAt), ...(endedAt && { endedAt: new Date(endedAt) }) }
}

function cells(run: RunSummary, now: number): string[] {
  const { runId, name, workflowId, status, createdAt, endedAt, parentRunId } = run
  return [
    runId,
    // The run is a child.
    parentRunId === undefined ? plain(name) : `${paint('dim', '↳')} ${plain(name)}`,
    workflowId === runId ? paint('dim', '-') : plain(workflowId),
    paintStatus(status),
    formatAge(now - createdAt.getTime()),
    endedAt ? spent(createdAt, endedAt) : paint('dim', '-'),
  ]
}

function emptyState(options: Options): string {
  if (isNarrowed(options) || options.cursor !== undefined) return 'No run matches.'
  const start = suggestedCommand(options, "pawl start <workflow> '<input as JSON>'")
  return `No runs in ${showPlace(options)} yet. Start one: ${start}`
}
