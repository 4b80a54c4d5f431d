// Schemas as a library would make them, small enough to read.
import type { Schema } from 'pawl'
import type { SchemaIssue, SchemaResult } from '../../src/core/definitions/schema.ts'

type Found<Parsed> = { readonly value: Parsed } | { readonly issues: readonly SchemaIssue[] }

export function schemaOf<Accepted, Parsed>(
  validate: (value: unknown) => Found<Parsed> | Promise<Found<Parsed>>,
): Schema<Accepted, Parsed> {
  const found = validate as (value: unknown) => SchemaResult<Parsed>
  return { '~standard': { version: 1, vendor: 'fake', validate: found } }
}

export interface Order {
  readonly id: string
  readonly cents: number
}

export type Given = Partial<Order>

/** How often it was asked, and a number that is new each time: what a schema does must be seen to happen once. */
export const asked = { orders: 0 }

/** Trims the id, fills in the amount, and finds everything that is wrong. */
export const orderSchema = schemaOf<Given, Order>((value) => {
  asked.orders++
  const { id, cents = asked.orders * 100 } = (value ?? {}) as Given
  const issues: SchemaIssue[] = []
  if (typeof id !== 'string') issues.push({ message: 'expected a text', path: ['id'] })
  if (cents < 0) issues.push({ message: 'too little', path: [{ key: 'cents' }] })
  return id === undefined || issues.length > 0 ? { issues } : { value: { id: id.trim(), cents } }
})

/** Waits for something real before it answers. */
export function slow<Accepted, Parsed>(schema: Schema<Accepted, Parsed>): Schema<Accepted, Parsed> {
  return schemaOf(async (value) => {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return schema['~standard'].validate(value)
  })
}

/** Numbers from 0, as whole numbers. */
export const amountSchema = schemaOf<number, number>((value) =>
  typeof value === 'number' && value >= 0 ? { value: Math.trunc(value) } : { issues: [{ message: 'not an amount' }] },
)
