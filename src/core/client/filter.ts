// Which runs are meant: what users write, and what the store is asked for.

import {
  checkOptions,
  type Described,
  type Description,
  given,
  moment,
  option,
  text,
  whole,
} from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { checkKnownName } from '../base/names.ts'
import { type AttributeScalar, isNamed, storedScalar } from '../definitions/attributes.ts'
import type { Startable } from '../definitions/contract.ts'
import { runNameOf } from '../definitions/standalone.ts'
import type { Status } from '../kernel/run.ts'
import type { AttributeTest, ListQuery } from '../stores/store.ts'

const statuses = [
  'pending',
  'running',
  'waiting',
  'paused',
  'compensating',
  'completed',
  'failed',
  'cancelled',
] as const satisfies readonly Status[]

function isStartable(value: unknown): boolean {
  const { is } = (value ?? {}) as { readonly is?: unknown }
  return is === 'workflow' || is === 'activity'
}

export const runFilter = {
  workflow: option<string | Startable<never, unknown>>(
    'Runs of this workflow, or of this activity on its own.',
    'a workflow, or its name',
    (value) => typeof value === 'string' || isStartable(value),
  ),
  workflowId: text('Runs of this workflow id.'),
  status: option<Status | readonly Status[]>(
    'Runs in one of these states.',
    `one or several of ${statuses.join(', ')}`,
    (value) => [value].flat().every((each) => (statuses as readonly unknown[]).includes(each)),
  ),
  /** Equal to a value, or within bounds; all must hold. A value of another type is not found. A list is equal to each of its texts. */
  attributes: option<Readonly<Record<string, Compare>>>(
    'Runs with these attributes: equal to a value, or to one of a list, or within bounds. All must hold.',
    'an object of attributes',
    isNamed,
  ),
  startedAfter: moment('Runs that were started after this.'),
  startedBefore: moment('Runs that were started before this.'),
} as const
/** Which runs to list, count, check, export or batch. All conditions must hold. */
export interface RunFilter extends Described<typeof runFilter> {}

/** A value of an attribute, or a range of them. */
export type Compare =
  | AttributeScalar
  | {
      readonly gt?: AttributeScalar
      readonly gte?: AttributeScalar
      readonly lt?: AttributeScalar
      readonly lte?: AttributeScalar
    }

export const pageOptions = {
  limit: whole('How many at most.', [1, limits.listPageMax], {
    otherwise: String(limits.listPageDefault),
  }),
  cursor: text('Where the page before ended.'),
} as const
export interface PageOptions extends Described<typeof pageOptions> {}

/** What the store is asked for. */
export function pageOf(page: PageOptions): { readonly limit: number; readonly cursor?: string } {
  checkOptions(pageOptions, page, { of: 'a list' })
  const { limit = limits.listPageDefault, cursor } = page
  return { limit, ...(cursor !== undefined && { cursor }) }
}

/** A part of a list; `cursor` goes into the next call, and is absent at the end. */
export interface Page<out T> {
  readonly items: readonly T[]
  readonly cursor?: string
}

export function queryOf(filter: RunFilter): Omit<ListQuery, 'limit'> {
  checkOptions(runFilter, filter, { of: 'a filter of runs' })
  const { workflow, workflowId, status, attributes, startedAfter, startedBefore } = filter
  const wanted = status === undefined ? undefined : [status].flat()
  return {
    ...(workflow !== undefined && {
      names: [typeof workflow === 'string' ? workflow : runNameOf(workflow)],
    }),
    ...(wanted && { statuses: wanted }),
    ...(workflowId !== undefined && { workflowId }),
    ...(attributes && { attributes: Object.entries(attributes).flatMap(testsOf) }),
    ...(startedAfter && { createdAfter: startedAfter.getTime() }),
    ...(startedBefore && { createdBefore: startedBefore.getTime() }),
  }
}

const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const
const comparison: Description = Object.fromEntries(
  COMPARISONS.map((name) => [name, given('A bound.', 'a value')]),
)

function testsOf([given, compare]: [string, Compare]): AttributeTest[] {
  const name = checkKnownName(given, 'the name of an attribute')
  const scalar = (value: unknown): AttributeTest['value'] => {
    if (Array.isArray(value)) throw comparedWithList(name)
    if (value !== null) return storedScalar(name, value)
    const message = `attribute '${name}' is compared with null. Runs without an attribute cannot be listed; give a value.`
    throw new PawlError('INPUT_INVALID', message)
  }
  if (typeof compare !== 'object' || compare instanceof Date || compare === null) {
    return [{ name, is: 'eq', value: scalar(compare) }]
  }
  if (Array.isArray(compare)) throw comparedWithList(name)
  checkOptions(comparison, compare, { of: `the comparison of attribute '${name}'` })
  const tests = COMPARISONS.flatMap((is): AttributeTest[] => {
    const value = compare[is]
    return value === undefined ? [] : [{ name, is, value: scalar(value) }]
  })
  if (tests.length > 0) return tests
  const message = `attribute '${name}' is compared with nothing: give a value, or gt, gte, lt or lte.`
  throw new PawlError('INPUT_INVALID', message)
}

function comparedWithList(name: string): PawlError {
  const message = `attribute '${name}' is compared with a list. Give one text: runs are found whose list has it.`
  return new PawlError('INPUT_INVALID', message)
}
