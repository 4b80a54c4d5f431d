// What a graph wants to be started with. Defaults are filled in wherever its input is seen, and what is missing or of another
// type is refused there; nothing is recorded, as the same input always gives the same.
import { PermanentError } from '../../core/base/errors.ts'
import { checkKnownName } from '../../core/base/names.ts'
import type { Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import { FORBIDDEN } from './expression.ts'
import { Fields, objectAt } from './fields.ts'
import { oneOf } from './options.ts'
import { kindOf, type Path, type Problems } from './problems.ts'
import { forbidden } from './template.ts'

/** Fills in and checks what a run was started with. */
export type InputOf = (given: unknown) => unknown

const types = ['string', 'number', 'boolean', 'object', 'array'] as const
type ParameterType = (typeof types)[number]

interface Parameter {
  readonly name: string
  readonly type: ParameterType | undefined
  readonly required: boolean
  readonly default: Json | undefined
}

export function readParameters(fields: Fields): InputOf {
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

function readParameter(
  name: string,
  value: Json,
  path: Path,
  problems: Problems,
): Parameter | undefined {
  problems.attempt(path, 'INVALID_VALUE', () => checkKnownName(name, 'the name of a parameter'))
  if (FORBIDDEN.has(name)) problems.add(path, 'FORBIDDEN_NAME', forbidden(name))
  const source = objectAt(value, path, problems)
  if (source === undefined) return undefined
  const fields = new Fields(source, path, problems)
  const type = fields.checked('type', oneOf(types))
  const required = fields.typed('required', 'boolean') ?? false
  const byDefault = fields.take('default')
  fields.typed('description', 'string')
  fields.finish()
  if (byDefault !== undefined && required) {
    const message = 'what has a default is not required: leave out one of them'
    problems.add(path, 'CONFLICTING_FIELDS', message)
  }
  if (byDefault !== undefined && type !== undefined && !isOf(type, byDefault.value)) {
    const message = `expected ${words[type]}, and got ${kindOf(byDefault.value)}`
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
  if (type === 'object') return isRecord(value)
  return typeof value === type
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fillIn(parameters: readonly Parameter[], given: unknown): unknown {
  const source: unknown = given ?? {}
  if (!isRecord(source)) {
    const names = parameters.map(({ name }) => name).join(', ')
    throw new PermanentError(`the input is ${kindOf(given)}; expected an object with ${names}`)
  }
  const filled = new Map<string, unknown>(Object.entries(source))
  const wrong: string[] = []
  for (const { name, type, required, default: byDefault } of parameters) {
    const value = filled.get(name)
    if (value === undefined) {
      if (byDefault !== undefined) filled.set(name, byDefault)
      else if (required) wrong.push(`${quote(name)} is missing`)
    } else if (type !== undefined && !isOf(type, value)) {
      wrong.push(`${quote(name)} is ${kindOf(value)}, expected ${words[type]}`)
    }
  }
  if (wrong.length === 0) return Object.fromEntries(filled)
  throw new PermanentError(`the input does not fit the graph's parameters: ${wrong.join('; ')}`)
}
