// Descriptions of options: what an option does, which values it takes, and its default. The types that users see, the
// checks of the values they pass, and the tables in the docs all come from one description.
import { defined } from './defined.ts'
import { PawlError, type PawlErrorCode } from './errors.ts'
import { limits } from './limits.ts'
import { checkKnownName } from './names.ts'
import { nearest } from './nearest.ts'
import { type Duration, milliseconds } from './time.ts'
import type { Json } from './value.ts'
import { visible } from './visible.ts'

/** Names an option in messages: its name, and what it is an option of. */
export interface Place {
  readonly name: string
  readonly of: string
  /** What messages call it: 'option', or 'field' for an input. Default 'option'. */
  readonly noun?: string
  /** Messages do not quote the value, because it may be a secret. */
  readonly isHidden?: boolean
}

export interface Option<out T> {
  /** What the option does, for the docs. */
  readonly about: string
  /** The values it takes, in words: `expected …`. */
  readonly takes: string
  /** The default, as the docs show it. */
  readonly otherwise?: string
  /** True if the option takes the value. It may also throw a PawlError that says more exactly what is wrong. */
  readonly accepts: (value: unknown, place: Place) => boolean
  /** Errors that `accepts` throws for an object already name the option. */
  readonly isNested?: true
  readonly isRequired?: true
  /** Messages never quote the value, because it may be a secret. */
  readonly isHidden?: true
  /** The values as JSON Schema, for the HTTP API. Absent: any JSON value. */
  readonly schema?: JsonSchema
  /** The type of the values. Only for the compiler: never set. */
  readonly type?: T
}

/** A JSON Schema of the 2020-12 draft. */
export type JsonSchema = { readonly [key: string]: Json }

export type Description = Readonly<Record<string, Option<unknown>>>

type ValueOf<O> = O extends Option<infer T> ? T : never
/** Marks an option as required. */
export interface Must {
  readonly isRequired: true
}

type Optional<D> = {
  readonly [K in keyof D as D[K] extends Must ? never : K]?: ValueOf<D[K]>
}
type Needed<D> = { readonly [K in keyof D as D[K] extends Must ? K : never]: ValueOf<D[K]> }

/** The options object as users pass it. Without required options it stays a weak type, so that typos are errors. */
export type Described<D> = keyof Needed<D> extends never ? Optional<D> : Optional<D> & Needed<D>

/** The default of an option, for the docs; and its JSON Schema. */
type Otherwise = { readonly otherwise?: string; readonly schema?: JsonSchema }

export function option<T>(
  about: string,
  takes: string,
  accepts: Option<T>['accepts'],
  otherwise: Otherwise = {},
): Option<T> {
  return { about, takes, accepts, ...otherwise }
}

/** An option of values that JSON has. */
function plain<T>(
  schema: JsonSchema,
  [about, takes]: readonly [about: string, takes: string],
  accepts: Option<T>['accepts'],
  otherwise: Otherwise = {},
): Option<T> {
  return option(about, takes, accepts, { schema, ...otherwise })
}

export function duration(about: string, otherwise: Otherwise = {}): Option<Duration> {
  const takes = "a duration: '10s', '1.5h', 'PT1H30M' or milliseconds"
  const accepts = (value: unknown, { name }: Place): boolean => milliseconds(value as Duration, name) >= 0
  const anyOf = [{ type: 'string' }, { type: 'number', minimum: 0, maximum: limits.durationMsMax }]
  return plain({ anyOf, examples: ['10s', '1.5h'] }, [about, takes], accepts, otherwise)
}

/** A whole number within bounds. */
export function whole(
  about: string,
  [least, most]: readonly [number, number],
  otherwise: Otherwise = {},
): Option<number> {
  const takes = `a whole number ${between(least, most)}`
  const schema = { type: 'integer', minimum: least, maximum: most }
  return plain(schema, [about, takes], (value) => isWhole(value, least, most), otherwise)
}

function between(least: number, most: number): string {
  if (most === Number.MAX_SAFE_INTEGER) return `from ${spelled(least)}`
  return `from ${spelled(least)} to ${spelled(most)}`
}

/** Any number within bounds. */
export function amount(
  about: string,
  [least, most]: readonly [number, number],
  otherwise: Otherwise = {},
): Option<number> {
  const takes = `a number ${between(least, most)}`
  const accepts = (value: unknown): boolean => typeof value === 'number' && value >= least && value <= most
  return plain({ type: 'number', minimum: least, maximum: most }, [about, takes], accepts, otherwise)
}

export function flag(about: string, otherwise: Otherwise = {}): Option<boolean> {
  return plain({ type: 'boolean' }, [about, 'true or false'], (value) => typeof value === 'boolean', otherwise)
}

export function text(about: string, otherwise: Otherwise = {}): Option<string> {
  return plain({ type: 'string' }, [about, 'a string'], (value) => typeof value === 'string', otherwise)
}

export function moment(about: string, otherwise: Otherwise = {}): Option<Date> {
  const accepts = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime())
  return plain({ type: 'string', format: 'date-time' }, [about, 'a Date'], accepts, otherwise)
}

/** The name of a queue, a build or the like. */
export function named(about: string, what: string, otherwise: Otherwise = {}): Option<string> {
  const accepts = (value: unknown): boolean => checkKnownName(value, what) !== ''
  const schema = { type: 'string', minLength: 1, maxLength: limits.nameLengthMax }
  return plain(schema, [about, 'a name'], accepts, otherwise)
}

export function choice<const T extends string>(
  about: string,
  values: readonly T[],
  otherwise: Otherwise = {},
): Option<T> {
  const takes = values.map((value) => `'${value}'`).join(', ')
  const accepts = (value: unknown): boolean => (values as readonly unknown[]).includes(value)
  return plain({ type: 'string', enum: values }, [about, takes], accepts, otherwise)
}

/** A value that only TypeScript describes, such as code, a client or a list of definitions. Its user checks it. */
export function given<T>(about: string, takes: string, otherwise: Otherwise = {}): Option<T> {
  return option(about, takes, () => true, otherwise)
}

export function required<T>(known: Option<T>): Option<T> & Must {
  return { ...known, otherwise: 'required', isRequired: true }
}

/** The option, marked as one whose value may be a secret. */
export function hidden<T>(known: Option<T>): Option<T> {
  return { ...known, isHidden: true }
}

export function fn<T>(about: string, otherwise: Otherwise = {}): Option<T> {
  return option(about, 'a function', (value) => typeof value === 'function', otherwise)
}

export function strings(about: string, takes: string, otherwise: Otherwise = {}): Option<readonly string[]> {
  const accepts = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === 'string')
  return plain({ type: 'array', items: { type: 'string' } }, [about, takes], accepts, otherwise)
}

/** An object of values of one kind, under names that the user chooses. */
export function byName<T>(about: string, takes: string, each: Option<T>): Option<Readonly<Record<string, T>>> {
  const accepts = (value: unknown, place: Place): boolean =>
    isObject(value) && allAccepted(each, Object.entries(value), place)
  const schema = { type: 'object', additionalProperties: each.schema ?? true }
  return { ...plain(schema, [about, takes], accepts), isNested: true }
}

/** A list of values of one kind. */
export function listOf<T>(about: string, takes: string, each: Option<T>): Option<readonly T[]> {
  const accepts = (value: unknown, place: Place): boolean =>
    Array.isArray(value) && allAccepted(each, value.entries(), place)
  return { ...plain({ type: 'array', items: each.schema ?? true }, [about, takes], accepts), isNested: true }
}

function allAccepted(
  each: Option<unknown>,
  values: Iterable<readonly [string | number, unknown]>,
  { name, ...place }: Place,
): true {
  for (const [key, value] of values) {
    if (value === undefined) continue
    const own = `${name}.${visible(String(key)).slice(0, 100)}`
    const message = problemWith(each, value, { ...place, name: own })
    if (message !== undefined) throw new PawlError('INPUT_INVALID', message)
  }
  return true
}

/** An object with options of its own. */
export function nested<D extends Description>(about: string, inner: D): Option<Described<D>> {
  const accepts = (value: unknown, { name, of, ...place }: Place): boolean => {
    checkOptions(inner, value, { ...place, of: `\`${name}\` of ${of}` })
    return true
  }
  const takes = `an object with ${namesOf(inner)}`
  return { ...plain<Described<D>>(schemaOf(inner), [about, takes], accepts), isNested: true }
}

/** The JSON Schema of objects with these options. */
export function schemaOf(description: Description): JsonSchema {
  const properties = Object.fromEntries(
    Object.entries(description).map(([name, { about, otherwise, isRequired, schema = {} }]) => {
      const whole = otherwise === undefined || isRequired ? about : `${about} Default: ${otherwise}.`
      return [name, { ...schema, description: whole }]
    }),
  )
  const required = requiredOf(description).map(([name]) => name)
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
}

/** The same option, which also takes null to remove the value it had. */
export function removable<T>(known: Option<T>): Option<T | null> {
  const accepts: Option<T | null>['accepts'] = (value, place) => value === null || known.accepts(value, place)
  const { schema } = known
  return defined({
    ...known,
    takes: `${known.takes}, or null`,
    accepts,
    schema: schema && { anyOf: [schema, { type: 'null' }] },
  })
}

/** `second` for objects, `first` for everything else. */
export function either<A, B>(first: Option<A>, second: Option<B>, otherwise: Otherwise = {}): Option<A | B> {
  const accepts = (value: unknown, place: Place): boolean =>
    typeof value === 'object' ? second.accepts(value, place) : first.accepts(value, place)
  const both = option<A | B>(first.about, `${first.takes}, or ${second.takes}`, accepts, otherwise)
  return defined({
    ...both,
    isNested: second.isNested,
    isHidden: first.isHidden ?? second.isHidden,
    schema: first.schema && second.schema && { anyOf: [first.schema, second.schema] },
  })
}

interface Checked extends Omit<Place, 'name'> {
  /** `activity 'charge'` */
  readonly of: string
  readonly code?: PawlErrorCode
}

/** Throws if `options` has an option that is not described, or a value it does not take. Undefined counts as absent. */
export function checkOptions(
  description: Description,
  options: unknown,
  { code = 'INPUT_INVALID', ...place }: Checked,
): void {
  const { of, noun = 'option', isHidden } = place
  if (!isObject(options)) {
    const told = options === undefined ? 'nothing' : isHidden ? kindOf(options) : shown(options)
    const what = noun === 'option' ? `the options of ${of}` : of
    throw new PawlError(code, `${what} must be an object with ${namesOf(description)}, not ${told}.`)
  }
  for (const [name, value] of Object.entries(options)) {
    const known = Object.hasOwn(description, name) ? description[name] : undefined
    if (!known) throw new PawlError(code, unknownOption(name, description, { of, noun }))
    if (value === undefined) continue
    const message = problemWith(known, value, { ...place, name })
    if (message !== undefined) throw new PawlError(code, message)
  }
  for (const [name, takes] of requiredOf(description)) {
    if (options[name] !== undefined) continue
    throw new PawlError(code, `${noun} \`${name}\` of ${of} is missing; expected ${takes}.`)
  }
}

// Most descriptions have no required option, and calls with options are frequent: the answer is computed once.
const requiredNames = new WeakMap<Description, readonly (readonly [name: string, takes: string])[]>()

function requiredOf(description: Description): readonly (readonly [name: string, takes: string])[] {
  const known = requiredNames.get(description)
  if (known) return known
  const all = Object.entries(description)
  const found = all.flatMap(([name, { isRequired, takes }]) => (isRequired ? [[name, takes] as const] : []))
  requiredNames.set(description, found)
  return found
}

/** What is wrong with the value of an option; undefined if nothing is. */
export function problemWith(known: Option<unknown>, value: unknown, place: Place): string | undefined {
  const start = `${place.noun ?? 'option'} \`${place.name}\` of ${place.of}`
  const isHidden = place.isHidden || known.isHidden || false
  try {
    if (known.accepts(value, { ...place, isHidden })) return undefined
    return `${start} is ${isHidden ? kindOf(value) : shown(value)}; expected ${known.takes}.`
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    const namesPlace = known.isNested && typeof value === 'object'
    return namesPlace ? error.message : `${start}: ${error.message}`
  }
}

export function unknownOption(
  name: string,
  description: Description,
  { of, noun = 'option' }: Omit<Place, 'name'>,
): string {
  const near = nearest(name, Object.keys(description))
  const hint = near === undefined ? `; expected ${namesOf(description)}.` : `; did you mean \`${near}\`?`
  return `unknown ${noun} \`${visible(name).slice(0, 100)}\` of ${of}${hint}`
}

function namesOf(description: Description): string {
  const names = Object.keys(description)
  return names.length === 0 ? 'no options' : names.map((name) => `\`${name}\``).join(', ')
}

export function isWhole(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

// Without Intl, because formatting by locale loads megabytes of locale data.
export function spelled(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The kind of a value, without its contents, because it may be a secret. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === '') return 'an empty string'
  if (typeof value === 'string') return 'a string'
  if (Array.isArray(value)) return 'a list'
  return shown(value)
}

export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${visible(value).slice(0, 100)}'`
  if (Array.isArray(value)) return `[${value.slice(0, 5).map(shown).join(', ')}]`
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}
