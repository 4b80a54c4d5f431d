// Parses the language between `{{` and `}}`: paths, literals, `??`, comparisons, `and`, `or`, `not`. It has neither
// functions nor arithmetic nor loops, so that the cost of an expression is bounded by its length.
import { limits } from '../../core/base/limits.ts'
import { TemplateError, type Token, Tokens } from './tokens.ts'

export const ROOTS = ['input', 'nodes', 'item', 'index', 'result'] as const
export type Root = (typeof ROOTS)[number]

export const COMPARISONS = ['==', '!=', '<', '<=', '>', '>='] as const
export type Comparison = (typeof COMPARISONS)[number]

export type Expression =
  | { readonly kind: 'literal'; readonly value: null | boolean | number | string | readonly [] }
  /** The result of a wait that timed out. */
  | { readonly kind: 'timeout' }
  | {
      readonly kind: 'path'
      readonly root: Root
      readonly keys: readonly (string | number)[]
      /** The offset of the path in the text. */
      readonly at: number
    }
  | { readonly kind: 'default' | 'and' | 'or'; readonly operands: readonly Expression[] }
  | { readonly kind: 'not'; readonly operand: Expression }
  | {
      readonly kind: 'compare'
      readonly operator: Comparison
      readonly left: Expression
      readonly right: Expression
    }

/** Names that lead out of the data to prototypes. */
export const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor'])

/** Parses the expression from `start` through its `}}`. */
export function parseExpression(
  text: string,
  start: number,
): { readonly expression: Expression; readonly end: number } {
  const parser = new ExpressionParser(new Tokens(text, start))
  return parser.parse()
}

const EMPTY: readonly [] = Object.freeze([] as const)

class ExpressionParser {
  readonly #tokens: Tokens
  #depth = 0

  constructor(tokens: Tokens) {
    this.#tokens = tokens
  }

  parse(): { readonly expression: Expression; readonly end: number } {
    const expression = this.#or()
    const last = this.#tokens.take()
    if (last.kind !== 'end') throw misplaced(last, 'after a value')
    return { expression, end: last.at + 2 }
  }

  #or(): Expression {
    return this.#series('or', 'or', () => this.#and())
  }

  #and(): Expression {
    return this.#series('and', 'and', () => this.#not())
  }

  #not(): Expression {
    const token = this.#tokens.peek()
    if (!isWord(token, 'not')) return this.#comparison()
    this.#tokens.take()
    return { kind: 'not', operand: this.#deeper(token, () => this.#not()) }
  }

  #comparison(): Expression {
    const left = this.#default()
    const operator = this.#comparisonSign()
    if (operator === undefined) return left
    const right = this.#default()
    const next = this.#tokens.peek()
    if (this.#comparisonSign() !== undefined) {
      throw new TemplateError(next.at, 'comparisons cannot be chained: join them with `and`')
    }
    return { kind: 'compare', operator, left, right }
  }

  #comparisonSign(): Comparison | undefined {
    const token = this.#tokens.peek()
    const found = COMPARISONS.find((each) => token.kind === 'sign' && token.text === each)
    if (found !== undefined) this.#tokens.take()
    return found
  }

  #default(): Expression {
    return this.#series('default', '??', () => this.#primary())
  }

  #series(kind: 'default' | 'and' | 'or', by: string, operand: () => Expression): Expression {
    const first = operand()
    const operands = [first]
    while (isWord(this.#tokens.peek(), by) || isSign(this.#tokens.peek(), by)) {
      this.#tokens.take()
      operands.push(operand())
    }
    return operands.length === 1 ? first : { kind, operands }
  }

  #primary(): Expression {
    const token = this.#tokens.take()
    switch (token.kind) {
      case 'number':
      case 'string':
        return { kind: 'literal', value: token.value }
      case 'word':
        return this.#word(token)
      case 'sign':
        if (token.text === '(') return this.#parenthesis(token)
        if (token.text === '[') return this.#emptyList()
        throw misplaced(token, 'where a value is expected')
      case 'end':
        throw new TemplateError(token.at, 'a value is missing before `}}`')
    }
  }

  #parenthesis(token: Token): Expression {
    const inner = this.#deeper(token, () => this.#or())
    const close = this.#tokens.take()
    if (!isSign(close, ')')) throw new TemplateError(close.at, 'a `)` is missing')
    return inner
  }

  #emptyList(): Expression {
    const close = this.#tokens.take()
    if (!isSign(close, ']')) throw new TemplateError(close.at, 'the only list literal is []')
    return { kind: 'literal', value: EMPTY }
  }

  #word({ text, at }: Token & { readonly kind: 'word' }): Expression {
    if (text === 'true' || text === 'false') return { kind: 'literal', value: text === 'true' }
    if (text === 'null') return { kind: 'literal', value: null }
    if (text === 'timeout') return { kind: 'timeout' }
    const root = ROOTS.find((each) => each === text)
    if (isSign(this.#tokens.peek(), '(')) throw new TemplateError(at, `functions are not supported: ${text}(…)`)
    if (root === undefined) throw new TemplateError(at, unknownRoot(text))
    return { kind: 'path', root, keys: this.#keys(), at }
  }

  #keys(): (string | number)[] {
    const keys: (string | number)[] = []
    for (let next = this.#tokens.peek(); next.kind === 'sign'; next = this.#tokens.peek()) {
      if (next.text === '.') keys.push(this.#name())
      else if (next.text === '[') keys.push(this.#bracket())
      else if (next.text === '(') throw new TemplateError(next.at, 'functions are not supported')
      else break
    }
    return keys
  }

  #name(): string {
    const dot = this.#tokens.take()
    const token = this.#tokens.take()
    if (token.kind !== 'word') {
      throw new TemplateError(
        dot.at,
        'a name is missing after `.`; write other names as ["any name"], list indexes as [0]',
      )
    }
    return allowed(token.text, token.at)
  }

  #bracket(): string | number {
    this.#tokens.take()
    const token = this.#tokens.take()
    const isIndex = token.kind === 'number' && Number.isSafeInteger(token.value) && token.value >= 0
    if (token.kind !== 'string' && !isIndex) {
      throw new TemplateError(token.at, 'expected a quoted name or a list index: ["any name"], [0]')
    }
    const close = this.#tokens.take()
    if (!isSign(close, ']')) throw new TemplateError(close.at, 'a `]` is missing')
    return token.kind === 'string' ? allowed(token.value, token.at) : Number(token.value)
  }

  #deeper(token: Token, read: () => Expression): Expression {
    if (++this.#depth > limits.graphExpressionDepthMax) {
      throw new TemplateError(token.at, `nested more than ${limits.graphExpressionDepthMax} levels deep`)
    }
    const expression = read()
    this.#depth--
    return expression
  }
}

function allowed(name: string, at: number): string {
  if (FORBIDDEN.has(name)) throw new TemplateError(at, `the name '${name}' is not allowed`)
  return name
}

function isSign(token: Token, text: string): boolean {
  return token.kind === 'sign' && token.text === text
}

function isWord(token: Token, text: string): boolean {
  return token.kind === 'word' && token.text === text
}

function unknownRoot(word: string): string {
  const roots = 'input, nodes.<id>, item, index, result'
  const shown = word.length > 60 ? `${word.slice(0, 60)}…` : word
  return `unknown name '${shown}'; expected ${roots}, or quoted text`
}

const advice: Readonly<Record<string, string>> = {
  '&&': 'write `and`',
  '||': 'write `or`',
  '!': 'write `not`',
  '=': 'write `==`',
  '===': 'write `==`, which also compares types',
  '!==': 'write `!=`, which also compares types',
  '|': 'filters are not supported; for a default write `??`',
  '?': 'conditional expressions are not supported; for a default write `??`',
  '{{': "to write {{ itself, write {{ '{{' }}",
}

function misplaced(token: Token, where: string): TemplateError {
  if (token.kind !== 'sign') {
    const shown = token.kind === 'word' ? `'${token.text.slice(0, 60)}'` : `a ${token.kind}`
    return new TemplateError(token.at, `unexpected ${shown} ${where}`)
  }
  const arithmetic = '+-*/%'.includes(token.text) ? 'arithmetic is not supported' : undefined
  const todo = Object.hasOwn(advice, token.text) ? advice[token.text] : arithmetic
  return new TemplateError(token.at, `unexpected '${token.text}' ${where}${todo ? `: ${todo}` : ''}`)
}
