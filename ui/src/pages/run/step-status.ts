// Where a step stands, as one of the statuses that have a shape and a colour.
import type { StepRecord } from 'pawl/client'

const statuses: Readonly<Record<StepRecord['state'], string>> = {
  'not started': 'none',
  delayed: 'waiting',
  waiting: 'waiting',
  running: 'running',
  completed: 'completed',
  failed: 'failed',
  'timed out': 'failed',
  cancelled: 'cancelled',
  skipped: 'cancelled',
}

export function statusOfStep(state: StepRecord['state'], kind: string): string {
  return kind === 'undo' && state === 'running' ? 'compensating' : statuses[state]
}

export function isBegun({ state }: StepRecord): boolean {
  return state !== 'not started' && state !== 'delayed' && state !== 'skipped'
}
