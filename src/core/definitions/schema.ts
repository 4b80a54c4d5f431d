// Schemas of inputs, outputs and payloads, by the Standard Schema convention: those of zod, valibot, arktype and others
// can be used as they are. A value that a schema rejects is refused with all issues the schema reports.

import { nameClass } from '../base/assert.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'

/** A Standard Schema: it accepts a value of one type and parses it into another, or the same. */
export interface Schema<in out Accepted = unknown, out Parsed = Accepted> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Parsed> | Promise<SchemaResult<Parsed>>
    readonly types?: { readonly input: Accepted; readonly output: Parsed } | undefined
  }
}

/** The parsed value, or the issues that a schema found. */
export type SchemaResult<Parsed> =
  | { readonly value: Parsed; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** One problem that a schema found in a value. */
export interface SchemaIssue {
  readonly message: string
  /** The place in the value. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The schemas of a definition, in its options. */
export interface Schemas<Accepted, Parsed, Out> {
  readonly input?: Schema<Accepted, Parsed>
  readonly output?: Schema<Out>
}

/** A schema of any type. */
export interface AnySchema {
  readonly '~standard': Pick<Schema['~standard'], 'vendor' | 'validate'>
}

/** The schemas of a definition that check something; `typed<T>()` does not. */
export interface KnownSchemas {
  readonly input?: AnySchema
  readonly output?: AnySchema
}

const UNCHECKED = 'pawl'

/**
 * A schema that checks nothing, for a place that needs a schema where only the type matters.
 *
 * ```ts
 * const done = signal('done', typed<{ ok: boolean }>())
 * ```
 */
export function typed<T>(): Schema<T> {
  const validate = (value: unknown): SchemaResult<T> => ({ value: value as T })
  return { '~standard': { version: 1, vendor: UNCHECKED, validate } }
}

/** The schema under its name; nothing if there is none, or if it checks nothing. */
export function checking<Name extends string>(
  name: Name,
  schema: AnySchema | undefined,
  what: string,
): { readonly [N in Name]?: AnySchema } {
  if (schema === undefined) return {}
  const standard: unknown = (schema as Partial<AnySchema> | null)?.['~standard']
  if (typeof (standard as { validate?: unknown } | undefined)?.validate !== 'function') {
    const problem = `the schema of ${what} has no '~standard'.validate; expected a Standard Schema`
    const message = `${problem}. Use a library such as zod, valibot or arktype, or typed<T>() for a type alone.`
    throw new PawlError('DEFINITION_INVALID', message)
  }
  if (schema['~standard'].vendor === UNCHECKED) return {}
  return { [name]: schema } as { [N in Name]: AnySchema }
}

export type Refusal = 'INPUT_INVALID' | 'OUTPUT_INVALID'

/** The value as the schema parses it. Throws if the schema rejects it. */
export async function parse(
  schema: AnySchema,
  value: unknown,
  what: string,
  refusal: Refusal = 'INPUT_INVALID',
): Promise<unknown> {
  return taken(await schema['~standard'].validate(value), what, refusal)
}

/**
 * The input as the workflow's schema parses it, or as given if the caller has only a contract without schema. It is
 * wrapped in an object, because an input that is a promise must be refused and not awaited.
 */
export async function parseInput(
  { name, schemas }: { readonly name: string; readonly schemas?: KnownSchemas },
  given: unknown,
): Promise<{ readonly input: unknown }> {
  if (!schemas?.input) return { input: given }
  const result = await schemas.input['~standard'].validate(given)
  return { input: taken(result, `the input of workflow '${name}'`, 'INPUT_INVALID') }
}

/** Like `parse`, but synchronous; `undefined` if the schema is asynchronous. */
export function parseNow(
  schema: AnySchema,
  value: unknown,
  what: string,
  refusal: Refusal = 'INPUT_INVALID',
): { readonly value: unknown } | undefined {
  const result = schema['~standard'].validate(value)
  if (!isPromise(result)) return { value: taken(result, what, refusal) }
  // The result is not used, so a rejection must not count as unhandled.
  result.then(undefined, () => {})
  return undefined
}

/** For workflow code, which can only wait for what is recorded. */
export function checkNow(schema: AnySchema, value: unknown, what: string): void {
  if (parseNow(schema, value, what)) return
  const problem = `the schema of ${what} is asynchronous; expected a synchronous one inside a workflow`
  throw new PawlError('NOT_SUPPORTED', `${problem}. Use a synchronous schema, or check the value in a step.`)
}

function isPromise<T>(result: T | PromiseLike<T>): result is PromiseLike<T> {
  return typeof (result as { then?: unknown } | null)?.then === 'function'
}

// The names of these classes are the types of their failures.
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
  const text = `${what} does not fit its schema: ${told.join('; ') || 'the schema gives no reason'}`
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
