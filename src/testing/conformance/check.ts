// Assertions whose messages say what was expected, then show the difference.
import assert from 'node:assert/strict'

/** Deep equality. Objects without a prototype, which some drivers return, count as plain objects. */
export function same<T>(actual: T, expected: NoInfer<T>, what: string): void {
  try {
    assert.deepEqual(structuredClone(actual), expected)
  } catch (error) {
    throw new Error(`${what}\n${error instanceof Error ? error.message : String(error)}`)
  }
}

export function holds(condition: boolean, what: string): asserts condition {
  assert.ok(condition, what)
}

/** Returns the element of a list that must have exactly one. */
export function only<T>(list: readonly T[], what: string): T {
  const [first] = list
  holds(list.length === 1 && first !== undefined, `${what}: expected one, got ${list.length}`)
  return first
}

export function present<T>(value: T | undefined, what: string): T {
  holds(value !== undefined, `${what}: expected a value, got none`)
  return value
}

export function outcomes<T extends string>(results: readonly { readonly outcome: T }[]): T[] {
  return results.map((each) => each.outcome)
}
