// Checks before a deploy whether the code in files is compatible with the runs in progress.
import { Command } from 'commander'
import type { CheckedRun } from '../../index.ts'
import { loadDefinitions } from '../load-definitions.ts'
import { type CommonOptions, withCommonOptions, withEngine } from '../options.ts'
import { counted, paint, plain, print, printJson, type Style, showStore } from '../output.ts'

interface Options extends CommonOptions {
  readonly workflow?: string
}

/** How many runs of a group are named. */
const NAMED_MAX = 3

export function checkCommand(): Command {
  return withCommonOptions(
    new Command('check')
      .description('replay every run in progress with the code in files and report incompatible runs')
      .argument('<files...>', 'TypeScript or JavaScript modules')
      .option('--workflow <name>', 'only runs of this workflow'),
  ).action(check)
}

async function check(files: readonly string[], options: Options): Promise<void> {
  const definitions = await loadDefinitions(files)
  const found: CheckedRun[] = []
  await withEngine(
    options,
    'check, which replays runs with the code of files,',
    async (engine) => {
      const { workflow } = options
      for await (const run of engine.check(workflow === undefined ? {} : { workflow })) found.push(run)
    },
    definitions,
  )
  if (options.json) printJson(found)
  else report(found, options)
  if (found.some((run) => run.verdict !== 'moves' && run.keptBy === undefined)) process.exitCode = 1
}

/** Runs of one workflow with the same finding. */
interface Group {
  readonly title: string
  readonly style: Style
  readonly name: string
  readonly text: string
  readonly runs: CheckedRun[]
}

function report(found: readonly CheckedRun[], { store }: Options): void {
  for (const { title, style, name, text, runs } of groupsOf(found)) {
    const ids = runs.slice(0, NAMED_MAX).map(idOf).join(', ')
    const more = runs.length > NAMED_MAX ? ', …' : ''
    print(`${paint(style, title)}  ${counted(runs.length, 'run')} of '${plain(name)}': ${plain(ids)}${more}`)
    if (text !== '') print(indented(text))
  }
  const kept = found.filter(({ keptBy }) => keptBy !== undefined).length
  const count = (verdict: CheckedRun['verdict']): number =>
    found.filter((run) => run.verdict === verdict && run.keptBy === undefined).length
  print(
    `${counted(found.length, 'run')} in progress in ${showStore(store)}: ${count('moves')} compatible, ${count('differs')} incompatible, ${count('noCode')} without code in these files${kept > 0 ? `, ${kept} pinned to other builds` : ''}`,
  )
}

function groupsOf(found: readonly CheckedRun[]): readonly Group[] {
  const groups = new Map<string, Group>()
  for (const run of found) {
    const finding = findingOf(run)
    if (!finding) continue
    const key = JSON.stringify([finding.title, run.name, finding.text])
    const group = groups.get(key) ?? { ...finding, name: run.name, runs: [] }
    group.runs.push(run)
    groups.set(key, group)
  }
  return [...groups.values()].toSorted((a, b) => rank(a) - rank(b))
}

const titles = ['incompatible', 'no code     ', 'pinned      ', 'compatible  '] as const

function rank({ title }: Group): number {
  return (titles as readonly string[]).indexOf(title)
}

// The finding about a run without its id, so that runs with the same finding form one group.
function findingOf(run: CheckedRun): Pick<Group, 'title' | 'style' | 'text'> | undefined {
  const [incompatible, noCode, pinned, compatible] = titles
  if (run.keptBy !== undefined) return { title: pinned, style: 'dim', text: pinnedText(run, run.keptBy) }
  if (run.verdict === 'differs') {
    const text = run.failure.message.replaceAll(run.runId, '<run>')
    return { title: incompatible, style: 'red', text }
  }
  if (run.verdict === 'noCode') return { title: noCode, style: 'red', text: '' }
  if (run.unrequested.length === 0) return undefined
  const text = `recorded, but no longer in the code: ${run.unrequested.join(', ')}`
  return { title: compatible, style: 'yellow', text }
}

// One line is enough: this code continues the run only after its build is retired.
function pinnedText({ verdict }: CheckedRun, build: string): string {
  const fits = verdict === 'moves' ? 'is compatible' : 'is not compatible: do not retire the build yet'
  return `pinned to build '${build}'. This code ${fits}.`
}

function idOf({ runId, workflowId }: CheckedRun): string {
  return workflowId === runId ? runId : workflowId
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${plain(line)}`)
    .join('\n')
}
