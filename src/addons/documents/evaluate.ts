// What an expression gives. It reads own properties that hold data, and nothing else: no getters, nothing inherited, nothing
// of text or numbers. What is missing is an error, unless `??` says what to take instead.
import { unreachable } from '../../core/base/assert.ts'
import { PermanentError } from '../../core/base/errors.ts'
import { pathText } from '../../core/base/names.ts'
import { TIMEOUT } from '../../core/index.ts'
import type { Comparison, Expression } from './expression.ts'
import { kindOf } from './problems.ts'

/** What templates see. */
export interface Sight {
  readonly input: () => unknown
  readonly nodes: Readonly<Record<string, unknown>>
  readonly item?: unknown
  readonly index?: number | undefined
  readonly result?: unknown
}

/** A value, or why there is none. */
type Found = { readonly value: unknown } | { readonly missing: string }

/** `place` names the template in errors. */
export function evaluate(expression: Expression, sight: Sight, place: string): unknown {
  const found = look(expression, sight, place)
  if ('value' in found) return found.value
  throw refusal(
    place,
    `${found.missing}; to go on without it, give a default: {{ … ?? 'default' }}`,
  )
}

export function refusal(place: string, why: string): PermanentError {
  return new PermanentError(`${place}: ${why}`)
}

function look(expression: Expression, sight: Sight, place: string): Found {
  switch (expression.kind) {
    case 'literal':
      return { value: expression.value }
    case 'timeout':
      return { value: TIMEOUT }
    case 'path':
      return walk(expression, sight)
    case 'default':
      return firstOf(expression.operands, sight, place)
    case 'and':
      return { value: expression.operands.every((each) => truth(each, sight, place, 'and')) }
    case 'or':
      return { value: expression.operands.some((each) => truth(each, sight, place, 'or')) }
    case 'not':
      return { value: !truth(expression.operand, sight, place, 'not') }
    case 'compare': {
      const left = evaluate(expression.left, sight, place)
      const right = evaluate(expression.right, sight, place)
      return { value: compare(expression.operator, left, right, place) }
    }
    default:
      return unreachable(expression)
  }
}

function firstOf(operands: readonly Expression[], sight: Sight, place: string): Found {
  let last: Found = { value: null }
  for (const each of operands) {
    last = look(each, sight, place)
    if ('value' in last && last.value !== null) return last
  }
  return last
}

function truth(expression: Expression, sight: Sight, place: string, word: string): boolean {
  const value = evaluate(expression, sight, place)
  if (typeof value === 'boolean') return value
  const todo = 'compare it with something'
  throw refusal(place, `\`${word}\` takes true or false, and was given ${nameOf(value)}: ${todo}`)
}

type PathExpression = Extract<Expression, { kind: 'path' }>

function walk({ root, keys }: PathExpression, sight: Sight): Found {
  let value = rootOf(root, sight)
  for (const [index, key] of keys.entries()) {
    const next = root === 'nodes' && index === 0 ? resultOf(sight, key) : own(value, key)
    if (next === undefined) return { missing: why(root, keys.slice(0, index + 1), value) }
    value = next.value
  }
  return value === undefined ? { missing: `${pathText([root, ...keys])} has no value` } : { value }
}

function rootOf(root: PathExpression['root'], sight: Sight): unknown {
  return root === 'input' ? sight.input() : sight[root]
}

// Results are made when somebody looks at them, and by nobody but us.
function resultOf({ nodes }: Sight, id: string | number): { readonly value: unknown } | undefined {
  return typeof id === 'string' && Object.hasOwn(nodes, id) ? { value: nodes[id] } : undefined
}

function own(value: unknown, key: string | number): { readonly value: unknown } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // A number is a place in a list, and a name that of a field: neither stands for the other.
  if (
    Array.isArray(value) ? typeof key === 'string' && key !== 'length' : typeof key === 'number'
  ) {
    return undefined
  }
  const property = Object.getOwnPropertyDescriptor(value, key)
  return property !== undefined && 'value' in property ? { value: property.value } : undefined
}

function why(root: string, path: readonly (string | number)[], owner: unknown): string {
  const whole = pathText([root, ...path])
  if (root === 'nodes' && path.length === 1) {
    return `${whole} has no result, as the node did not succeed or was skipped`
  }
  const known = typeof owner === 'object' && owner !== null
  if (known) return `there is no ${whole}`
  return `there is no ${whole}, as ${pathText([root, ...path.slice(0, -1)])} is ${nameOf(owner)}`
}

function compare(operator: Comparison, left: unknown, right: unknown, place: string): boolean {
  if (operator === '==') return isSame(left, right, place)
  if (operator === '!=') return !isSame(left, right, place)
  if (typeof left === 'number' && typeof right === 'number') return inOrder(operator, left, right)
  if (typeof left === 'string' && typeof right === 'string') return inOrder(operator, left, right)
  const given = `${nameOf(left)} and ${nameOf(right)}`
  throw refusal(place, `\`${operator}\` takes two numbers or two texts, and was given ${given}`)
}

function inOrder<Value extends number | string>(
  operator: Exclude<Comparison, '==' | '!='>,
  left: Value,
  right: Value,
): boolean {
  switch (operator) {
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    case '>=':
      return left >= right
  }
}

function isSame(left: unknown, right: unknown, place: string): boolean {
  if (isCompound(left) && isCompound(right)) {
    throw refusal(place, 'lists and objects are not compared: compare a field of theirs')
  }
  return left === right
}

function isCompound(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function nameOf(value: unknown): string {
  if (value === TIMEOUT) return 'timeout'
  return value === undefined ? 'nothing' : kindOf(value)
}
