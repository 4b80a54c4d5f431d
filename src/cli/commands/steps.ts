// Where every step of a run stands, from what is stored alone.

import { Command } from 'commander'
import { systemClock } from '../../core/runtime/clock.ts'
import type { StepRecord, StepState } from '../../index.ts'
import { type ReadingOptions, reading, refOf, withEngine } from '../options.ts'
import { paint, plain, print, printJson, type Style, spent, table } from '../output.ts'

const heads = [
  { title: 'STEP', least: 12 },
  { title: 'KIND' },
  { title: 'STATE' },
  { title: 'ATTEMPTS', align: 'end', optional: true },
  { title: 'TOOK', align: 'end', optional: true },
  // What reset and fork know a step by.
  { title: 'KEY', least: 12, optional: true },
] as const

export function stepsCommand(): Command {
  return reading(
    new Command('steps')
      .description('list the steps of a run, including graph steps that have not started')
      .argument('<id>', 'a run id, or a workflow id (its newest run)'),
  ).action(showSteps)
}

async function showSteps(id: string, options: ReadingOptions): Promise<void> {
  await withEngine(options, async (engine) => {
    const run = engine.get(refOf(id))
    const steps = await run.steps()
    const now = systemClock.now()
    if (options.json) return printJson(steps)
    if (steps.length === 0) return print(`run ${run.runId} has started no step yet`)
    for (const line of table(
      heads,
      steps.map((step) => cells(step, now)),
    ))
      print(line)
  })
}

function cells(
  { step, kind, state, attempts, items, startedAt, endedAt, key }: StepRecord,
  now: number,
): string[] {
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
