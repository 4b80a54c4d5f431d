// What an attribute is compared by. Values of different kinds are never equal and have no order: the text '5' is not the
// number 5. Texts are compared by the bytes of their UTF-8, as SQLite and Postgres (collation C) do.
import type { AttributeValue } from './store.ts'

export type AttributeKind = 'text' | 'number' | 'boolean' | 'instant'

/** Its kind, and something that JavaScript compares within the kind as every store does. */
export function comparable(value: AttributeValue): [AttributeKind, string | number] {
  switch (typeof value) {
    case 'string':
      return ['text', Buffer.from(value).toString('hex')]
    case 'number':
      return ['number', value]
    case 'boolean':
      return ['boolean', Number(value)]
    default:
      return ['instant', value.at]
  }
}

/** As a row of a table: its kind, and a column for text or one for numbers. */
export function attributeColumns(value: AttributeValue): {
  readonly kind: AttributeKind
  readonly text: string | null
  readonly number: number | null
} {
  const [kind, number] = comparable(value)
  if (typeof value === 'string') return { kind, text: value, number: null }
  return { kind, text: null, number: number as number }
}

/** And back. */
export function attributeOf(row: {
  readonly kind: AttributeKind
  readonly text: string | null
  readonly number: number | null
}): AttributeValue {
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
