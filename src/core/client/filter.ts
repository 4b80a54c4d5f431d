// Filters of runs: from what users write to the query of the store.

import { defined } from '../base/defined.ts'
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
import { runNameOf } from '../definitions/own-workflows.ts'
import { ENDED, LIVE, type Status } from '../kernel/run.ts'
import type { AttributeTest, ListQuery } from '../stores/store.ts'

const statuses: readonly Status[] = [...LIVE, ...ENDED]
const status = { type: 'string', enum: statuses }

function isStartable(value: unknown): boolean {
  const { is } = (value ?? {}) as { readonly is?: unknown }
  return is === 'workflow' || is === 'activity'
}

export const runFilter = {
  /** Runs of this workflow, or of this standalone activity. */
  workflow: option<string | Startable<never, unknown>>(
    'Runs of this workflow, or of this standalone activity.',
    'a workflow, or its name',
    (value) => typeof value === 'string' || isStartable(value),
    { schema: { type: 'string' } },
  ),
  /** Runs of this workflow id. */
  workflowId: text('Runs of this workflow id.'),
  /** Runs in one of these states. */
  status: option<Status | readonly Status[]>(
    'Runs in one of these states.',
    `one or several of ${statuses.join(', ')}`,
    (value) => [value].flat().every((each) => (statuses as readonly unknown[]).includes(each)),
    { schema: { anyOf: [status, { type: 'array', items: status }] } },
  ),
  /**
   * Runs with these attributes, each equal to a value or within bounds: `{ region: 'eu', total: { gte: 100 } }`. An
   * attribute that is a list matches each of its strings; a value of another type does not match.
   */
  attributes: option<Readonly<Record<string, Compare>>>(
    'Runs with these attributes: each equal to the value, to one of its list, or within the bounds.',
    'an object of attributes',
    isNamed,
    { schema: { type: 'object' } },
  ),
  /** Runs that were started after this time. */
  startedAfter: moment('Runs that were started after this time.'),
  /** Runs that were started before this time. */
  startedBefore: moment('Runs that were started before this time.'),
} as const
/** Which runs to list, count, check, export or change in a batch. A run must meet all conditions. */
export interface RunFilter extends Described<typeof runFilter> {}

/** The value of an attribute, or bounds: `{ gt: 10, lte: 20 }`. */
export type Compare =
  | AttributeScalar
  | {
      readonly gt?: AttributeScalar
      readonly gte?: AttributeScalar
      readonly lt?: AttributeScalar
      readonly lte?: AttributeScalar
    }

export const pageOptions = {
  /** How many items a page has at most. Default 50. */
  limit: whole('How many items a page has at most.', [1, limits.listPageMax], {
    otherwise: String(limits.listPageDefault),
  }),
  /** The `cursor` of the page before. */
  cursor: text('The `cursor` of the page before.'),
} as const
export interface PageOptions extends Described<typeof pageOptions> {}

export function pageOf(page: PageOptions): { readonly limit: number; readonly cursor?: string } {
  checkOptions(pageOptions, page, { of: 'a list' })
  const { limit = limits.listPageDefault, cursor } = page
  return defined({ limit, cursor })
}

/** One page of a list. */
export interface Page<out T> {
  readonly items: readonly T[]
  /** Pass it to the next call to get the next page. Absent on the last page. */
  readonly cursor?: string
}

export function queryOf(filter: RunFilter): Omit<ListQuery, 'limit'> {
  checkOptions(runFilter, filter, { of: 'a filter of runs' })
  const { workflow, workflowId, status, attributes, startedAfter, startedBefore } = filter
  return defined({
    names: workflow === undefined ? undefined : [nameOf(workflow)],
    statuses: status === undefined ? undefined : [status].flat(),
    workflowId,
    attributes: attributes && Object.entries(attributes).flatMap(testsOf),
    createdAfter: startedAfter?.getTime(),
    createdBefore: startedBefore?.getTime(),
  })
}

function nameOf(workflow: string | Startable<never, unknown>): string {
  return typeof workflow === 'string' ? workflow : runNameOf(workflow)
}

const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const
const comparison: Description = Object.fromEntries(COMPARISONS.map((name) => [name, given('A bound.', 'a value')]))

function testsOf([given, compare]: [string, Compare]): AttributeTest[] {
  const name = checkKnownName(given, 'the name of an attribute')
  const scalar = (value: unknown): AttributeTest['value'] => {
    if (Array.isArray(value)) throw comparedWithList(name)
    if (value !== null) return storedScalar(name, value)
    const message = `attribute '${name}' is compared with null; expected a value. Runs without it cannot be listed.`
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
  const message = `attribute '${name}' is compared with nothing; expected a value, or gt, gte, lt or lte.`
  throw new PawlError('INPUT_INVALID', message)
}

function comparedWithList(name: string): PawlError {
  const message = `attribute '${name}' is compared with a list; expected one string, which matches lists that have it.`
  return new PawlError('INPUT_INVALID', message)
}
