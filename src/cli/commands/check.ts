// Checks before a deploy whether the code in files is compatible with the runs in progress.
import { Command } from 'commander'
import { type CheckedRun, type CheckGroup, groupsOf, reportOf } from '../../addons/builds/check-report.ts'
import { loadDefinitions } from '../load-definitions.ts'
import { type CommonOptions, withCommonOptions, withEngine } from '../options.ts'
import { counted, paint, plain, print, printJson, type Style, showStore } from '../output.ts'
import { Progress } from '../progress.ts'
import { withoutServerHelp } from '../server-option.ts'

interface Options extends CommonOptions {
  readonly workflow?: string
  /** The build that the report is kept as. */
  readonly report?: string
}

/** How many runs of a group are named. */
const NAMED_MAX = 3

export function checkCommand(): Command {
  return withoutServerHelp(
    withCommonOptions(
      new Command('check')
        .description('replay every run in progress with the code in files and report incompatible runs')
        .argument('<files...>', 'TypeScript or JavaScript modules')
        .option('--workflow <name>', 'only runs of this workflow')
        .option('--report <build>', 'keep what was found in the store, as the check of this build'),
    ),
  ).action(check)
}

async function check(files: readonly string[], options: Options): Promise<void> {
  const definitions = await loadDefinitions(files)
  const found: CheckedRun[] = []
  const progress = new Progress()
  await withEngine(
    options,
    'check, which replays runs with the code of files,',
    async (engine) => {
      const { workflow, report: build } = options
      for await (const run of engine.check(workflow === undefined ? {} : { workflow })) {
        found.push(run)
        progress.show(found.length, undefined, 'runs checked')
      }
      if (build !== undefined) await engine.builds.keepCheck(build, found)
    },
    definitions,
  ).finally(() => progress.end())
  if (options.json) printJson(found)
  else show(found, options)
  if (found.some((run) => run.verdict !== 'moves' && run.keptBy === undefined)) process.exitCode = 1
}

const shown: Readonly<Record<Exclude<CheckGroup['finding'], 'moves'>, readonly [title: string, Style]>> = {
  differs: ['incompatible', 'red'],
  noCode: ['no code     ', 'red'],
  pinned: ['pinned      ', 'dim'],
  unrequested: ['compatible  ', 'yellow'],
}

function show(found: readonly CheckedRun[], { store }: Options): void {
  for (const { finding, workflow, text, count, runs } of groupsOf(found)) {
    if (finding === 'moves') continue
    const [title, style] = shown[finding]
    const ids = runs.slice(0, NAMED_MAX).map(idOf).join(', ')
    const more = count > NAMED_MAX ? ', …' : ''
    print(`${paint(style, title)}  ${counted(count, 'run')} of '${plain(workflow)}': ${plain(ids)}${more}`)
    if (text !== '') print(indented(text))
  }
  const { counts } = reportOf(found, '', new Date(0))
  const kept = counts.pinned > 0 ? `, ${counts.pinned} pinned to other builds` : ''
  print(
    `${counted(counts.all, 'run')} in progress in ${showStore(store)}: ${counts.moves} compatible, ${counts.differs} incompatible, ${counts.noCode} without code in these files${kept}`,
  )
}

function idOf({ runId, workflowId }: CheckGroup['runs'][number]): string {
  return workflowId === runId ? runId : workflowId
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${plain(line)}`)
    .join('\n')
}
