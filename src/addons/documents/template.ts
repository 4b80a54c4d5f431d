// Templates in documents: `{{ … }}` alone is the value itself; within text it is inserted as text. Templates are parsed
// once, when the graph is checked.
import { limits } from '../../core/base/limits.ts'
import { pathText } from '../../core/base/names.ts'
import { encode, type Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import { TIMEOUT } from '../../core/index.ts'
import { evaluate, type TemplateScope, templateFailure } from './evaluate.ts'
import { type Expression, FORBIDDEN, parseExpression, type Root } from './expression.ts'
import { kindOf, type Path, type Problems } from './problems.ts'
import { TemplateError } from './tokens.ts'

export type Template =
  /** A value without templates. */
  | { readonly kind: 'plain'; readonly value: Json }
  | { readonly kind: 'value'; readonly expression: Expression; readonly place: string }
  | {
      readonly kind: 'text'
      readonly parts: readonly (string | Expression)[]
      readonly place: string
    }
  | { readonly kind: 'list'; readonly items: readonly Template[] }
  | { readonly kind: 'record'; readonly fields: readonly (readonly [string, Template])[] }

/** A node that a template names. */
export interface Reference {
  readonly id: string
  readonly path: Path
  /** From 1. */
  readonly column: number
}

export interface Compiled {
  readonly template: Template
  readonly references: readonly Reference[]
}

/** Compiles the templates of one document. */
export class Templates {
  readonly #problems: Problems
  #expressions = 0

  constructor(problems: Problems) {
    this.#problems = problems
  }

  /** `roots` are the names available in these templates. Errors are added to the problems. */
  compile(value: Json, path: Path, roots: readonly Root[]): Compiled {
    const references: Reference[] = []
    return { template: this.#any(value, path, { roots, references }), references }
  }

  #any(value: Json, path: Path, use: Use): Template {
    if (typeof value === 'string') return this.#string(value, path, use)
    if (typeof value !== 'object' || value === null) return { kind: 'plain', value }
    if (Array.isArray(value)) {
      const items = (value as readonly Json[]).map((item, at) => this.#any(item, [...path, at], use))
      return items.every(isPlain) ? { kind: 'plain', value } : { kind: 'list', items }
    }
    const fields = Object.entries(value).map(([name, field]) => {
      const place = [...path, name]
      if (FORBIDDEN.has(name)) this.#problems.add(place, 'FORBIDDEN_NAME', forbidden(name))
      return [name, this.#any(field, place, use)] as const
    })
    const plain = fields.every(([, field]) => isPlain(field))
    return plain ? { kind: 'plain', value } : { kind: 'record', fields }
  }

  #string(text: string, path: Path, use: Use): Template {
    const plain = { kind: 'plain', value: text } as const
    if (text.length > limits.graphTextLengthMax) {
      const message = `the text has ${text.length} characters; the limit is ${limits.graphTextLengthMax}`
      this.#problems.add(path, 'LIMIT', message)
      return plain
    }
    if (!text.includes('{{')) return plain
    try {
      return this.#parts(text, path, use)
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error
      this.#problems.add(path, 'TEMPLATE', `column ${error.at + 1}: ${error.message}`)
      return plain
    }
  }

  #parts(text: string, path: Path, use: Use): Template {
    const parts: (string | Expression)[] = []
    let end = 0
    for (let start = text.indexOf('{{'); start !== -1; start = text.indexOf('{{', end)) {
      this.#count(path)
      if (start > end) parts.push(text.slice(end, start))
      const parsed = parseExpression(text, start + 2)
      this.#check(parsed.expression, path, use)
      parts.push(parsed.expression)
      end = parsed.end
    }
    if (end < text.length) parts.push(text.slice(end))
    const place = pathText(path)
    const [only] = parts
    const isValue = parts.length === 1 && typeof only === 'object'
    return isValue ? { kind: 'value', expression: only, place } : { kind: 'text', parts, place }
  }

  #count(path: Path): void {
    if (++this.#expressions <= limits.graphExpressionsMax) return
    const message = `the graph has more than ${limits.graphExpressionsMax} expressions: split it into several graphs`
    this.#problems.add(path, 'LIMIT', message)
    this.#problems.refuse()
  }

  #check(expression: Expression, path: Path, use: Use): void {
    for (const { root, keys, at } of pathsIn(expression)) {
      if (!use.roots.includes(root)) {
        this.#problems.add(path, 'NOT_IN_SCOPE', `column ${at + 1}: ${notHere(root)}`)
      } else if (root === 'nodes') {
        const [id] = keys
        if (typeof id !== 'string') throw new TemplateError(at, "name a node: nodes.<id>, nodes['any id']")
        use.references.push({ id, path, column: at + 1 })
      }
    }
  }
}

interface Use {
  readonly roots: readonly Root[]
  readonly references: Reference[]
}

function isPlain({ kind }: Template): boolean {
  return kind === 'plain'
}

export function forbidden(name: string): string {
  return `the name ${quote(name)} is not allowed: choose another`
}

function notHere(root: Root): string {
  if (root === 'result') return '`result` is available only in `compensate`; elsewhere write nodes.<id>'
  if (root === 'item' || root === 'index') {
    return `\`${root}\` is available only in \`with\` of a node that has \`each\``
  }
  return `\`${root}\` is not available here`
}

function pathsIn(expression: Expression): Extract<Expression, { kind: 'path' }>[] {
  switch (expression.kind) {
    case 'path':
      return [expression]
    case 'literal':
    case 'timeout':
      return []
    case 'not':
      return pathsIn(expression.operand)
    case 'compare':
      return [...pathsIn(expression.left), ...pathsIn(expression.right)]
    default:
      return expression.operands.flatMap(pathsIn)
  }
}

/** Evaluates a template. Values are passed on, not copied. */
export function render(template: Template, scope: TemplateScope): unknown {
  return fill(template, scope, { left: limits.graphTextMadeMax })
}

function fill(template: Template, scope: TemplateScope, budget: { left: number }): unknown {
  switch (template.kind) {
    case 'plain':
      return template.value
    case 'value':
      return asData(evaluate(template.expression, scope, template.place))
    case 'text':
      return fillText(template, scope, budget)
    case 'list':
      return template.items.map((item) => fill(item, scope, budget))
    case 'record': {
      const filled = template.fields.map(([name, field]) => [name, fill(field, scope, budget)])
      return Object.fromEntries(filled)
    }
  }
}

/** The value as data: TIMEOUT, the result of a wait that timed out, becomes the text 'timeout'. */
export function asData(value: unknown): unknown {
  return value === TIMEOUT ? 'timeout' : value
}

type Text = Extract<Template, { kind: 'text' }>

function fillText({ parts, place }: Text, scope: TemplateScope, budget: { left: number }): string {
  let text = ''
  for (const part of parts) {
    const piece = typeof part === 'string' ? part : textOf(evaluate(part, scope, place), place)
    budget.left -= piece.length
    if (budget.left < 0) {
      const max = limits.graphTextMadeMax
      throw templateFailure(place, `the rendered texts have more than ${max} characters in all; insert shorter values`)
    }
    text += piece
  }
  return text
}

function textOf(value: unknown, place: string): string {
  const given = asData(value)
  switch (typeof given) {
    case 'string':
      return given
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(given)
    default: {
      if (given === null) {
        throw templateFailure(place, "null cannot be inserted into text; give a default: {{ … ?? 'default' }}")
      }
      // Dates, bytes and similar values are inserted as they are stored.
      const { json } = encode(given, `${place}: ${kindOf(given)}`)
      return typeof json === 'string' ? json : JSON.stringify(json)
    }
  }
}
