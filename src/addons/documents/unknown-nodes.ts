// Collects names of nodes that do not exist and reports each of them once, with every place that names it.
import { pathText } from '../../core/base/names.ts'
import { quote } from '../../core/base/visible.ts'
import type { Path, Problems } from './problems.ts'

interface Named {
  readonly path: Path
  readonly code: 'UNKNOWN_DEPENDENCY' | 'UNKNOWN_NODE'
  /** The column in a template, from 1. */
  readonly column?: number
}

interface Ids {
  readonly indexes: ReadonlyMap<string, number>
  readonly ambiguous: ReadonlySet<string>
}

const FURTHER_MAX = 3

export class UnknownNodes {
  readonly #places = new Map<string, Named[]>()

  add(id: string, place: Named): void {
    const places = this.#places.get(id)
    if (places) places.push(place)
    else this.#places.set(id, [place])
  }

  /**
   * Reports nothing if there are no more unknown names than nodes without an id of their own: the names may be theirs.
   */
  report({ indexes, ambiguous }: Ids, nameless: number, problems: Problems): void {
    if (this.#places.size <= nameless + ambiguous.size) return
    for (const [id, [first, ...further]] of this.#places) {
      if (!first) continue
      const near = problems.didYouMean(id, indexes.keys())
      const column = first.column === undefined ? '' : `column ${first.column}: `
      const message = `${column}there is no node ${quote(id)}${near}${alsoAt(further)}`
      problems.add(first.path, first.code, message)
    }
  }
}

function alsoAt(places: readonly Named[]): string {
  if (places.length === 0) return ''
  const shown = places.slice(0, FURTHER_MAX).map(({ path }) => pathText(path))
  const more = places.length > shown.length ? ` and ${places.length - shown.length} more` : ''
  return ` (also named at ${shown.join(', ')}${more})`
}
