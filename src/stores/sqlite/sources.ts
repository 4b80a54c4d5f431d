// Where to look for the runs of a query, and the conditions they must fulfil.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { limits } from '../../core/base/limits.ts'
import type { AttributeTest, ListQuery, Status } from '../../core/stores/driver.ts'
import { attributeColumns } from '../sql/attributes.ts'
import {
  beginsWith,
  both,
  isReason,
  type Condition as SqlCondition,
  conditionOf as sqlConditionOf,
} from '../sql/conditions.ts'
import { COMPARISONS, statusesOf } from '../sql/rows.ts'
import { LIVE_STATUS, REASON, SHOWS_REASON, STATUS } from '../sql/texts.ts'

type Condition = SqlCondition<SQLInputValue>

/** A table or index with some runs, in an order in which a walk can be resumed. */
export interface Source extends Condition {
  readonly table: string
  readonly index?: string
  /** True if the newest come first; otherwise the order is by run id. */
  readonly isOrdered: boolean
  /** It is a range of an index, in no order in which a walk could be resumed. It is read at once. */
  readonly isRange?: true
  /** Tested on a row of the source before it is joined with its run. */
  readonly filter?: Condition
}

type Aspect =
  | 'workflowId'
  | 'workflowIdPrefix'
  | 'parentId'
  | 'reason'
  | 'statuses'
  | 'names'
  | 'attributes'
  | 'created'
  | 'pin'

/** Sources that together have every run of the query. */
export interface Plan {
  readonly sources: readonly Source[]
  /** Parts of the query that every run of these sources fulfils. */
  readonly covers: readonly Aspect[]
}

/** Ways to find the runs of a query, the most promising first. A plan without sources means that there are no runs. */
export function plansOf(query: ListQuery, database: DatabaseSync): Plan[] {
  const { workflowId, workflowIdPrefix, parentId, reason, pin, statuses, names, attributes = [] } = query
  const plans: Plan[] = []
  const add = (sources: Source[], ...covers: Aspect[]): void => {
    const bounded = sources.every(({ isOrdered }) => isOrdered) ? (['created'] as const) : []
    plans.push({ sources, covers: [...covers, ...bounded] })
  }
  if (workflowId !== undefined) add(namesakes(workflowId), 'workflowId')
  if (parentId !== undefined) add([ordered('pawl_run', 'pawl_run_parent', isSet('parent_id', parentId))], 'parentId')
  if (workflowIdPrefix !== undefined) add([withPrefix(workflowIdPrefix)], 'workflowIdPrefix')
  if (reason !== undefined) add(withReason(reason, statuses), 'reason', 'statuses')
  if (pin !== undefined) add(pinnedTo(pin), 'pin')
  if (statuses) add(withStatuses(statuses), 'statuses')
  const lanes = names && lanesOf(database, names)
  if (lanes && lanes.length <= limits.listLanesMax)
    add(
      lanes.map((lane) => ordered('pawl_run', 'pawl_run_lane', is('lane', lane))),
      'names',
    )
  for (const test of attributes) {
    const covers = attributes.length === 1 ? (['attributes'] as const) : []
    add(test.is === 'eq' ? withAttribute(test) : [withAttributeIn(test)], ...covers)
  }
  add([NEWEST])
  return plans
}

export const NEWEST: Source = {
  table: 'pawl_run',
  index: 'pawl_run_created',
  where: 'true',
  values: [],
  isOrdered: true,
}

/** The parts of a query. */
export function aspectsOf(query: ListQuery): Aspect[] {
  const { workflowId, workflowIdPrefix, parentId, reason, statuses, names, attributes, pin } = query
  const { createdAfter, createdBefore, cursor } = query
  const asked: [Aspect, unknown][] = [
    ['workflowId', workflowId],
    ['workflowIdPrefix', workflowIdPrefix],
    ['parentId', parentId],
    ['reason', reason],
    ['statuses', statuses],
    ['names', names],
    ['attributes', attributes?.[0]],
    ['pin', pin],
    ['created', createdAfter ?? createdBefore ?? cursor],
  ]
  return asked.flatMap(([aspect, given]) => (given === undefined ? [] : [aspect]))
}

/** What is left of a query for the runs of a plan. */
export function restOf(query: ListQuery, { covers }: Plan): ListQuery {
  const rest: Partial<Record<keyof ListQuery, unknown>> = { ...query }
  for (const aspect of covers) for (const field of aspect === 'created' ? CREATED : [aspect]) delete rest[field]
  return rest as unknown as ListQuery
}

const CREATED = ['createdAfter', 'createdBefore', 'cursor'] as const

/** All that a run must fulfil, tested on its rows. */
export function conditionOf(query: ListQuery): Condition {
  return sqlConditionOf<SQLInputValue>(query, {
    names: (names) => {
      const named = oneOf('name', names)
      return { where: `run.lane in (select lane from pawl_lane where ${named.where})`, values: named.values }
    },
    statuses: (statuses) => oneOf(STATUS, statuses),
    workflowId: (workflowId) => is('coalesce(run.workflow_id, run.run_id)', workflowId),
    parentId: (parentId) => is('run.parent_id', parentId),
    reason: (reason) => isReason(REASON, reason),
    pin: (pin) => is('coalesce(live.pin, closed.pin)', pin),
    attribute: hasAttribute,
  })
}

function hasAttribute({ name, is: comparison, value }: AttributeTest): Condition {
  const { kind, text, number } = attributeColumns(value)
  const [column, other] = text === null ? ['number', number] : ['text', text]
  // The plus keeps SQLite from walking through all runs in the range for each run it tests.
  const isSo = `exists (select 1 from pawl_attribute a where a.run_id = run.run_id and a.name = ? and a.kind = ?
      and +a.${column} ${COMPARISONS[comparison]} ?)`
  if (comparison !== 'eq' || text === null) return { where: isSo, values: [name, kind, other] }
  const isIn = `exists (select 1 from pawl_attribute_item i where i.run_id = run.run_id and i.name = ? and +i.text = ?)`
  return { where: `(${isSo} or ${isIn})`, values: [name, kind, text, name, text] }
}

function oneOf(column: string, values: readonly string[]): Condition {
  const where = `${column} in (select value from json_each(?))`
  return { where, values: [JSON.stringify(values)] }
}

// A run without a name is called by its id, and that name is not stored.
function namesakes(workflowId: string): Source[] {
  const named = { where: 'workflow_id = ? and workflow_id is not null', values: [workflowId] }
  const called = { where: 'run_id = ? and workflow_id is null', values: [workflowId] }
  return [ordered('pawl_run', 'pawl_run_workflow', named), ordered('pawl_run', undefined, called)]
}

function withPrefix(prefix: string): Source {
  const named = both(beginsWith('workflow_id', prefix), { where: 'workflow_id is not null', values: [] })
  return { table: 'pawl_run', index: 'pawl_run_workflow', ...named, isOrdered: false, isRange: true }
}

function pinnedTo(pin: string): Source[] {
  return [filtered('pawl_live', is('pin', pin)), ordered('pawl_closed', 'pawl_closed_pin', isSet('pin', pin))]
}

/** Runs that show a reason, of the statuses that are wanted. */
function withReason(reason: string, statuses?: readonly Status[]): Source[] {
  const found = both(isReason('reason', reason), { where: 'reason is not null', values: [] })
  const wanted = statuses && statusesOf([...new Set(statuses)])
  const shown = { where: SHOWS_REASON, values: [] }
  const open = wanted ? both(shown, oneOf(LIVE_STATUS, wanted.live)) : shown
  const ended = wanted ? { filter: oneOf('status', wanted.closed) } : {}
  const isRange = reason.endsWith(':') ? ({ isRange: true } as const) : {}
  const live: Source = {
    ...{ table: 'pawl_live live', index: 'pawl_live_reason', ...found, filter: open, isOrdered: false, ...isRange },
  }
  const closed: Source = {
    ...{
      table: 'pawl_closed',
      index: 'pawl_closed_reason',
      ...found,
      ...ended,
      isOrdered: !isRange.isRange,
      ...isRange,
    },
  }
  return [...(wanted?.live.length === 0 ? [] : [live]), ...(wanted?.closed.length === 0 ? [] : [closed])]
}

// Runs in progress come first, so that a run that ends meanwhile is found twice rather than never.
function withStatuses(statuses: readonly Status[]): Source[] {
  const { live, closed } = statusesOf([...new Set(statuses)])
  const open = oneOf(LIVE_STATUS, live)
  return [...(live.length > 0 ? [filtered('pawl_live live', open)] : []), ...closed.map(ended)]
}

// Most runs complete, so enough of them are among the newest, and an index of them would slow down every end.
function ended(status: Status): Source {
  const condition = is('status', status)
  if (status === 'completed') return filtered('pawl_closed', condition)
  const indexed = both(condition, { where: "status <> 'completed'", values: [] })
  return ordered('pawl_closed', 'pawl_closed_status', indexed)
}

// An attribute is a value or a list, so no run is in two of the sources.
function withAttribute({ name, value }: AttributeTest): Source[] {
  const { kind, text, number } = attributeColumns(value)
  const found = (table: string, index: string, where: string, ...values: SQLInputValue[]): Source => ({
    table,
    index,
    ...both(is('name', name), { where, values }),
    isOrdered: false,
  })
  if (text === null) {
    const where = 'kind = ? and number = ? and number is not null'
    return [found('pawl_attribute', 'pawl_attribute_number', where, kind, number)]
  }
  return [
    found('pawl_attribute', 'pawl_attribute_text', 'text = ? and text is not null', text),
    found('pawl_attribute_item', 'pawl_attribute_item_text', 'text = ?', text),
  ]
}

/** An attribute within a bound. Lists have no order. */
function withAttributeIn({ name, is: comparison, value }: AttributeTest): Source {
  const { kind, text, number } = attributeColumns(value)
  const [column, bound] = text === null ? ['number', number] : ['text', text]
  const within = `name = ? and kind = ? and ${column} ${COMPARISONS[comparison]} ? and ${column} is not null`
  const found = { where: within, values: [name, kind, bound] }
  return { table: 'pawl_attribute', index: `pawl_attribute_${column}`, ...found, isOrdered: false, isRange: true }
}

function lanesOf(database: DatabaseSync, names: readonly string[]): number[] {
  const text = `select lane from pawl_lane where kind = 'run' and name in (select value from json_each(?)) limit ?`
  const rows = database.prepare(text).all(JSON.stringify(names), limits.listLanesMax + 1)
  return (rows as { lane: number }[]).map(({ lane }) => lane)
}

function ordered(table: string, index: string | undefined, condition: Condition): Source {
  return { table, ...(index !== undefined && { index }), ...condition, isOrdered: true }
}

function filtered(table: string, filter: Condition): Source {
  return { table, where: 'true', values: [], isOrdered: false, filter }
}

/** Of a column whose index leaves out rows without a value. */
function isSet(column: string, value: SQLInputValue): Condition {
  return both(is(column, value), { where: `${column} is not null`, values: [] })
}

function is(column: string, value: SQLInputValue): Condition {
  return { where: `${column} = ?`, values: [value] }
}
