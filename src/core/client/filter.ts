// Filters of runs: from what users write to the query of the store.

import { defined } from '../base/defined.ts'
import {
  checkOptions,
  choice,
  type Described,
  type Description,
  given,
  moment,
  option,
  required,
  text,
  whole,
} from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { checkKnownName } from '../base/names.ts'
import { type AttributeScalar, isNamed, storedScalar } from '../definitions/attributes.ts'
import type { Startable } from '../definitions/contract.ts'
import { runNameOf } from '../definitions/own-workflows.ts'
import { NAMELESS, WAIT_KINDS } from '../kernel/reason.ts'
import { ENDED, LIVE, type Status } from '../kernel/run.ts'
import type { AttributeTest, ListQuery } from '../stores/store.ts'
import { checkRunId } from './ids.ts'

const statuses: readonly Status[] = [...LIVE, ...ENDED]
const status = { type: 'string', enum: statuses }

function isStartable(value: unknown): boolean {
  const { is } = (value ?? {}) as { readonly is?: unknown }
  return is === 'workflow' || is === 'activity'
}

export const runFilter = {
  /** Runs of this workflow, or of this standalone activity; or of one of several. */
  workflow: option<string | Startable<never, unknown> | readonly (string | Startable<never, unknown>)[]>(
    'Runs of this workflow, or of this standalone activity; or of one of several.',
    'a workflow, its name, or a list of them',
    (value) => [value].flat().every((each) => typeof each === 'string' || isStartable(each)),
    { schema: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] } },
  ),
  /** Runs of this workflow id. */
  workflowId: text('Runs of this workflow id.'),
  /** Runs whose workflow id begins with this. Runs without a workflow id of their own have none. */
  workflowIdPrefix: text('Runs whose workflow id begins with this. Runs without a workflow id of their own have none.'),
  /** Children of this run, by its run id. */
  parentRunId: text('Children of this run, by its run id.'),
  /** Runs in one of these states. */
  status: option<Status | readonly Status[]>(
    'Runs in one of these states.',
    `one or several of ${statuses.join(', ')}`,
    (value) => [value].flat().every((each) => (statuses as readonly unknown[]).includes(each)),
    { schema: { anyOf: [status, { type: 'array', items: status }] } },
  ),
  /** Runs that wait for this: a kind as `why` has it, or with a name: `timer`, `signal`, `signal:approval`. */
  waitingFor: option<string>(
    'Runs that wait for this: a kind as `why` has it, or with a name: `signal`, `signal:approval`.',
    `one of ${WAIT_KINDS.join(', ')}, or one with a name, such as signal:approval`,
    (value) => typeof value === 'string' && WAIT_KINDS.some((kind) => value === kind || value.startsWith(`${kind}:`)),
    { schema: { type: 'string', pattern: `^(${WAIT_KINDS.join('|')})(:.*)?$` } },
  ),
  /** Runs that failed with this type of failure; if a step failed, of its own error. */
  failure: text('Runs that failed with this type of failure; if a step failed, of its own error.'),
  /** Runs that are pinned to this build. */
  build: text('Runs that are pinned to this build.'),
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

export const countOptions = {
  /** Stop counting there. */
  atMost: whole('Stop counting there.', [1, Number.MAX_SAFE_INTEGER], { otherwise: 'count all' }),
} as const
/** How far to count. */
export interface CountOptions extends Described<typeof countOptions> {}

/** What the store calls that by which runs are grouped. */
const GROUP_BY = { workflow: 'name', queue: 'queue', status: 'status', reason: 'reason', build: 'pin' } as const

export const groupOptions = {
  /** What the runs of a group have in common; `reason` is what they wait for, or why they are paused or failed. */
  by: required(
    choice(
      'What the runs of a group have in common; `reason` is what they wait for, or why they are paused or failed.',
      Object.keys(GROUP_BY) as readonly (keyof typeof GROUP_BY)[],
    ),
  ),
  /** How many groups at most: the largest. Default 50. */
  limit: whole('How many groups at most: the largest.', [1, limits.listPageMax], {
    otherwise: String(limits.listPageDefault),
  }),
} as const
/** How to group runs. */
export interface GroupOptions extends Described<typeof groupOptions> {}

/** Runs that have something in common. */
export interface RunGroup {
  /** What they have in common: `order`, `failed`, `signal:approval`, `paused:DETERMINISM`, `failed:CardDeclined`. */
  readonly key: string
  readonly count: number
  /** When the oldest of them was started. */
  readonly oldest: Date
}

export function groupQueryOf(filter: RunFilter, options: GroupOptions): ListQuery {
  checkOptions(groupOptions, options, { of: 'groups' })
  const { by, limit = limits.listPageDefault } = options
  return { ...queryOf(filter), limit, groupBy: GROUP_BY[by] }
}

/** One page of a list. */
export interface Page<out T> {
  readonly items: readonly T[]
  /** Pass it to the next call to get the next page. Absent on the last page. */
  readonly cursor?: string
}

export function queryOf(filter: RunFilter): Omit<ListQuery, 'limit'> {
  checkOptions(runFilter, filter, { of: 'a filter of runs' })
  const { workflow, workflowId, workflowIdPrefix, parentRunId, build, attributes } = filter
  const { startedAfter, startedBefore } = filter
  return defined({
    names: workflow === undefined ? undefined : [workflow].flat().map(nameOf),
    ...reasonIn(filter),
    workflowId,
    workflowIdPrefix,
    parentId: parentRunId === undefined ? undefined : checkRunId(parentRunId),
    pin: build,
    attributes: attributes && Object.entries(attributes).flatMap(testsOf),
    createdAfter: startedAfter?.getTime(),
    createdBefore: startedBefore?.getTime(),
  })
}

/** Waiting and failed runs are found by their reason, and are the only ones that have it. */
function reasonIn({ status, waitingFor, failure }: RunFilter): Pick<ListQuery, 'statuses' | 'reason'> {
  const statuses = status === undefined ? undefined : [status].flat()
  if (waitingFor === undefined && failure === undefined) return defined({ statuses })
  const among: readonly Status[] = failure !== undefined ? ['failed'] : ['waiting', 'compensating']
  const both = waitingFor !== undefined && failure !== undefined
  const wanted = both ? [] : (statuses ?? among).filter((each) => among.includes(each))
  return { statuses: wanted, reason: failure === undefined ? waitReasonOf(waitingFor ?? '') : `failed:${failure}` }
}

/** A kind stands for all its reasons. Timers and conditions have no name. */
function waitReasonOf(given: string): string {
  return given.includes(':') || NAMELESS.some((kind) => kind === given) ? given : `${given}:`
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
