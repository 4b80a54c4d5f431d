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
  readonly parentId: (parentId: string) => Condition<Value>
  readonly reason: (reason: string) => Condition<Value>
  readonly pin: (pin: string) => Condition<Value>
  readonly attribute: (test: AttributeTest) => Condition<Value>
}

/** As a range, so that an index finds it. Columns are compared by the bytes of UTF-8, which is by code points. */
export function beginsWith(column: string, prefix: string): Condition<string> {
  const from = { where: `${column} >= ?`, values: [prefix] }
  const end = endOf(Array.from(prefix))
  return end === undefined ? from : both(from, { where: `${column} < ?`, values: [end] })
}

/** The first text behind all that begin with a prefix; undefined if there is none. */
function endOf(prefix: readonly string[]): string | undefined {
  const last = prefix.at(-1)?.codePointAt(0)
  if (last === undefined) return undefined
  const before = prefix.slice(0, -1)
  if (last === LAST_POINT) return endOf(before)
  const next = last === SURROGATES[0] - 1 ? SURROGATES[1] + 1 : last + 1
  return before.join('') + String.fromCodePoint(next)
}

const LAST_POINT = 0x10ffff
/** Code points that no text has. */
const SURROGATES = [0xd800, 0xdfff] as const

/** A reason that ends with a colon stands for all that begin with it. */
export function isReason(column: string, reason: string): Condition<string> {
  return reason.endsWith(':') ? beginsWith(column, reason) : { where: `${column} = ?`, values: [reason] }
}

/** All that a run of the query must fulfil. */
export function conditionOf<Value>(
  query: ListQuery,
  own: OwnConditions<Value | string | number>,
): Condition<Value | string | number> {
  const { names, statuses, workflowId, workflowIdPrefix, parentId, reason, pin, attributes = [] } = query
  return both<Value | string | number>(
    ...createdWithin(query),
    ...(names ? [own.names(names)] : []),
    ...(statuses ? [own.statuses(statuses)] : []),
    ...(workflowId === undefined ? [] : [own.workflowId(workflowId)]),
    ...(workflowIdPrefix === undefined ? [] : [beginsWith('run.workflow_id', workflowIdPrefix)]),
    ...(parentId === undefined ? [] : [own.parentId(parentId)]),
    ...(reason === undefined ? [] : [own.reason(reason)]),
    ...(pin === undefined ? [] : [own.pin(pin)]),
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

export const ALL = { where: 'true', values: [] } as const

/** All of these. */
export function both<Value>(...all: readonly Condition<Value>[]): Condition<Value> {
  const tested = all.filter(({ where }) => where !== 'true')
  if (tested.length === 0) return { where: 'true', values: [] }
  return {
    where: tested.map(({ where }) => where).join(' and '),
    values: tested.flatMap(({ values }) => values),
  }
}
