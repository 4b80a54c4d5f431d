// Before a deploy: would the code in these files fit the runs that are under way?
import { Command } from 'commander'
import type { CheckedRun } from '../../engine.ts'
import { definitionsOf } from '../definitions-of.ts'
import { openStore, type ReadingOptions, reading } from '../options.ts'
import { paint, plain, print, printJson, showStore } from '../output.ts'

interface Options extends ReadingOptions {
  readonly workflow?: string
}

export function checkCommand(): Command {
  return reading(
    new Command('check')
      .description(
        'replay every run under way with the code in files, and say which would not go on',
      )
      .argument('<files...>', 'TypeScript or JavaScript modules')
      .option('--workflow <name>', 'only runs of this workflow'),
  ).action(check)
}

async function check(files: readonly string[], options: Options): Promise<void> {
  const definitions = await definitionsOf(files)
  const engine = await openStore(options, definitions)
  try {
    const found: CheckedRun[] = []
    const { workflow } = options
    for await (const run of engine.check(workflow === undefined ? {} : { workflow }))
      found.push(run)
    if (options.json) printJson(found)
    else report(found, options)
    if (found.some(({ verdict }) => verdict === 'differs')) process.exitCode = 1
  } finally {
    await engine.close()
  }
}

function report(found: readonly CheckedRun[], { store }: Options): void {
  const of = (verdict: CheckedRun['verdict']): CheckedRun[] =>
    found.filter((run) => run.verdict === verdict)
  for (const run of of('differs')) {
    print(`${paint('red', 'would differ')}  ${titleOf(run)}`)
    if (run.verdict === 'differs') print(indented(run.failure.message))
  }
  for (const run of of('moves')) {
    if (run.verdict !== 'moves' || run.unasked.length === 0) continue
    print(`${paint('yellow', 'moves')}         ${titleOf(run)}`)
    print(indented(`no longer asked for: ${run.unasked.map(plain).join(', ')}`))
  }
  const noCode = new Map<string, number>()
  for (const { name } of of('noCode')) noCode.set(name, (noCode.get(name) ?? 0) + 1)
  for (const [name, count] of noCode) {
    print(`${paint('yellow', 'no code')}       ${count} of '${plain(name)}'`)
  }
  const [moves, differ] = [of('moves').length, of('differs').length]
  print(
    `${found.length} runs under way in ${showStore(store)}: ${moves} move freely, ${differ} would differ, ${of('noCode').length} have no code here`,
  )
}

function titleOf({ runId, workflowId, name }: CheckedRun): string {
  const id = workflowId === runId ? runId : `${workflowId} (${runId})`
  return plain(`${name} ${id}`)
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${plain(line)}`)
    .join('\n')
}
