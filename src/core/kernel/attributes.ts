// What a run is found by, as it is stored, and how it changes.

/** What an attribute is compared by. An instant, in milliseconds since 1970, is told from a number. */
export type StoredScalar = string | number | boolean | { readonly at: number }
/** A list of texts is found by each of them. */
export type StoredAttribute = StoredScalar | readonly string[]
export type StoredAttributes = Readonly<Record<string, StoredAttribute>>
/** What is set, and what is removed: null. */
export type AttributeChanges = Readonly<Record<string, StoredAttribute | null>>

export function isList(value: StoredAttribute): value is readonly string[] {
  return Array.isArray(value)
}

/** The attributes after a change. */
export function changedAttributes(
  before: StoredAttributes,
  changes: AttributeChanges,
): StoredAttributes {
  const all = Object.entries({ ...before, ...changes })
  return Object.fromEntries(
    all.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
  )
}

/** What a next generation is found by where it begins; absent if nothing is known of it. */
export function foundBy(
  began: StoredAttributes | undefined,
  changes: AttributeChanges | undefined,
): { readonly attributes?: StoredAttributes } {
  return began || changes ? { attributes: changedAttributes(began ?? {}, changes ?? {}) } : {}
}
