// The state of every step of a run, from its history alone.
import type { Command } from 'commander'
import { defined } from '../../core/base/defined.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { StepRecord, StepState } from '../../index.ts'
import { type CommonOptions, commandOnRun, parseInteger, runRef, withClient, withCommonOptions } from '../options.ts'
import { paint, plain, print, printJson, printTable, type Style, spent } from '../output.ts'

const heads = [
  { title: 'STEP', least: 12 },
  { title: 'KIND' },
  { title: 'STATE' },
  { title: 'ATTEMPTS', align: 'end', optional: true },
  { title: 'TOOK', align: 'end', optional: true },
  // The key identifies a step for reset and fork.
  { title: 'KEY', least: 12, optional: true },
] as const

export function stepsCommand(): Command {
  return withCommonOptions(
    commandOnRun('steps', 'list the steps of a run, including graph steps that have not started')
      .option('--at <event>', 'the state after the event with this number', parseInteger)
      .option('--generation <number>', 'the generation to show; default: the current one', parseInteger)
      .option('--list <step>', 'list the items of a list step of a graph'),
  ).action(showSteps)
}

interface Options extends CommonOptions {
  readonly at?: number
  readonly generation?: number
  readonly list?: string
}

async function showSteps(id: string, options: Options): Promise<void> {
  await withClient(options, async (engine) => {
    const run = engine.get(runRef(id))
    const { at, generation, list } = options
    const steps = await run.steps(defined({ at, generation, list }))
    const now = systemClock.now()
    if (options.json) return printJson(steps)
    if (steps.length === 0) return print(`run ${run.runId} has started no step yet`)
    printTable(
      heads,
      steps.map((step) => cells(step, now)),
    )
  })
}

function cells({ step, kind, state, attempts, items, startedAt, endedAt, key }: StepRecord, now: number): string[] {
  const none = paint('dim', '-')
  const done = items ? ` ${items.ended}/${items.all}` : ''
  return [
    plain(step),
    kind,
    paint(styles[state], state) + done,
    attempts === 0 ? none : String(attempts),
    startedAt ? spent(startedAt, endedAt ?? now) : none,
    key === undefined ? none : plain(key),
  ]
}

const styles: Readonly<Record<StepState, Style>> = {
  'not started': 'dim',
  delayed: 'yellow',
  waiting: 'yellow',
  running: 'blue',
  completed: 'green',
  failed: 'red',
  'timed out': 'yellow',
  cancelled: 'dim',
  skipped: 'dim',
}
