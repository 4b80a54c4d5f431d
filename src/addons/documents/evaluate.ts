// Evaluates expressions. A path reads only own data properties of objects and lists: no getters, nothing inherited,
// nothing of text or numbers. A missing value is an error unless `??` gives a default.
import { unreachable } from '../../core/base/assert.ts'
import { PermanentError } from '../../core/base/errors.ts'
import { pathText } from '../../core/base/names.ts'
import { TIMEOUT } from '../../core/index.ts'
import type { Comparison, Expression } from './expression.ts'
import { kindOf } from './problems.ts'

/** The values that templates can read. */
export interface TemplateScope {
  readonly input: () => unknown
  readonly nodes: Readonly<Record<string, unknown>>
  readonly item?: unknown
  readonly index?: number | undefined
  readonly result?: unknown
}

/** A value, or the reason why it is missing. */
type Found = { readonly value: unknown } | { readonly missing: string }

/** Evaluates an expression; `place` names the template in errors. */
export function evaluate(expression: Expression, scope: TemplateScope, place: string): unknown {
  const found = resolve(expression, scope, place)
  if ('value' in found) return found.value
  throw templateFailure(place, `${found.missing}; to allow this, give a default: {{ … ?? 'default' }}`)
}

export function templateFailure(place: string, why: string): PermanentError {
  return new PermanentError(`${place}: ${why}`)
}

function resolve(expression: Expression, scope: TemplateScope, place: string): Found {
  switch (expression.kind) {
    case 'literal':
      return { value: expression.value }
    case 'timeout':
      return { value: TIMEOUT }
    case 'path':
      return walk(expression, scope)
    case 'default':
      return firstOf(expression.operands, scope, place)
    case 'and':
      return { value: expression.operands.every((each) => booleanOf(each, scope, place, 'and')) }
    case 'or':
      return { value: expression.operands.some((each) => booleanOf(each, scope, place, 'or')) }
    case 'not':
      return { value: !booleanOf(expression.operand, scope, place, 'not') }
    case 'compare': {
      const left = evaluate(expression.left, scope, place)
      const right = evaluate(expression.right, scope, place)
      return { value: compare(expression.operator, left, right, place) }
    }
    default:
      return unreachable(expression)
  }
}

function firstOf(operands: readonly Expression[], scope: TemplateScope, place: string): Found {
  let last: Found = { value: null }
  for (const each of operands) {
    last = resolve(each, scope, place)
    if ('value' in last && last.value !== null) return last
  }
  return last
}

function booleanOf(expression: Expression, scope: TemplateScope, place: string, word: string): boolean {
  const value = evaluate(expression, scope, place)
  if (typeof value === 'boolean') return value
  const todo = 'compare it with a value'
  throw templateFailure(place, `\`${word}\` expects true or false, got ${nameOf(value)}: ${todo}`)
}

type PathExpression = Extract<Expression, { kind: 'path' }>

function walk({ root, keys }: PathExpression, scope: TemplateScope): Found {
  let value = rootOf(root, scope)
  for (const [index, key] of keys.entries()) {
    const next = root === 'nodes' && index === 0 ? resultOf(scope, key) : ownValue(value, key)
    if (next === undefined) return { missing: reasonMissing(root, keys.slice(0, index + 1), value) }
    value = next.value
  }
  return value === undefined ? { missing: `${pathText([root, ...keys])} has no value` } : { value }
}

function rootOf(root: PathExpression['root'], scope: TemplateScope): unknown {
  return root === 'input' ? scope.input() : scope[root]
}

// Results are computed by getters of the engine's own, so reading them is safe.
function resultOf({ nodes }: TemplateScope, id: string | number): { readonly value: unknown } | undefined {
  return typeof id === 'string' && Object.hasOwn(nodes, id) ? { value: nodes[id] } : undefined
}

function ownValue(value: unknown, key: string | number): { readonly value: unknown } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // A number indexes a list and a name selects a field; neither works for the other.
  if (Array.isArray(value) ? typeof key === 'string' && key !== 'length' : typeof key === 'number') {
    return undefined
  }
  const property = Object.getOwnPropertyDescriptor(value, key)
  return property !== undefined && 'value' in property ? { value: property.value } : undefined
}

function reasonMissing(root: string, path: readonly (string | number)[], owner: unknown): string {
  const whole = pathText([root, ...path])
  if (root === 'nodes' && path.length === 1) {
    return `${whole} has no result, because the node did not succeed or was skipped`
  }
  const known = typeof owner === 'object' && owner !== null
  if (known) return `there is no ${whole}`
  return `there is no ${whole}, because ${pathText([root, ...path.slice(0, -1)])} is ${nameOf(owner)}`
}

function compare(operator: Comparison, left: unknown, right: unknown, place: string): boolean {
  if (operator === '==') return isSame(left, right, place)
  if (operator === '!=') return !isSame(left, right, place)
  if (typeof left === 'number' && typeof right === 'number') return inOrder(operator, left, right)
  if (typeof left === 'string' && typeof right === 'string') return inOrder(operator, left, right)
  const given = `${nameOf(left)} and ${nameOf(right)}`
  throw templateFailure(place, `\`${operator}\` expects two numbers or two texts, got ${given}`)
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
    throw templateFailure(place, 'lists and objects cannot be compared: compare their fields')
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
