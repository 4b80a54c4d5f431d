// The parameters of a graph. Wherever the input of a run is read, defaults are filled in and missing or mistyped values
// are rejected. Nothing of this is recorded, because the same input always gives the same result.
import { isObject } from '../../core/base/described.ts'
import { PermanentError } from '../../core/base/errors.ts'
import { checkKnownName } from '../../core/base/names.ts'
import type { Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import { FORBIDDEN } from './expression.ts'
import { ObjectReader, objectAt } from './object-reader.ts'
import { oneOf } from './options.ts'
import { kindOf, type Path, type Problems } from './problems.ts'
import { forbidden } from './template.ts'

/** Checks the input of a run and fills in defaults. */
export type InputOf = (given: unknown) => unknown

const types = ['string', 'number', 'boolean', 'object', 'array'] as const
type ParameterType = (typeof types)[number]

interface Parameter {
  readonly name: string
  readonly type: ParameterType | undefined
  readonly required: boolean
  readonly default: Json | undefined
}

export function readParameters(fields: ObjectReader): InputOf {
  const field = fields.take('parameters')
  const declared = field && objectAt(field.value, field.path, fields.problems)
  if (field === undefined || declared === undefined) return (given) => given
  const { path } = field
  const parameters = Object.entries(declared).map(([name, value]) =>
    readParameter(name, value, [...path, name], fields.problems),
  )
  const known = parameters.filter((parameter) => parameter !== undefined)
  return (given) => fillIn(known, given)
}

function readParameter(name: string, value: Json, path: Path, problems: Problems): Parameter | undefined {
  problems.attempt(path, 'INVALID_VALUE', () => checkKnownName(name, 'the name of a parameter'))
  if (FORBIDDEN.has(name)) problems.add(path, 'FORBIDDEN_NAME', forbidden(name))
  const source = objectAt(value, path, problems)
  if (source === undefined) return undefined
  const fields = new ObjectReader(source, path, problems)
  const type = fields.checked('type', oneOf(types))
  const required = fields.typed('required', 'boolean') ?? false
  const byDefault = fields.take('default')
  fields.typed('description', 'string')
  fields.finish()
  if (byDefault !== undefined && required) {
    const message = 'a parameter with a default cannot be required: remove `default` or `required`'
    problems.add(path, 'CONFLICTING_FIELDS', message)
  }
  if (byDefault !== undefined && type !== undefined && !isOf(type, byDefault.value)) {
    const message = `expected ${words[type]}, got ${kindOf(byDefault.value)}`
    problems.add(byDefault.path, 'WRONG_TYPE', message)
  }
  return { name, type, required, default: byDefault?.value }
}

const words: Readonly<Record<ParameterType, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
}

function isOf(type: ParameterType, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return typeof value === type
}

function fillIn(parameters: readonly Parameter[], given: unknown): unknown {
  const source: unknown = given ?? {}
  if (!isObject(source)) {
    const names = parameters.map(({ name }) => name).join(', ')
    throw new PermanentError(`the input is ${kindOf(given)}; expected an object with ${names}`)
  }
  const filled = new Map<string, unknown>(Object.entries(source))
  const problems: string[] = []
  for (const { name, type, required, default: byDefault } of parameters) {
    const value = filled.get(name)
    if (value === undefined) {
      if (byDefault !== undefined) filled.set(name, byDefault)
      else if (required) problems.push(`${quote(name)} is missing`)
    } else if (type !== undefined && !isOf(type, value)) {
      problems.push(`${quote(name)} is ${kindOf(value)}, expected ${words[type]}`)
    }
  }
  if (problems.length === 0) return Object.fromEntries(filled)
  const text = problems.join('; ')
  throw new PermanentError(`the input does not match the parameters of the graph: ${text}`)
}
