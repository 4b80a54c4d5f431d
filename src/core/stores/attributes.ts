// How attributes are compared. Values of different kinds are never equal and have no order: the text '5' is not the
// number 5. Texts are compared by the bytes of their UTF-8, as SQLite and Postgres (collation C) do.
import type { AttributeScalar } from './store.ts'

export type AttributeKind = 'text' | 'number' | 'boolean' | 'instant'

/** The kind of a value, and something that JavaScript compares within the kind as every store does. */
export function comparable(value: AttributeScalar): [AttributeKind, string | number] {
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
