// The part of JSON Schema that the form understands. Anything else is a field for JSON: the schema itself checks it.

export interface Schema {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
}

type Kind = 'text' | 'number' | 'boolean' | 'choice' | 'object' | 'list' | 'union' | 'json'

const MANY_FIELDS = 200

export function kindOf(schema: Schema): Kind {
  if (schema.enum !== undefined) return 'choice'
  if (schema.const !== undefined) return 'json'
  if (variantsOf(schema).length > 1) return 'union'
  if (schema.type === 'string') return 'text'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  if (schema.type === 'boolean') return 'boolean'
  if (schema.type === 'array' && schema.items !== undefined) return 'list'
  const fields = Object.keys(schema.properties ?? {}).length
  return schema.type === 'object' && fields > 0 && fields <= MANY_FIELDS ? 'object' : 'json'
}

export function variantsOf({ anyOf, oneOf }: Schema): readonly Schema[] {
  return anyOf ?? oneOf ?? []
}

const DEPTH = 8

/** A value to begin with: the defaults, and what is required. */
export function defaultOf(schema: Schema, depth = 0): unknown {
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (depth > DEPTH) return null
  switch (kindOf(schema)) {
    case 'choice':
      return schema.enum?.[0] ?? null
    case 'text':
      return ''
    case 'number':
      return Math.max(0, schema.minimum ?? 0, schema.exclusiveMinimum === undefined ? 0 : schema.exclusiveMinimum + 1)
    case 'boolean':
      return false
    case 'list':
      return []
    case 'union':
      return defaultOf(variantsOf(schema)[0] ?? {}, depth + 1)
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
          isRequired(schema, name) || field.default !== undefined ? [[name, defaultOf(field, depth + 1)]] : [],
        ),
      )
    default:
      return schema.type === 'object' ? {} : null
  }
}

export function isRequired({ required = [] }: Schema, name: string): boolean {
  return required.includes(name)
}

/** A word for one of several schemas. */
export function nameOf(schema: Schema): string {
  const { title, type, const: only, properties } = schema
  if (title !== undefined) return title
  if (only !== undefined) return JSON.stringify(only)
  const tag = Object.entries(properties ?? {}).find(([, field]) => field.const !== undefined)
  return tag ? `${tag[0]} ${JSON.stringify(tag[1].const)}` : String(type ?? 'JSON')
}

/** True if the value could be of the schema, so that the form shows the right variant. */
export function couldBe(schema: Schema, value: unknown): boolean {
  if (schema.const !== undefined) return JSON.stringify(schema.const) === JSON.stringify(value)
  if (schema.enum !== undefined) return schema.enum.includes(value)
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
  const types = [schema.type ?? type].flat()
  if (!types.includes(type) && !(type === 'number' && types.includes('integer'))) return false
  if (type !== 'object') return true
  const fields = Object.entries(schema.properties ?? {}).filter(([, field]) => field.const !== undefined)
  return fields.every(([name, field]) => couldBe(field, (value as Readonly<Record<string, unknown>>)[name]))
}
