// Attributes of a run as they are stored, and changes to them.

/** A value that attributes are compared by. `at` is an instant, in milliseconds since 1970. */
export type StoredScalar = string | number | boolean | { readonly at: number }
/** A run with a list of texts is found by each of them. */
export type StoredAttribute = StoredScalar | readonly string[]
export type StoredAttributes = Readonly<Record<string, StoredAttribute>>
/** Attributes to set; null removes one. */
export type AttributeChanges = Readonly<Record<string, StoredAttribute | null>>

export function isList(value: StoredAttribute): value is readonly string[] {
  return Array.isArray(value)
}

/** The attributes after a change. */
export function changedAttributes(before: StoredAttributes, changes: AttributeChanges): StoredAttributes {
  const all = Object.entries({ ...before, ...changes })
  return Object.fromEntries(all.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])))
}

/** The attributes that the next generation begins with; absent if nothing is known of them. */
export function foundBy(
  began: StoredAttributes | undefined,
  changes: AttributeChanges | undefined,
): { readonly attributes?: StoredAttributes } {
  return began || changes ? { attributes: changedAttributes(began ?? {}, changes ?? {}) } : {}
}
