// Which runs are meant: what users write, and what the store is asked for.
import type { WorkflowContract } from '../definitions/contract.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Status } from '../kernel/run.ts'
import type { ListQuery } from '../stores/store.ts'

export interface RunFilter {
  readonly workflow?: string | WorkflowContract<never, unknown>
  readonly workflowId?: string
  readonly status?: Status | readonly Status[]
  readonly startedAfter?: Date
  readonly startedBefore?: Date
}

export interface Page<out T> {
  readonly items: readonly T[]
  readonly cursor?: string
}

const statuses: readonly Status[] = [
  'pending',
  'running',
  'waiting',
  'paused',
  'compensating',
  'completed',
  'failed',
  'cancelled',
]

export function queryOf(filter: RunFilter): Omit<ListQuery, 'limit'> {
  const { workflow, workflowId, status, startedAfter, startedBefore } = filter
  const wanted = status === undefined ? undefined : [status].flat()
  const unknown = wanted?.find((each) => !statuses.includes(each))
  if (unknown !== undefined) {
    throw new PawlError(
      'INPUT_INVALID',
      `status '${unknown}' is not one of ${statuses.join(', ')}.`,
    )
  }
  return {
    ...(workflow !== undefined && {
      names: [typeof workflow === 'string' ? workflow : workflow.name],
    }),
    ...(wanted && { statuses: wanted }),
    ...(workflowId !== undefined && { workflowId }),
    ...(startedAfter && { createdAfter: startedAfter.getTime() }),
    ...(startedBefore && { createdBefore: startedBefore.getTime() }),
  }
}
