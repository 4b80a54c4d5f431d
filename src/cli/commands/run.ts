// Shows one run: its record, its history as a timeline, and its end or why it waits.
import type { Command } from 'commander'
import { systemClock } from '../../core/runtime/clock.ts'
import type { HistoryEvent, RunRecord, Timeline, Why } from '../../index.ts'
import { drawTimeline } from '../draw-timeline.ts'
import { historyOf } from '../history.ts'
import { type CommonOptions, commandOnRun, runRef, withClient, withCommonOptions } from '../options.ts'
import {
  clockTime,
  columns,
  paint,
  paintStatus,
  plain,
  print,
  printJson,
  relative,
  showValue,
  spent,
  wrap,
} from '../output.ts'
import { showFailure, suggestionLines, whyLines } from '../show-why.ts'

interface Shown {
  readonly run: RunRecord
  readonly history: readonly HistoryEvent[]
  readonly why?: Why
}

export function runCommand(): Command {
  return withCommonOptions(commandOnRun('run', 'show a run: its record and its history as a timeline')).action(showRun)
}

async function showRun(id: string, options: CommonOptions): Promise<void> {
  await withClient(options, async (engine) => {
    const handle = engine.get(runRef(id))
    const run = await handle.describe()
    const history = run.unreadable ? [] : await historyOf(handle)
    const timeline = run.unreadable ? undefined : await handle.timeline()
    const isKnown = !run.unreadable || run.status === 'paused'
    const shown = { run, history, ...(!run.endedAt && isKnown && { why: await handle.why() }) }
    if (options.json) return printJson(shown)
    for (const line of linesOf(shown, timeline, options, systemClock.now())) print(line)
  })
}

function linesOf(shown: Shown, timeline: Timeline | undefined, options: CommonOptions, now: number): string[] {
  const { run, why } = shown
  const width = columns()
  return [
    `${paint('bold', plain(run.name))}  ${paintStatus(run.status)}`,
    ...facts(shown, now).map(([name, value]) => `  ${paint('dim', name.padEnd(12))} ${value}`),
    '',
    ...(timeline ? drawTimeline(timeline, width) : []),
    ...(timeline && timeline.rows.length > 0 ? [''] : []),
    ...ending(run, width),
    ...(why ? waiting(why, options, now, width) : []),
  ]
}

function facts({ run, history }: Shown, now: number): [string, string][] {
  const { runId, workflowId, queue, priority, createdAt, endedAt, parentRunId } = run
  const { attributes, memo } = run
  const lines: [string, string][] = [['run', runId]]
  if (workflowId !== runId) lines.push(['workflow id', plain(workflowId)])
  if (parentRunId !== undefined) lines.push(['parent', parentRunId])
  lines.push(['queue', plain(priority === 0 ? queue : `${queue}, priority ${priority}`)])
  lines.push(['started', `${clockTime(createdAt, now)} (${relative(createdAt, now)})`])
  lines.push([endedAt ? 'took' : 'so far', spent(createdAt, endedAt ?? now)])
  if (run.unreadable) lines.push(['unreadable', plain(run.unreadable.message)])
  else lines.push(['input', showValue(inputOf(run, history), 15)])
  if (Object.keys(attributes).length > 0) lines.push(['attributes', showValue(attributes, 15)])
  if (Object.keys(memo).length > 0) lines.push(['memo', showValue(memo, 15)])
  return lines
}

// A pending run may have been triggered with another input.
function inputOf({ input }: RunRecord, history: readonly HistoryEvent[]): unknown {
  const triggered = history.find((event) => event.type === 'RunTriggered')
  return triggered && 'input' in triggered ? triggered.input : input
}

function ending(run: RunRecord, width: number): string[] {
  if (run.unreadable) return []
  if (run.status === 'completed') return [`${paint('green', 'result')}  ${showValue(run.output, 8)}`]
  return run.status === 'failed' && run.failure ? failed(run.failure, width) : []
}

function failed(failure: NonNullable<RunRecord['failure']>, width: number): string[] {
  const lines = wrap(showFailure(failure), width - 8)
  const cause = failure.cause ? wrap(`cause: ${showFailure(failure.cause)}`, width - 8) : []
  return [...lines, ...cause].map((line, index) =>
    index === 0 ? `${paint('red', 'failed')}  ${line}` : `        ${line}`,
  )
}

function waiting(why: Why, options: CommonOptions, now: number, width: number): string[] {
  const lines = whyLines(why, now, width - 5)
  return [
    ...lines.map((line, index) => `${index === 0 ? paint('yellow', 'why') : '   '}  ${line}`),
    ...suggestionLines(why, options).map((line) => `     ${paint('cyan', line)}`),
  ]
}
