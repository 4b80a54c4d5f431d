import { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { shellWord } from '../../core/base/shell.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { AuditEntry } from '../../operations/outputs.ts'
import { withApi } from '../api.ts'
import { type CommonOptions, parseCount, withCommonOptions } from '../options.ts'
import { clockTime, paint, plain, print, printJson, printTable } from '../output.ts'

interface Options extends CommonOptions {
  readonly limit: number
  readonly cursor?: string
  readonly by?: string
  readonly operation?: string
  readonly target?: string
}

const heads = [
  { title: 'WHEN' },
  { title: 'WHO', least: 8 },
  { title: 'WHAT' },
  { title: 'TARGET', least: 12 },
  { title: 'OUTCOME' },
  { title: 'WHY', least: 8, optional: true },
] as const

export function auditCommand(): Command {
  return withCommonOptions(
    new Command('audit')
      .description('list who changed what through a server, newest first')
      .option('--limit <count>', 'the most entries to list', parseCount, 20)
      .option('--by <name>', 'only changes made with the token of this name')
      .option('--operation <name>', 'only this operation, such as runs.cancel; or runs. for all of runs')
      .option('--target <id>', 'only changes of this run, schedule, build and so on')
      .option('--cursor <cursor>', 'continue an earlier list'),
  ).action(audit)
}

async function audit(options: Options): Promise<void> {
  await withApi(options, async (api) => {
    const { limit, cursor, by, operation, target } = options
    const page = await api().call('audit.list', defined({ limit, cursor, by, operation, target }))
    if (options.json) return printJson(page)
    if (page.items.length === 0 && page.cursor === undefined) return print(nothing(options))
    const now = systemClock.now()
    printTable(
      heads,
      page.items.map((entry) => cells(entry, now)),
    )
    if (page.cursor !== undefined) print(paint('dim', `more: repeat with --cursor ${shellWord(page.cursor)}`))
  })
}

function nothing({ by, operation, target }: Options): string {
  const isFiltered = by !== undefined || operation !== undefined || target !== undefined
  return isFiltered ? 'No change of the audit trail matches.' : 'Nobody has changed anything through a server.'
}

function cells({ at, by, operation, target, reason, outcome }: AuditEntry, now: number): string[] {
  const none = paint('dim', '-')
  return [
    clockTime(at, now),
    plain(by),
    operation,
    target === undefined ? none : plain(target),
    outcome === 'done' ? paint('green', outcome) : outcome === undefined ? none : paint('red', outcome),
    reason === undefined ? none : plain(reason),
  ]
}
