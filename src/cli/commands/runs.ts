import { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { shellWord } from '../../core/base/shell.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { RunRecord } from '../../index.ts'
import { type FilterOptions, filterOf, isNarrowed, withFilterOptions } from '../filter-options.ts'
import {
  type CommonOptions,
  isMissingDefault,
  parseCount,
  showPlace,
  suggestedCommand,
  withClient,
  withCommonOptions,
} from '../options.ts'
import { formatAge, paint, paintStatus, plain, print, printJson, printTable, spent } from '../output.ts'

interface Options extends CommonOptions, FilterOptions {
  readonly limit: number
  readonly cursor?: string
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
      .option('--cursor <cursor>', 'continue an earlier list'),
  ).action(runs)
}

async function runs(options: Options): Promise<void> {
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

function cells(run: RunRecord, now: number): string[] {
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
