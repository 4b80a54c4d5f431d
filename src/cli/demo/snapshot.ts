// The state of the demo at one moment: the history (what is recorded), the ledger (what really ran), the workers, and
// why the run waits. Computed without side effects.
import { unreachable } from '../../core/base/assert.ts'
import { formatDuration } from '../../core/base/time.ts'
import type { HistoryEvent, Timeline, TimelineRow, Why } from '../../index.ts'
import { plain } from '../output.ts'
import type { LedgerLine } from './order-workflow.ts'
import { plan } from './order-workflow.ts'
import type { DemoWorker } from './workers.ts'

export interface Observed {
  readonly now: number
  readonly history: readonly HistoryEvent[]
  readonly timeline: Timeline
  readonly ledger: readonly LedgerLine[]
  readonly workers: readonly DemoWorker[]
  readonly why: Why
}

export type StepState = 'coming' | 'running' | 'retrying' | 'cutOff' | 'waiting' | 'recorded'

export interface StepView {
  readonly name: string
  readonly state: StepState
  readonly ran: number
  /** Describes the step. Changes only when the step does. */
  readonly text: string
}

export interface DemoSnapshot extends Observed {
  readonly steps: readonly StepView[]
}

export function snapshotOf(observed: Observed): DemoSnapshot {
  const { rows } = observed.timeline
  const steps = plan.map(({ name, what }) => {
    const row = rows.find((each) => each.name === name)
    const lines = observed.ledger.filter((line) => line.step === name)
    const state = stateOf(row, lines.at(-1), observed.workers)
    const text = describe(state, { row, last: lines.at(-1), what, workers: observed.workers })
    return { name, state, ran: lines.length, text }
  })
  return { ...observed, steps }
}

export function stepOf(snapshot: DemoSnapshot, name: string): StepView | undefined {
  return snapshot.steps.find((step) => step.name === name)
}

function stateOf(
  row: TimelineRow | undefined,
  last: LedgerLine | undefined,
  workers: readonly DemoWorker[],
): StepState {
  if (row?.outcome === 'done') return 'recorded'
  if (last === undefined) return row ? 'waiting' : 'coming'
  if (row?.retries.some(({ attempt }) => attempt === last.attempt)) return 'retrying'
  return workers.some(({ pid, alive }) => alive && pid === last.pid) ? 'running' : 'cutOff'
}

interface Known {
  readonly row: TimelineRow | undefined
  readonly last: LedgerLine | undefined
  readonly what: string
  readonly workers: readonly DemoWorker[]
}

function describe(state: StepState, { row, last, what, workers }: Known): string {
  const attempt = `attempt ${last?.attempt ?? 1}`
  const worker = workers.find(({ pid }) => pid === last?.pid)?.id ?? 'a worker'
  switch (state) {
    case 'coming':
      return what
    case 'running':
      return `${attempt} runs in ${worker}`
    case 'retrying':
      return `${attempt} failed: ${plain(row?.retries.at(-1)?.failure.message ?? '')}`
    case 'cutOff':
      return `${attempt} died with ${worker}; nothing recorded`
    case 'waiting':
      return `${what}: waiting`
    case 'recorded': {
      const took = formatDuration((row?.to?.getTime() ?? 0) - (row?.from.getTime() ?? 0))
      return `recorded after ${took}${(last?.attempt ?? 1) > 1 ? `, ${attempt}` : ''}`
    }
    default:
      return unreachable(state)
  }
}
