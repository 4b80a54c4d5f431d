// Turns templates into the functions of a plan: conditions, lists and inputs.
import { pathText } from '../../core/base/names.ts'
import type { GraphNode, GraphScope } from '../../core/index.ts'
import { templateFailure } from './evaluate.ts'
import type { InputOf } from './parameters.ts'
import { kindOf, type Path } from './problems.ts'
import { asData, render, type Template } from './template.ts'

export type ScopeFunction = (scope: GraphScope) => unknown

export class PlanFunctions {
  readonly #inputOf: InputOf

  constructor(inputOf: InputOf) {
    this.#inputOf = inputOf
  }

  /** A condition that is neither true nor false fails the step instead of skipping it. */
  condition(template: Template, path: Path): NonNullable<GraphNode['when']> {
    return (scope) => {
      const value = this.#fill(template, scope)
      if (typeof value === 'boolean') return value
      throw templateFailure(pathText(path), `expected true or false, got ${kindOf(value)}`)
    }
  }

  list(template: Template, path: Path): ScopeFunction {
    return (scope) => {
      const value = this.#fill(template, scope)
      if (Array.isArray(value)) return value
      throw templateFailure(pathText(path), `expected a list, got ${kindOf(value)}`)
    }
  }

  /** The input of a node: its `with`, else its item, else its dependencies' results, else the input of the run. */
  input(template: Template | undefined, parents: readonly string[], isRepeated: boolean): ScopeFunction {
    if (template !== undefined) return (scope) => this.#fill(template, scope)
    if (isRepeated) return ({ item }) => item
    if (parents.length === 0) return ({ input }) => this.#inputOf(input)
    return ({ results }) => resultsOf(results, parents)
  }

  undoInput(template: Template | undefined): (scope: GraphScope & { readonly result: unknown }) => unknown {
    if (template === undefined) return ({ result }) => asData(result)
    return (scope) => this.#fill(template, scope)
  }

  #fill(template: Template, scope: GraphScope & { readonly result?: unknown }): unknown {
    const { input, results: nodes, item, index, result } = scope
    return render(template, { input: () => this.#inputOf(input), nodes, item, index, result })
  }
}

/** Results by id; a node that did not succeed has none. */
export function resultsOf(results: GraphScope['results'], ids: Iterable<string>): Readonly<Record<string, unknown>> {
  const known: [string, unknown][] = []
  for (const id of ids) if (Object.hasOwn(results, id)) known.push([id, asData(results[id])])
  return Object.fromEntries(known)
}
