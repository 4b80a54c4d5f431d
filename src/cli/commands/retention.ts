// For how long runs are kept after they ended: shown, set and removed; and deleted now and once.
import { Command } from 'commander'
import { inParts, type RetentionRecord } from '../../addons/retention/calls.ts'
import type { Keep, RetentionPolicy } from '../../addons/retention/options.ts'
import type { PurgeReport } from '../../addons/retention/sweep.ts'
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { RemoteClient } from '../../remote/index.ts'
import { withApi } from '../api.ts'
import { cannotAsk, isConfirmed } from '../confirm.ts'
import { type CommonOptions, parseCount, withCommonOptions } from '../options.ts'
import { counted, formatAge, paint, plain, print, printJson } from '../output.ts'
import { Progress } from '../progress.ts'

interface RuleOptions extends CommonOptions {
  readonly keep?: Keep
  readonly completed?: Keep
  readonly failed?: Keep
  readonly cancelled?: Keep
  readonly newest?: number
  readonly workflow?: string
}
interface PurgeOptions extends RuleOptions {
  readonly limit?: number
  readonly dryRun?: true
  readonly yes?: true
}

type Rule = Omit<RetentionPolicy, 'workflows'>

const FOREVER = `No policy: runs are kept forever, unless the URL of a store on object storage has ?retention=.
To delete old runs from now on: pawl retention set --keep 30d`

export function retentionCommand(): Command {
  // It has no options of its own: they would be taken for those of its subcommands.
  const command = new Command('retention').description(
    'show for how long runs are kept after they ended, and change it',
  )
  const shown = withCommonOptions(new Command('show').description('show the policy, and what it has deleted')).action(
    show,
  )
  command.addCommand(shown, { isDefault: true })
  const set = new Command('set').description('set for how long runs are kept; workers delete the others from now on')
  const remove = new Command('remove')
    .description('keep all runs from now on')
    .option('--workflow <name>', 'only remove the rule of this workflow')
  command.addCommand(withCommonOptions(withRuleOptions(set)).action(setRule))
  return command.addCommand(withCommonOptions(remove).action(removeRule))
}

export function purgeCommand(): Command {
  const command = new Command('purge').description('delete runs that have ended, now and once, after a count')
  return withCommonOptions(withRuleOptions(command))
    .option('--limit <count>', 'delete at most so many runs', parseCount)
    .option('--dry-run', 'only count what would be deleted')
    .option('--yes', 'do not ask')
    .action(purge)
}

function withRuleOptions(command: Command): Command {
  return command
    .option('--keep <time>', 'keep runs for so long after they ended: 30d, 12h, or forever')
    .option('--completed <time>', 'the same for runs that completed')
    .option('--failed <time>', 'the same for runs that failed')
    .option('--cancelled <time>', 'the same for runs that were cancelled')
    .option('--newest <count>', 'of each workflow, keep at most so many runs that have ended', parseCount)
    .option('--workflow <name>', 'a rule for the runs of this workflow only')
}

async function show(options: CommonOptions): Promise<void> {
  await withApi(options, async (api) => {
    const found = await api().retention.get()
    if (options.json) return printJson(found ?? null)
    if (!found) return print(FOREVER)
    showRetention(found)
  })
}

function showRetention({ policy, purged, lastPass, runId }: RetentionRecord): void {
  const { workflows = {}, ...general } = policy
  print(`all workflows  ${ruleText(general)}`)
  for (const [name, rule] of Object.entries(workflows)) print(`${plain(name)}  ${ruleText(rule)}`)
  print(`deleted so far ${counted(purged, 'run')}`)
  if (!lastPass) return print(paint('dim', `no pass has ended yet: pawl why ${runId}`))
  const ago = formatAge(systemClock.now() - lastPass.at.getTime())
  const needed = lastPass.needed > 0 ? `, and kept ${lastPass.needed} because their parents are in progress` : ''
  print(`last pass      ${ago} ago: it deleted ${lastPass.purged}${needed}`)
}

function ruleText({ keep, newest, ...byStatus }: Rule): string {
  const times = Object.entries(byStatus).map(([status, time]) => `${status} for ${String(time)}`)
  const parts = [
    ...(keep === undefined ? [] : [`keep for ${String(keep)}`]),
    ...times,
    ...(newest === undefined ? [] : [`at most ${newest} of each workflow`]),
  ]
  return parts.join(', ') || 'keep forever'
}

async function setRule(options: RuleOptions): Promise<void> {
  const rule = ruleOf(options)
  const { workflow } = options
  if (Object.keys(rule).length === 0) throw nothingGiven('retention set')
  await withApi(options, async (api) => {
    const { retention } = api()
    const { workflows = {}, ...general } = (await retention.get())?.policy ?? {}
    const policy =
      workflow === undefined
        ? { ...general, ...rule, workflows }
        : { ...general, workflows: { ...workflows, [workflow]: { ...workflows[workflow], ...rule } } }
    await retention.set(policy)
    if (options.json) printJson(policy)
    else print(`${whose(workflow)}: ${ruleText(ruleIn(policy, workflow))}. Workers begin within seconds.`)
  })
}

async function removeRule(options: CommonOptions & { readonly workflow?: string }): Promise<void> {
  const { workflow } = options
  await withApi(options, async (api) => {
    const { retention } = api()
    const there = (await retention.get())?.policy
    if (workflow !== undefined && there?.workflows?.[workflow] === undefined)
      throw new PawlError(
        'INPUT_INVALID',
        `workflow '${plain(workflow)}' has no rule of its own. To see all: pawl retention`,
      )
    const { [workflow ?? '']: _, ...others } = there?.workflows ?? {}
    const isLast = Object.keys({ ...there, workflows: undefined }).length === 1 && Object.keys(others).length === 0
    if (workflow === undefined || isLast) await retention.remove()
    else await retention.set({ ...there, workflows: others })
    if (options.json) printJson((await retention.get())?.policy ?? null)
    else print(workflow === undefined || isLast ? 'Runs are kept forever.' : `${whose(workflow)}: as all workflows.`)
  })
}

async function purge(options: PurgeOptions): Promise<void> {
  const { workflow, limit, dryRun, yes, json } = options
  const rule = ruleOf(options)
  if (Object.keys(rule).length === 0) throw nothingGiven('purge')
  if (!yes && !dryRun && (json || !process.stdin.isTTY)) throw cannotAsk('purge asks before it deletes runs')
  const policy: RetentionPolicy = workflow === undefined ? rule : { workflows: { [workflow]: rule } }
  await withApi(options, async (api) => {
    const counts = await purgeIn(api(), policy, defined({ limit, dryRun: true as const }))
    if (dryRun) return json ? printJson(counts) : showCounts(counts, 'would be deleted')
    if (!json) showCounts(counts, 'are to be deleted')
    if (counts.purged > 0 && !yes && !(await isConfirmed(counts.purged))) return print('Nothing was deleted.')
    const report = await purgeIn(api(), policy, defined({ limit }), counts.purged)
    if (json) return printJson(report)
    const needed =
      report.needed > 0 ? ` ${report.needed} stay, because the runs that started them are in progress.` : ''
    print(`Deleted ${counted(report.purged, 'run')}.${needed}`)
  })
}

async function purgeIn(
  client: RemoteClient,
  policy: RetentionPolicy,
  options: { readonly limit?: number; readonly dryRun?: true },
  total?: number,
): Promise<PurgeReport> {
  const progress = new Progress()
  let done = 0
  try {
    return await inParts(options, async (part) => {
      const report = await client.call('retention.purge', { policy, ...part })
      done += report.purged
      progress.show(done, total, options.dryRun ? 'counted' : 'deleted')
      return report
    })
  } finally {
    progress.end()
  }
}

function showCounts({ purged, byWorkflow }: PurgeReport, what: string): void {
  if (purged === 0) return print('No run has ended long enough ago.')
  print(`${counted(purged, 'run')} ${what}:`)
  for (const [name, count] of Object.entries(byWorkflow).toSorted(([, a], [, b]) => b - a))
    print(`  ${String(count).padStart(8)}  ${plain(name)}`)
}

function ruleOf({ keep, completed, failed, cancelled, newest }: RuleOptions): Rule {
  return defined({ keep, completed, failed, cancelled, newest })
}

function ruleIn({ workflows, ...general }: RetentionPolicy, workflow: string | undefined): Rule {
  return workflow === undefined ? general : (workflows?.[workflow] ?? {})
}

function whose(workflow: string | undefined): string {
  return workflow === undefined ? 'all workflows' : plain(workflow)
}

function nothingGiven(verb: string): PawlError {
  return new PawlError(
    'INPUT_INVALID',
    `${verb} needs to know which runs stay: such as --keep 30d, --failed 90d or --newest 1000.`,
  )
}
