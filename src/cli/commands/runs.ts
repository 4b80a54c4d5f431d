import { Command } from 'commander'
import { shellWord } from '../../core/base/shell.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { AttributeScalar, RunFilter, RunRecord, Status } from '../../index.ts'
import {
  collect,
  isUnbegun,
  parseCount,
  parseFilter,
  type ReadingOptions,
  reaching,
  reading,
  withEngine,
} from '../options.ts'
import {
  formatAge,
  paint,
  paintStatus,
  plain,
  print,
  printJson,
  showStore,
  spent,
  table,
} from '../output.ts'

interface Options extends ReadingOptions {
  readonly status?: readonly string[]
  readonly workflow?: string
  readonly workflowId?: string
  readonly attribute?: Readonly<Record<string, AttributeScalar>>
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
  return reading(
    new Command('runs')
      .description('list runs, newest first')
      .option('--status <status>', 'only runs of this status (repeatable)', collect)
      .option('--workflow <name>', 'only runs of this workflow')
      .option('--workflow-id <id>', 'only runs of this workflow id')
      .option(
        '--attribute <name=value>',
        'only runs with this attribute, or with a list that has the text (repeatable)',
        parseFilter,
      )
      .option('--limit <count>', 'how many', parseCount, 20)
      .option('--cursor <cursor>', 'go on where an earlier list ended'),
  ).action(runs)
}

async function runs(options: Options): Promise<void> {
  if (isUnbegun(options)) {
    return options.json ? printJson({ items: [] }) : print(emptyState(options))
  }
  await withEngine(options, async (engine) => {
    const { limit, cursor } = options
    const page = await engine.list(filterOf(options), {
      limit,
      ...(cursor !== undefined && { cursor }),
    })
    if (options.json) return printJson(page)
    if (page.items.length === 0) return print(emptyState(options))
    const now = systemClock.now()
    for (const line of table(
      heads,
      page.items.map((run) => cells(run, now)),
    ))
      print(line)
    if (page.cursor !== undefined)
      print(paint('dim', `more: the same with --cursor ${shellWord(page.cursor)}`))
  })
}

function filterOf({ status, workflow, workflowId, attribute }: Options): RunFilter {
  return {
    // The client refuses what is no status, and says which there are.
    ...(status && { status: status as readonly Status[] }),
    ...(workflow !== undefined && { workflow }),
    ...(workflowId !== undefined && { workflowId }),
    ...(attribute && { attributes: attribute }),
  }
}

function cells(run: RunRecord, now: number): string[] {
  const { runId, name, workflowId, status, createdAt, endedAt, parentRunId } = run
  return [
    runId,
    // Somebody else's step.
    parentRunId === undefined ? plain(name) : `${paint('dim', '↳')} ${plain(name)}`,
    workflowId === runId ? paint('dim', '-') : plain(workflowId),
    paintStatus(status),
    formatAge(now - createdAt.getTime()),
    endedAt ? spent(createdAt, endedAt) : paint('dim', '-'),
  ]
}

function emptyState(options: Options): string {
  const { status, workflow, workflowId, attribute, cursor, store } = options
  const narrowing = [status, workflow, workflowId, attribute, cursor]
  const narrowed = narrowing.some((each) => each !== undefined)
  if (narrowed) return 'No run matches.'
  const start = reaching(options, "pawl start <workflow> '<input as JSON>'")
  return `No runs in ${showStore(store)} yet. Start one: ${start}`
}
