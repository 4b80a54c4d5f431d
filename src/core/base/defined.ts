// Builds objects whose optional properties are absent when there is no value for them, which is what
// `exactOptionalPropertyTypes` and stored JSON both require.

/** `Fields` without the undefined values: a property that may be undefined becomes optional. */
export type Defined<Fields> = {
  readonly [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key]
} & {
  readonly [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined>
}

/**
 * Copies `fields` without the properties that are undefined. Only `undefined` is left out: `null`, `false`, 0 and ''
 * stay.
 *
 * ```ts
 * defined({ type: 'cancel', reason }) // { type: 'cancel' } if there is no reason
 * ```
 */
export function defined<const Fields extends object>(fields: Fields): Defined<Fields> {
  const copy: Record<string, unknown> = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined) copy[key] = value
  }
  return copy as Defined<Fields>
}
