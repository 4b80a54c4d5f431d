// Attributes as rows. A list has no row in the table of attributes, but one row for each of its texts in another table.
// So each text is found by an index, and an older release, which does not know lists, still reads and writes all other
// attributes.
import {
  type AttributeKind,
  type AttributeScalar,
  type Attributes,
  type AttributeValue,
  comparable,
} from '../../core/stores/driver.ts'

export interface AttributeColumns {
  readonly kind: AttributeKind
  readonly text: string | null
  readonly number: number | null
}

/** A value as a row of a table: its kind, and a column for text or one for numbers. */
export function attributeColumns(value: AttributeScalar): AttributeColumns {
  const [kind, number] = comparable(value)
  if (typeof value === 'string') return { kind, text: value, number: null }
  return { kind, text: null, number: number as number }
}

/** The value of a row. */
function attributeOf(row: AttributeColumns): AttributeScalar {
  switch (row.kind) {
    case 'text':
      return row.text ?? ''
    case 'number':
      return row.number ?? 0
    case 'boolean':
      return row.number === 1
    case 'instant':
      return { at: row.number ?? 0 }
  }
}

/** The texts of a list as rows of a table, in order. An empty list has one row without a text. */
export function itemsOf(list: readonly string[]): readonly (string | null)[] {
  return list.length === 0 ? [null] : list
}

/** Rows of both tables as attributes. A value of an older release hides the list that it replaced. */
export function attributesOfRows(
  rows: readonly (AttributeColumns & { readonly name: string })[],
  items: readonly { readonly name: string; readonly text: string | null }[],
): Attributes {
  if (rows.length + items.length === 0) return {}
  const all = new Map<string, AttributeValue>()
  for (const [name, each] of Map.groupBy(items, ({ name }) => name))
    all.set(
      name,
      each.flatMap(({ text }) => text ?? []),
    )
  for (const row of rows) all.set(row.name, attributeOf(row))
  return Object.fromEntries([...all].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
