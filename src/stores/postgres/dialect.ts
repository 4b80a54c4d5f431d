// How Postgres words what the SQL stores have in common, and the conditions it tests in its own way: on columns that
// the server has statistics of, and so that each part of a condition finds its rows in an index.
import { isUuid } from '../../core/base/names.ts'
import type { AttributeTest, Status } from '../../core/stores/driver.ts'
import { attributeColumns } from '../sql/attributes.ts'
import { both, type Condition, isReason } from '../sql/conditions.ts'
import { COMPARISONS, statusesOf } from '../sql/rows.ts'
import { COMPENSATES, type Dialect, SHOWS_REASON } from '../sql/texts.ts'

export function postgresDialect(schema: string): Dialect {
  return {
    table: (name) => `${schema}.${name}`,
    jsonRows: (fields, alias, order) => {
      const values = fields.map((field) => `'${field}', ${alias}.${field}`).join(', ')
      return `json_agg(json_build_object(${values})${order === undefined ? '' : ` order by ${order}`})`
    },
  }
}

/** A text whose values are numbered, as the driver needs them. */
export function numbered(text: string): string {
  let count = 0
  return text.replaceAll('?', () => `$${++count}`)
}

export function hasStatus(statuses: readonly Status[]): Condition {
  const { live, closed } = statusesOf(statuses)
  const plain = `(live.status = any(?) and not (${COMPENSATES}))`
  const isLive = live.includes('compensating') ? `(${plain} or (${COMPENSATES}))` : plain
  const tests = [...(live.length > 0 ? [isLive] : []), ...(closed.length > 0 ? ['closed.status = any(?)'] : [])]
  const values = [live, closed].filter((each) => each.length > 0)
  return { where: `(${tests.join(' or ') || 'false'})`, values }
}

/** Tested on the one table that has the runs, if there is one, because its index finds few rows at once. */
export function hasReason(reason: string, table: 'live' | 'closed' | undefined): Condition {
  const closed = isReason('closed.reason', reason)
  const live = both<unknown>({ where: SHOWS_REASON, values: [] }, isReason('live.reason', reason))
  if (table !== undefined) return table === 'live' ? live : closed
  return { where: `(${live.where} or ${closed.where})`, values: [...live.values, ...closed.values] }
}

/** By the rows of each table, because their indexes find few rows at once. */
export function isPinned(pin: string, inner: 'live' | 'closed' | undefined, { table }: Dialect): Condition {
  if (inner !== undefined) return { where: `${inner}.pin = ?`, values: [pin] }
  const of = (name: string): string => `select run_id from ${table(name)} where pin = ?`
  return { where: `run.run_id in (${of('live')} union all ${of('closed')})`, values: [pin, pin] }
}

/** A run without a name is called by its id. That is tested only where the name can be an id. */
export function isNamed(workflowId: string): Condition {
  if (!isUuid(workflowId)) return { where: '(run.workflow_id = ?)', values: [workflowId] }
  const where = '(run.workflow_id = ? or (run.run_id = ? and run.workflow_id is null))'
  return { where, values: [workflowId, workflowId] }
}

/** Whether runs have the text of a test as a value, in a list, or both. */
type Where = 'values' | 'lists' | 'both'
export type Places = ReadonlyMap<AttributeTest, Where>

/** A value that an older release has set hides the list that it replaced. `of` is the table whose runs are tested. */
export function hasAttribute(
  { name, is, value }: AttributeTest,
  where: Where,
  { table }: Dialect,
  of: 'run' | 'live' | 'closed',
): Condition {
  const { kind, text, number } = attributeColumns(value)
  const [column, other] = text === null ? ['number', number] : ['text', text]
  const isIn = `select i.run_id from ${table('attribute_item')} i where i.name = ? and i.text = ?`
  const hidden = (by: string): string =>
    `exists (select 1 from ${table('attribute')} a where a.run_id = ${by}.run_id and a.name = ?)`
  if (where === 'lists')
    return {
      where: `${of}.run_id in (${isIn}) and not ${hidden(of)}`,
      values: [name, other, name],
    }
  const isSo = `select a.run_id from ${table('attribute')} a where a.name = ? and a.kind = ?
    and a.${column} ${COMPARISONS[is]} ?`
  const values = [name, kind, other]
  if (where === 'values') return { where: `${of}.run_id in (${isSo})`, values }
  return {
    where: `${of}.run_id in (${isSo} union all ${isIn} and not ${hidden('i')})`,
    values: [...values, name, other, name],
  }
}
