// Collects the problems of a graph document, so that all of them are reported at once, up to a limit.
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { pathText } from '../../core/base/names.ts'
import { nearest } from '../../core/base/nearest.ts'
import { quote } from '../../core/base/visible.ts'

export type Path = readonly (string | number)[]

export type GraphProblemCode =
  /** Problems of the document as a whole. */
  | 'LIMIT'
  | 'SYNTAX'
  | 'NOT_DATA'
  /** Problems of fields. */
  | 'MISSING_FIELD'
  | 'UNKNOWN_FIELD'
  | 'CONFLICTING_FIELDS'
  | 'WRONG_TYPE'
  | 'INVALID_VALUE'
  | 'FORBIDDEN_NAME'
  | 'UNKNOWN_HANDLER'
  /** Problems of the graph. */
  | 'DUPLICATE_ID'
  | 'UNKNOWN_DEPENDENCY'
  | 'SELF_DEPENDENCY'
  | 'DUPLICATE_DEPENDENCY'
  | 'CYCLE'
  /** Problems of templates. */
  | 'TEMPLATE'
  | 'NOT_IN_SCOPE'
  | 'UNKNOWN_NODE'
  | 'SELF_REFERENCE'
  | 'NOT_AN_ANCESTOR'

export interface GraphProblem {
  /** The place in the document: `nodes[3].after[0]`. Empty for the document itself. */
  readonly path: string
  readonly code: GraphProblemCode
  readonly message: string
}

export class Problems {
  readonly #list: GraphProblem[] = []
  readonly #places = new Set<string>()
  #count = 0
  #looks = 0

  get any(): boolean {
    return this.#count > 0
  }

  add(path: Path, code: GraphProblemCode, message: string): void {
    this.#count++
    if (this.#isFull) return
    const place = pathText(path)
    this.#places.add(place)
    this.#list.push({ path: place, code, message: clip(message) })
  }

  /** Whether a problem was reported at this place. */
  has(path: Path): boolean {
    return this.any && this.#places.has(pathText(path))
  }

  /** Calls `make`; a PawlError it throws becomes a problem. */
  attempt<Value>(path: Path, code: GraphProblemCode, make: () => Value): Value | undefined {
    try {
      return make()
    } catch (error) {
      if (!(error instanceof PawlError)) throw error
      this.add(path, code, error.message)
      return undefined
    }
  }

  /** `; did you mean 'fetch'?`, or nothing. */
  didYouMean(name: string, candidates: Iterable<string>): string {
    const near = this.nearest(name, candidates)
    return near === undefined ? '' : `; did you mean ${quote(near)}?`
  }

  nearest(name: string, candidates: Iterable<string>): string | undefined {
    // The search is not free, and only the first problems are shown.
    return this.#looks++ < limits.graphProblemsTold ? nearest(name, candidates) : undefined
  }

  refuse(): never {
    throw this.#error(undefined)
  }

  /** Throws if there are problems. */
  throwIfAny(name: string | undefined): void {
    if (this.any) throw this.#error(name)
  }

  get #isFull(): boolean {
    return this.#list.length >= limits.graphProblemsMax
  }

  #error(name: string | undefined): PawlError {
    const shown = this.#list.slice(0, limits.graphProblemsTold)
    const lines = shown.map(({ path, message }) => `\n  ${path === '' ? '' : `${path}: `}${message}`)
    const more = this.#count > shown.length ? `\n  and ${this.#count - shown.length} more` : ''
    const what = name === undefined ? 'the graph' : `graph ${quote(name)}`
    const problems = this.#count === 1 ? '1 problem' : `${this.#count} problems`
    const message = `${what} has ${problems}:${lines.join('')}${more}`
    const details = { problems: this.#list, count: this.#count }
    return new PawlError('DEFINITION_INVALID', message, { details })
  }
}

/** The type of a value, for messages. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return 'text'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const messageLengthMax = 600

function clip(message: string): string {
  const short = message.length > messageLengthMax ? `${message.slice(0, messageLengthMax)}…` : message
  return short.toWellFormed()
}
