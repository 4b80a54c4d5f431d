// Templates in data: `{{ … }}` alone is the value itself, within a text it is inserted as text. They are parsed once, when
// the graph is checked; what is kept of them can only look things up.
import { limits } from '../../core/base/limits.ts'
import { pathText } from '../../core/base/names.ts'
import { encode, type Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import { TIMEOUT } from '../../core/index.ts'
import { evaluate, refusal, type Sight } from './evaluate.ts'
import { type Expression, FORBIDDEN, parseExpression, type Root } from './expression.ts'
import { Mistake } from './mistake.ts'
import { kindOf, type Path, type Problems } from './problems.ts'

export type Template =
  /** Nothing in it is a template. */
  | { readonly kind: 'plain'; readonly value: Json }
  | { readonly kind: 'value'; readonly expression: Expression; readonly place: string }
  | {
      readonly kind: 'text'
      readonly parts: readonly (string | Expression)[]
      readonly place: string
    }
  | { readonly kind: 'list'; readonly items: readonly Template[] }
  | { readonly kind: 'record'; readonly fields: readonly (readonly [string, Template])[] }

/** A template that names a node. */
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

  /** `roots` is what the templates may name here. Mistakes are added to the problems. */
  compile(value: Json, path: Path, roots: readonly Root[]): Compiled {
    const references: Reference[] = []
    return { template: this.#any(value, path, { roots, references }), references }
  }

  #any(value: Json, path: Path, use: Use): Template {
    if (typeof value === 'string') return this.#string(value, path, use)
    if (typeof value !== 'object' || value === null) return { kind: 'plain', value }
    if (Array.isArray(value)) {
      const items = (value as readonly Json[]).map((item, at) =>
        this.#any(item, [...path, at], use),
      )
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
      if (!(error instanceof Mistake)) throw error
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
    const message = `the graph has more than ${limits.graphExpressionsMax} expressions`
    this.#problems.add(path, 'LIMIT', message)
    this.#problems.refuse()
  }

  #check(expression: Expression, path: Path, use: Use): void {
    for (const { root, keys, at } of pathsIn(expression)) {
      if (!use.roots.includes(root)) {
        this.#problems.add(path, 'NOT_IN_SCOPE', `column ${at + 1}: ${notHere(root)}`)
      } else if (root === 'nodes') {
        const [id] = keys
        if (typeof id !== 'string')
          throw new Mistake(at, "name a node: nodes.<id>, nodes['any id']")
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
  if (root === 'result') return '`result` is there in `compensate` only; elsewhere write nodes.<id>'
  if (root === 'item' || root === 'index') {
    return `\`${root}\` is there in \`with\` only, of a node that has \`each\``
  }
  return `\`${root}\` is not there`
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

// ── filling in ──

/** What the template gives. Values are handed on as they are, not copied. */
export function render(template: Template, sight: Sight): unknown {
  return fill(template, sight, { left: limits.graphTextMadeMax })
}

function fill(template: Template, sight: Sight, budget: { left: number }): unknown {
  switch (template.kind) {
    case 'plain':
      return template.value
    case 'value':
      return sayable(evaluate(template.expression, sight, template.place))
    case 'text':
      return fillText(template, sight, budget)
    case 'list':
      return template.items.map((item) => fill(item, sight, budget))
    case 'record': {
      const filled = template.fields.map(([name, field]) => [name, fill(field, sight, budget)])
      return Object.fromEntries(filled)
    }
  }
}

/** What a wait gives when its time is over is a value of the program; as data it is text. */
export function sayable(value: unknown): unknown {
  return value === TIMEOUT ? 'timeout' : value
}

type Text = Extract<Template, { kind: 'text' }>

function fillText({ parts, place }: Text, sight: Sight, budget: { left: number }): string {
  let text = ''
  for (const part of parts) {
    const piece = typeof part === 'string' ? part : textOf(evaluate(part, sight, place), place)
    budget.left -= piece.length
    if (budget.left < 0) {
      const max = limits.graphTextMadeMax
      throw refusal(place, `the texts put together have more than ${max} characters`)
    }
    text += piece
  }
  return text
}

function textOf(value: unknown, place: string): string {
  const given = sayable(value)
  switch (typeof given) {
    case 'string':
      return given
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(given)
    default: {
      if (given === null) {
        throw refusal(place, "null is not text; give a default: {{ … ?? 'default' }}")
      }
      // A date, bytes and the like are inserted as they are stored.
      const { json } = encode(given, `${place}: ${kindOf(given)}`)
      return typeof json === 'string' ? json : JSON.stringify(json)
    }
  }
}
