// Splits an expression into tokens, in one pass.

import { limits } from '../../core/base/limits.ts'

export type Token =
  | { readonly kind: 'word'; readonly text: string; readonly at: number }
  | { readonly kind: 'number'; readonly value: number; readonly at: number }
  | { readonly kind: 'string'; readonly value: string; readonly at: number }
  | { readonly kind: 'sign'; readonly text: string; readonly at: number }
  /** The `}}`. */
  | { readonly kind: 'end'; readonly at: number }

// A hyphen belongs to a word: there is no subtraction, and ids of nodes often contain hyphens.
const word = /[\p{L}_$][\p{L}\p{N}_$-]*/uy
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const sign = /===|!==|\?\?|==|!=|<=|>=|&&|\|\||\{\{|[^\s]/uy
const space = /\s*/y

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

export class Tokens {
  readonly #text: string
  readonly #start: number
  #at: number
  #next: Token | undefined

  constructor(text: string, start: number) {
    this.#text = text
    this.#start = start
    this.#at = start
  }

  peek(): Token {
    this.#next ??= this.#read()
    return this.#next
  }

  take(): Token {
    const token = this.peek()
    if (token.kind !== 'end') this.#next = undefined
    return token
  }

  #read(): Token {
    this.#match(space)
    const at = this.#at
    if (at - this.#start > limits.graphExpressionLengthMax) {
      const max = limits.graphExpressionLengthMax
      throw new TemplateError(this.#start, `an expression has more than ${max} characters`)
    }
    if (at >= this.#text.length) throw new TemplateError(this.#start, 'the `}}` is missing')
    if (this.#text.startsWith('}}', at)) return { kind: 'end', at }
    const found = this.#match(word)
    if (found !== undefined) return { kind: 'word', text: found, at }
    const digits = this.#match(number)
    if (digits !== undefined) return this.#number(digits, at)
    const first = this.#text[at]
    if (first === '"' || first === "'") return this.#string(first, at)
    return { kind: 'sign', text: this.#match(sign) ?? '', at }
  }

  #number(digits: string, at: number): Token {
    const value = Number(digits)
    if (!Number.isFinite(value)) throw new TemplateError(at, 'the number is too large')
    return { kind: 'number', value: value + 0, at }
  }

  #string(quote: string, at: number): Token {
    let value = ''
    for (let next = at + 1; next < this.#text.length; next++) {
      const character = this.#text.charAt(next)
      if (character === quote) {
        this.#at = next + 1
        return { kind: 'string', value, at }
      }
      if (character !== '\\') {
        value += character
        continue
      }
      next++
      value += escaped(this.#text.charAt(next), next - 1)
    }
    throw new TemplateError(at, `the closing ${quote} is missing`)
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }
}

function escaped(character: string, at: number): string {
  if (character === '\\' || character === '"' || character === "'") return character
  if (Object.hasOwn(escapes, character)) return escapes[character] ?? ''
  throw new TemplateError(at, 'unknown escape; expected one of \\\\ \\" \\\' \\n \\t \\r')
}

/** An error in a template, with its offset in the text. */
export class TemplateError extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}
