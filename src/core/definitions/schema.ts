// Schemas of inputs, outputs and payloads, by the Standard Schema convention: zod, valibot, arktype and others fit as they
// are. What a schema refuses is refused with all that it finds wrong.

import { nameClass } from '../base/assert.ts'
import { checkOptions, type Description, given } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'

/** Accepts one type and makes another of it, or the same. */
export interface Schema<in out Accepted = unknown, out Parsed = Accepted> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Parsed> | Promise<SchemaResult<Parsed>>
    readonly types?: { readonly input: Accepted; readonly output: Parsed } | undefined
  }
}

/** What a schema makes of a value, or what is wrong with it. */
export type SchemaResult<Parsed> =
  | { readonly value: Parsed; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** What a schema finds wrong. */
export interface SchemaIssue {
  readonly message: string
  /** Where in the value it is. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The schemas of a definition, as options. */
export interface Schemas<Accepted, Parsed, Out> {
  readonly input?: Schema<Accepted, Parsed>
  readonly output?: Schema<Out>
}

/** A schema whose types are forgotten. */
export interface AnySchema {
  readonly '~standard': Pick<Schema['~standard'], 'vendor' | 'validate'>
}

/** Those of a definition that check something. */
export interface KnownSchemas {
  readonly input?: AnySchema
  readonly output?: AnySchema
}

const UNCHECKED = 'pawl'

/** A schema that checks nothing: a type where a schema is asked for. */
export function typed<T>(): Schema<T> {
  const validate = (value: unknown): SchemaResult<T> => ({ value: value as T })
  return { '~standard': { version: 1, vendor: UNCHECKED, validate } }
}

/** Takes the schemas out of the options of a definition. */
const schemaOptions = {
  input: given<AnySchema>('What it takes.', 'a schema'),
  output: given<AnySchema>('What it gives.', 'a schema'),
} as const

export function schemasIn<Options extends object>(
  definition: Options & { readonly input?: AnySchema; readonly output?: AnySchema },
  of: string,
  description: Description,
): { readonly options: Omit<Options, 'input' | 'output'>; readonly schemas: KnownSchemas } {
  checkOptions({ ...schemaOptions, ...description }, definition, {
    of,
    code: 'DEFINITION_INVALID',
  })
  const { input, output, ...options } = definition
  const schemas = {
    ...checking('input', input, `the input of ${of}`),
    ...checking('output', output, `the output of ${of}`),
  }
  return { options, schemas }
}

/** The schema under its name, unless there is none or it lets everything pass. */
export function checking<Name extends string>(
  name: Name,
  schema: AnySchema | undefined,
  what: string,
): { readonly [N in Name]?: AnySchema } {
  if (schema === undefined) return {}
  const standard: unknown = (schema as Partial<AnySchema> | null)?.['~standard']
  if (typeof (standard as { validate?: unknown } | undefined)?.validate !== 'function') {
    const message = `the schema of ${what} is not one: it has no '~standard'.validate. Any library of the Standard Schema convention will do; for a type alone write typed<T>().`
    throw new PawlError('DEFINITION_INVALID', message)
  }
  if (schema['~standard'].vendor === UNCHECKED) return {}
  return { [name]: schema } as { [N in Name]: AnySchema }
}

export type Refusal = 'INPUT_INVALID' | 'OUTPUT_INVALID'

/** What the schema makes of the value. */
export async function parse(
  schema: AnySchema,
  value: unknown,
  what: string,
  refusal: Refusal = 'INPUT_INVALID',
): Promise<unknown> {
  return taken(await schema['~standard'].validate(value), what, refusal)
}

/**
 * What the schema of a workflow makes of an input, as far as whoever starts it has the schema. It comes in an object,
 * because a promise that is an input must be refused and not awaited.
 */
export async function parseInput(
  { name, schemas }: { readonly name: string; readonly schemas?: KnownSchemas },
  given: unknown,
): Promise<{ readonly input: unknown }> {
  if (!schemas?.input) return { input: given }
  const result = await schemas.input['~standard'].validate(given)
  return { input: taken(result, `the input of workflow '${name}'`, 'INPUT_INVALID') }
}

/** The same as `parse` at once; `undefined` if the schema has to wait for something. */
export function parseNow(
  schema: AnySchema,
  value: unknown,
  what: string,
  refusal: Refusal = 'INPUT_INVALID',
): { readonly value: unknown } | undefined {
  const result = schema['~standard'].validate(value)
  if (!isPromise(result)) return { value: taken(result, what, refusal) }
  // Nobody hears what comes of it.
  result.then(undefined, () => {})
  return undefined
}

/** For code that is replayed: it can wait only for what is recorded. */
export function checkNow(schema: AnySchema, value: unknown, what: string): void {
  if (parseNow(schema, value, what)) return
  const message = `the schema of ${what} has to wait for something, and inside a workflow it cannot. Use one that answers at once, or do this in a step.`
  throw new PawlError('NOT_SUPPORTED', message)
}

function isPromise<T>(result: T | PromiseLike<T>): result is PromiseLike<T> {
  return typeof (result as { then?: unknown } | null)?.then === 'function'
}

// Their names are the types of the failures they become.
class InvalidInput extends PawlError {
  static {
    nameClass(this, 'InvalidInput')
  }
}

class InvalidOutput extends PawlError {
  static {
    nameClass(this, 'InvalidOutput')
  }
}

function taken(result: SchemaResult<unknown>, what: string, refusal: Refusal): unknown {
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(({ message, path }) => ({
    message,
    path: path?.map(plainKey) ?? [],
  }))
  const told = issues.slice(0, limits.issuesToldMax).map(sentence)
  if (issues.length > told.length) told.push(`and ${issues.length - told.length} more`)
  const text = `${what} does not fit its schema: ${told.join('; ') || 'it does not say why'}`
  const Invalid = refusal === 'INPUT_INVALID' ? InvalidInput : InvalidOutput
  throw new Invalid(refusal, text, { details: { issues } })
}

type Key = string | number

function plainKey(segment: PropertyKey | { readonly key: PropertyKey }): Key {
  const key = typeof segment === 'object' ? segment.key : segment
  return typeof key === 'symbol' ? String(key) : key
}

function sentence({ message, path }: { message: string; path: readonly Key[] }): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}
