// The bars of a row of the timeline: attempts, back-off, waits.
import type { Timeline } from 'pawl/client'
import type { Span } from './scale.ts'

export type TimelineRow = Timeline['rows'][number]

export interface Bar extends Span {
  readonly look: 'done' | 'fail' | 'run' | 'off' | 'backoff' | 'wait' | 'child' | 'undo'
  /** The number of the attempt, if there were several. */
  readonly attempt?: number
  readonly title: string
}

const BODIES = new Set<TimelineRow['kind']>(['activity', 'step', 'sideEffect', 'undo', 'update', 'list'])

export function hasBody({ kind }: TimelineRow): boolean {
  return BODIES.has(kind)
}

export function barsOf(row: TimelineRow, now: number): readonly Bar[] {
  const from = row.from.getTime()
  const to = row.to?.getTime() ?? now
  if (row.kind === 'mark') return []
  if (row.kind === 'child') return [{ from, to, look: 'child', title: `child run, ${row.outcome}` }]
  if (!hasBody(row)) return [{ from, to, look: 'wait', title: `waits, ${row.outcome}` }]
  const bars: Bar[] = []
  let start = from
  for (const { at, attempt, failure, until } of row.retries) {
    const failedAt = at.getTime()
    bars.push({
      from: start,
      to: failedAt,
      look: 'fail',
      attempt,
      title: `attempt ${attempt} failed: ${failure.message}`,
    })
    start = Math.min(until.getTime(), to)
    bars.push({ from: failedAt, to: start, look: 'backoff', title: 'backs off' })
  }
  if (row.outcome === 'open' && start >= now) return bars
  const attempt = row.retries.length + 1
  bars.push({ from: start, to, look: lookOf(row), title: titleOf(row, attempt), ...(attempt > 1 && { attempt }) })
  return bars
}

function lookOf({ outcome, kind }: TimelineRow): Bar['look'] {
  if (outcome === 'failed' || outcome === 'timeout') return 'fail'
  if (outcome === 'open') return 'run'
  if (outcome === 'done') return kind === 'undo' ? 'undo' : 'done'
  return 'off'
}

function titleOf({ outcome, failure, name }: TimelineRow, attempt: number): string {
  return `${name}, attempt ${attempt}: ${failure ? failure.message : outcome}`
}

/** What a row is called by its outcome, as a status. */
export function statusOf({ outcome, kind, retries, to }: TimelineRow, now: number): string {
  if (outcome === 'done') return 'completed'
  if (outcome === 'timeout') return 'failed'
  if (outcome !== 'open') return outcome
  if (kind === 'child') return to ? 'completed' : 'waiting'
  const last = retries.at(-1)
  if (last && last.until.getTime() > now) return 'waiting'
  return BODIES.has(kind) ? 'running' : 'waiting'
}

export interface Budget {
  readonly work: number
  readonly waiting: number
  readonly backoff: number
  readonly attempts: number
  readonly failed: number
}

/** What the time of the run was spent on. */
export function budgetOf({ rows }: Timeline, now: number): Budget {
  const bars = rows.flatMap((row) => barsOf(row, now))
  const ofLook = (...looks: readonly Bar['look'][]): Bar[] => bars.filter(({ look }) => looks.includes(look))
  const sum = (some: readonly Bar[]): number => some.reduce((total, { from, to }) => total + to - from, 0)
  const work = ofLook('done', 'fail', 'run', 'off', 'undo')
  return {
    work: sum(work),
    waiting: sum(ofLook('wait')),
    backoff: sum(ofLook('backoff')),
    attempts: work.length,
    failed: ofLook('fail').length,
  }
}

export const kindIcon: Readonly<Record<TimelineRow['kind'], string>> = {
  activity: 'k-activity',
  step: 'k-step',
  sideEffect: 'k-step',
  list: 'k-list',
  undo: 'st-compensating',
  sleep: 'k-timer',
  signal: 'k-signal',
  condition: 'k-timer',
  update: 'k-signal',
  child: 'k-child',
  mark: 'k-step',
}
