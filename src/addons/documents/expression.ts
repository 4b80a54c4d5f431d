// The language between `{{` and `}}`: paths, literals, `??`, comparisons, `and`, `or`, `not`. It calls nothing, computes
// nothing and repeats nothing, so that what it costs can be seen in what is written.
import { limits } from '../../core/base/limits.ts'
import { Mistake } from './mistake.ts'
import { type Token, Tokens } from './tokens.ts'

export const ROOTS = ['input', 'nodes', 'item', 'index', 'result'] as const
export type Root = (typeof ROOTS)[number]

export const COMPARISONS = ['==', '!=', '<', '<=', '>', '>='] as const
export type Comparison = (typeof COMPARISONS)[number]

export type Expression =
  | { readonly kind: 'literal'; readonly value: null | boolean | number | string | readonly [] }
  /** What a wait gives when its time is over. */
  | { readonly kind: 'timeout' }
  | {
      readonly kind: 'path'
      readonly root: Root
      readonly keys: readonly (string | number)[]
      /** Where it begins in the text, from 0. */
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

/** Names that lead out of the data, wherever they stand. */
export const FORBIDDEN: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor'])

/** Reads the expression that begins at `start`, up to and with its `}}`. */
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
      throw new Mistake(next.at, 'comparisons do not follow each other: join them by `and`')
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
        throw new Mistake(token.at, 'a value is missing before `}}`')
    }
  }

  #parenthesis(token: Token): Expression {
    const inner = this.#deeper(token, () => this.#or())
    const close = this.#tokens.take()
    if (!isSign(close, ')')) throw new Mistake(close.at, 'a `)` is missing')
    return inner
  }

  #emptyList(): Expression {
    const close = this.#tokens.take()
    if (!isSign(close, ']')) throw new Mistake(close.at, 'the only list that is written here is []')
    return { kind: 'literal', value: EMPTY }
  }

  #word({ text, at }: Token & { readonly kind: 'word' }): Expression {
    if (text === 'true' || text === 'false') return { kind: 'literal', value: text === 'true' }
    if (text === 'null') return { kind: 'literal', value: null }
    if (text === 'timeout') return { kind: 'timeout' }
    const root = ROOTS.find((each) => each === text)
    if (isSign(this.#tokens.peek(), '('))
      throw new Mistake(at, `there are no functions: ${text}(…)`)
    if (root === undefined) throw new Mistake(at, unknownRoot(text))
    return { kind: 'path', root, keys: this.#keys(), at }
  }

  #keys(): (string | number)[] {
    const keys: (string | number)[] = []
    for (let next = this.#tokens.peek(); next.kind === 'sign'; next = this.#tokens.peek()) {
      if (next.text === '.') keys.push(this.#name())
      else if (next.text === '[') keys.push(this.#bracket())
      else if (next.text === '(') throw new Mistake(next.at, 'there are no functions')
      else break
    }
    return keys
  }

  #name(): string {
    const dot = this.#tokens.take()
    const token = this.#tokens.take()
    if (token.kind !== 'word') {
      throw new Mistake(
        dot.at,
        'a name is missing behind `.`; other names are written ["any name"], places in a list [0]',
      )
    }
    return allowed(token.text, token.at)
  }

  #bracket(): string | number {
    this.#tokens.take()
    const token = this.#tokens.take()
    const isIndex = token.kind === 'number' && Number.isSafeInteger(token.value) && token.value >= 0
    if (token.kind !== 'string' && !isIndex) {
      throw new Mistake(
        token.at,
        'expected a name in quotes or a place in a list: ["any name"], [0]',
      )
    }
    const close = this.#tokens.take()
    if (!isSign(close, ']')) throw new Mistake(close.at, 'a `]` is missing')
    return token.kind === 'string' ? allowed(token.value, token.at) : Number(token.value)
  }

  #deeper(token: Token, read: () => Expression): Expression {
    if (++this.#depth > limits.graphExpressionDepthMax) {
      throw new Mistake(token.at, `nested more than ${limits.graphExpressionDepthMax} levels deep`)
    }
    const expression = read()
    this.#depth--
    return expression
  }
}

function allowed(name: string, at: number): string {
  if (FORBIDDEN.has(name)) throw new Mistake(at, `the name '${name}' is not allowed`)
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
  return `'${shown}' is not known here; expected ${roots}, or text in quotes`
}

const advice: Readonly<Record<string, string>> = {
  '&&': 'write `and`',
  '||': 'write `or`',
  '!': 'write `not`',
  '=': 'write `==`',
  '===': 'write `==`: types are compared, too',
  '!==': 'write `!=`: types are compared, too',
  '|': 'there are no filters; for a default write `??`',
  '?': 'there is no choice between two values; for a default write `??`',
  '{{': "to write {{ itself, write {{ '{{' }}",
}

function misplaced(token: Token, where: string): Mistake {
  if (token.kind !== 'sign') {
    const shown = token.kind === 'word' ? `'${token.text.slice(0, 60)}'` : `a ${token.kind}`
    return new Mistake(token.at, `${shown} stands ${where}`)
  }
  const arithmetic = '+-*/%'.includes(token.text) ? 'nothing is computed here' : undefined
  const todo = Object.hasOwn(advice, token.text) ? advice[token.text] : arithmetic
  return new Mistake(token.at, `'${token.text}' stands ${where}${todo ? `: ${todo}` : ''}`)
}
