// Which runs have an attribute, as a condition of a query.
import { type AttributeTest, attributeColumns } from '../../core/stores/driver.ts'
import { COMPARISONS } from '../sql/rows.ts'

/** Whether runs have the text of a test as a value, in a list, or some the one and some the other. */
type Where = 'values' | 'lists' | 'both'
export type Places = ReadonlyMap<AttributeTest, Where>

/** A value that an older release has set hides the list it took the place of. */
export function attributeCondition(
  { test: { name, is, value }, where }: { readonly test: AttributeTest; readonly where: Where },
  schema: string,
  place: (value: unknown) => string,
): string {
  const { kind, text, number } = attributeColumns(value)
  const named = place(name)
  const [column, other] = text === null ? ['number', place(number)] : ['text', place(text)]
  const isIn = `select i.run_id from ${schema}.attribute_item i where i.name = ${named} and i.text = ${other}`
  const hidden = (by: string): string =>
    `exists (select 1 from ${schema}.attribute a where a.run_id = ${by}.run_id and a.name = ${named})`
  if (where === 'lists') return `run.run_id in (${isIn}) and not ${hidden('run')}`
  const isSo = `select a.run_id from ${schema}.attribute a where a.name = ${named} and a.kind = ${place(kind)}
    and a.${column} ${COMPARISONS[is]} ${other}`
  const also = where === 'both' ? ` union all ${isIn} and not ${hidden('i')}` : ''
  return `run.run_id in (${isSo}${also})`
}
