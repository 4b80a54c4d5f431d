// From templates to the functions of a plan.
import { pathText } from '../../core/base/names.ts'
import type { GraphNode, GraphScope } from '../../core/index.ts'
import { refusal, type Sight } from './evaluate.ts'
import type { InputOf } from './parameters.ts'
import { kindOf, type Path } from './problems.ts'
import { render, sayable, type Template } from './template.ts'

export type Giving = (scope: GraphScope) => unknown

export class Scopes {
  readonly #inputOf: InputOf

  constructor(inputOf: InputOf) {
    this.#inputOf = inputOf
  }

  /** What is neither true nor false is a mistake, and not a reason to skip. */
  condition(template: Template, path: Path): NonNullable<GraphNode['when']> {
    return (scope) => {
      const value = this.#fill(template, scope)
      if (typeof value === 'boolean') return value
      throw refusal(pathText(path), `expected true or false, and got ${kindOf(value)}`)
    }
  }

  list(template: Template, path: Path): Giving {
    return (scope) => {
      const value = this.#fill(template, scope)
      if (Array.isArray(value)) return value
      throw refusal(pathText(path), `expected a list, and got ${kindOf(value)}`)
    }
  }

  /** What a node is given: what it says; or its item, what it comes after gave, or what the run was started with. */
  given(template: Template | undefined, parents: readonly string[], isRepeated: boolean): Giving {
    if (template !== undefined) return (scope) => this.#fill(template, scope)
    if (isRepeated) return ({ item }) => item
    if (parents.length === 0) return ({ input }) => this.#inputOf(input)
    return ({ results }) => resultsOf(results, parents)
  }

  undone(
    template: Template | undefined,
  ): (scope: GraphScope & { readonly result: unknown }) => unknown {
    if (template === undefined) return ({ result }) => sayable(result)
    return (scope) => this.#fill(template, scope)
  }

  #fill(template: Template, scope: GraphScope & { readonly result?: unknown }): unknown {
    const { input, results: nodes, item, index, result } = scope
    const sight: Sight = { input: () => this.#inputOf(input), nodes, item, index, result }
    return render(template, sight)
  }
}

/** By id; who did not succeed has none. */
export function resultsOf(
  results: GraphScope['results'],
  ids: Iterable<string>,
): Readonly<Record<string, unknown>> {
  const known: [string, unknown][] = []
  for (const id of ids) if (Object.hasOwn(results, id)) known.push([id, sayable(results[id])])
  return Object.fromEntries(known)
}
