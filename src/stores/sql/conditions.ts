// What the runs of a query must fulfil, as conditions on their rows.
import { PawlError } from '../../core/base/errors.ts'
import { type AttributeTest, type ListQuery, type Status } from '../../core/stores/driver.ts'
import { readCursor } from './rows.ts'

/** A condition with its values, one for each `?`. */
export interface Condition<Value = unknown> {
  readonly where: string
  readonly values: readonly Value[]
}

/** What each database tests in its own way, because its indexes and its planner are its own. */
export interface OwnConditions<Value> {
  readonly names: (names: readonly string[]) => Condition<Value>
  readonly statuses: (statuses: readonly Status[]) => Condition<Value>
  readonly workflowId: (workflowId: string) => Condition<Value>
  readonly attribute: (test: AttributeTest) => Condition<Value>
}

/** All that a run of the query must fulfil. */
export function conditionOf<Value>(
  query: ListQuery,
  own: OwnConditions<Value | string | number>,
): Condition<Value | string | number> {
  const { names, statuses, workflowId, pin, attributes = [] } = query
  return both<Value | string | number>(
    ...createdWithin(query),
    ...(names ? [own.names(names)] : []),
    ...(statuses ? [own.statuses(statuses)] : []),
    ...(workflowId === undefined ? [] : [own.workflowId(workflowId)]),
    ...(pin === undefined ? [] : [{ where: 'coalesce(live.pin, closed.pin) = ?', values: [pin] }]),
    ...attributes.map(own.attribute),
  )
}

/** Where a walk from the newest run begins, behind which place, and before which instant it ends. */
export function boundsOf({ createdAfter, createdBefore, cursor }: ListQuery): {
  readonly behind?: readonly [createdAt: number, runId: string]
  readonly since?: number
} {
  const places: [number, string][] = [
    ...(createdBefore === undefined ? [] : ([[createdBefore, '']] as [number, string][])),
    ...(cursor === undefined ? [] : [placeOf(cursor)]),
  ]
  const [behind] = places.sort(([a, x], [b, y]) => a - b || (x < y ? -1 : 1))
  return { ...(behind && { behind }), ...(createdAfter !== undefined && { since: createdAfter }) }
}

function createdWithin(query: ListQuery): Condition<string | number>[] {
  const { behind, since } = boundsOf(query)
  const [createdAt, runId] = behind ?? []
  const before = runId
    ? { where: '(run.created_at, run.run_id) < (?, ?)', values: [createdAt ?? 0, runId] }
    : { where: 'run.created_at < ?', values: [createdAt ?? 0] }
  return [
    ...(behind ? [before] : []),
    ...(since === undefined ? [] : [{ where: 'run.created_at >= ?', values: [since] }]),
  ]
}

export function placeOf(cursor: string): [createdAt: number, runId: string] {
  const place = readCursor(cursor)
  if (place) return [place.createdAt, place.runId]
  throw new PawlError(
    'INPUT_INVALID',
    'the cursor is not one that list returned. Leave it out to start at the newest run.',
  )
}

/** All of these. */
export function both<Value>(...all: readonly Condition<Value>[]): Condition<Value> {
  const tested = all.filter(({ where }) => where !== 'true')
  if (tested.length === 0) return { where: 'true', values: [] }
  return {
    where: tested.map(({ where }) => where).join(' and '),
    values: tested.flatMap(({ values }) => values),
  }
}
