// Which runs are meant: what users write, and what the store is asked for.
import { type AttributeValue, storedAttribute } from '../definitions/attributes.ts'
import type { WorkflowContract } from '../definitions/contract.ts'
import { PawlError } from '../kernel/errors.ts'
import { checkKnownName } from '../kernel/names.ts'
import type { Status } from '../kernel/run.ts'
import type { AttributeTest, ListQuery } from '../stores/store.ts'

export interface RunFilter {
  readonly workflow?: string | WorkflowContract<never, unknown>
  readonly workflowId?: string
  readonly status?: Status | readonly Status[]
  /** Equal to a value, or within bounds; all must hold. A value of another type is not found. */
  readonly attributes?: Readonly<Record<string, Compare>>
  readonly startedAfter?: Date
  readonly startedBefore?: Date
}

export type Compare =
  | AttributeValue
  | {
      readonly gt?: AttributeValue
      readonly gte?: AttributeValue
      readonly lt?: AttributeValue
      readonly lte?: AttributeValue
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
  const { workflow, workflowId, status, attributes, startedAfter, startedBefore } = filter
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
    ...(attributes && { attributes: Object.entries(attributes).flatMap(testsOf) }),
    ...(startedAfter && { createdAfter: startedAfter.getTime() }),
    ...(startedBefore && { createdBefore: startedBefore.getTime() }),
  }
}

const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const

function testsOf([given, compare]: [string, Compare]): AttributeTest[] {
  const name = checkKnownName(given, 'the name of an attribute')
  if (typeof compare !== 'object' || compare instanceof Date || compare === null) {
    return [{ name, is: 'eq', value: storedAttribute(name, compare) }]
  }
  const tests = COMPARISONS.flatMap((is): AttributeTest[] => {
    const value = compare[is]
    return value === undefined ? [] : [{ name, is, value: storedAttribute(name, value) }]
  })
  if (tests.length > 0) return tests
  const message = `attribute '${name}' is compared with nothing: give a value, or gt, gte, lt or lte.`
  throw new PawlError('INPUT_INVALID', message)
}
