import { Command, Option } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { shellWord } from '../../core/base/shell.ts'
import type { AttributeScalar } from '../../core/index.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { RunFilter, RunRecord, Status } from '../../index.ts'
import {
  type CommonOptions,
  isMissingDefault,
  parseCount,
  parseFilter,
  repeated,
  suggestedCommand,
  withCommonOptions,
  withEngine,
} from '../options.ts'
import {
  formatAge,
  paint,
  paintStatus,
  plain,
  print,
  printJson,
  printTable,
  showStore,
  spent,
  statusStyles,
} from '../output.ts'

interface Options extends CommonOptions {
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
  return withCommonOptions(
    new Command('runs')
      .description('list runs, newest first')
      .addOption(statusOption())
      .option('--workflow <name>', 'only runs of this workflow')
      .option('--workflow-id <id>', 'only runs of this workflow id')
      .option(
        '--attribute <name=value>',
        'only runs with this attribute, or with a list that contains it (repeatable)',
        parseFilter,
      )
      .option('--limit <count>', 'the most runs to list', parseCount, 20)
      .option('--cursor <cursor>', 'continue an earlier list'),
  ).action(runs)
}

// The client refuses other statuses; the choices are for the help and for completion.
function statusOption(): Option {
  const option = new Option('--status <status>', 'only runs of this status (repeatable)')
  return option.choices(Object.keys(statusStyles)).argParser(repeated)
}

async function runs(options: Options): Promise<void> {
  if (isMissingDefault(options)) {
    return options.json ? printJson({ items: [] }) : print(emptyState(options))
  }
  await withEngine(options, async (engine) => {
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

function filterOf({ status, workflow, workflowId, attribute }: Options): RunFilter {
  return defined({
    // The client checks the status.
    status: status as readonly Status[] | undefined,
    workflow,
    workflowId,
    attributes: attribute,
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
  const { status, workflow, workflowId, attribute, cursor, store } = options
  const narrowing = [status, workflow, workflowId, attribute, cursor]
  const narrowed = narrowing.some((each) => each !== undefined)
  if (narrowed) return 'No run matches.'
  const start = suggestedCommand(options, "pawl start <workflow> '<input as JSON>'")
  return `No runs in ${showStore(store)} yet. Start one: ${start}`
}
