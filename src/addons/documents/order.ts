// Whether nodes and what they come after make a graph that can run: everything exists, and nothing waits for itself, so there
// is a place to begin. What only follows from another mistake is not told. All of it in time and memory that grow with nodes and edges, and not faster.
import { limits } from '../../core/base/limits.ts'
import { pathText } from '../../core/base/names.ts'
import { quote } from '../../core/base/visible.ts'
import { cyclesAmong } from './cycles.ts'
import type { Path, Problems } from './problems.ts'
import type { UnknownNodes } from './unknown-nodes.ts'

/** A node as far as order is concerned. */
export interface Placed {
  readonly id: string
  readonly path: Path
  /** What it comes after, and where in the list that stands. */
  readonly after: readonly { readonly id: string; readonly at: number }[]
  readonly afterPath: Path
  /** False if something in the list could not be read. */
  readonly isWhole: boolean
}

/** Nodes are numbers here: their places in the list. */
export interface Order {
  readonly indexes: ReadonlyMap<string, number>
  readonly parents: readonly (readonly number[])[]
  /** Every node behind all that it comes after; without those that never can. */
  readonly sorted: readonly number[]
  /** Nodes for which nobody can say what comes before them, because something there is wrong. */
  readonly uncertain: ReadonlySet<number>
  /** Ids that several nodes have. */
  readonly ambiguous: ReadonlySet<string>
}

export function orderOf(
  nodes: readonly Placed[],
  unknown: UnknownNodes,
  problems: Problems,
): Order | undefined {
  const edges = nodes.reduce((sum, { after }) => sum + after.length, 0)
  if (edges > limits.graphEdgesMax) {
    const message = `the graph has ${edges} dependencies; the limit is ${limits.graphEdgesMax}`
    problems.add(['nodes'], 'LIMIT', message)
    return undefined
  }
  const { indexes, ambiguous } = indexesOf(nodes, problems)
  const known = { indexes, ambiguous, unknown }
  const edged = nodes.map((node) => parentsOf(node, known, problems))
  const parents = edged.map(({ parents }) => parents)
  const sorted = sort(parents, reversed(parents))
  if (sorted.length < nodes.length) tellCycles(nodes, parents, sorted, problems)
  const uncertain = new Set<number>()
  for (const index of sorted) {
    const isSure = edged[index]?.isWhole && !parents[index]?.some((each) => uncertain.has(each))
    if (!isSure) uncertain.add(index)
  }
  return { indexes, parents, sorted, uncertain, ambiguous }
}

function indexesOf(
  nodes: readonly Placed[],
  problems: Problems,
): { readonly indexes: Map<string, number>; readonly ambiguous: Set<string> } {
  const indexes = new Map<string, number>()
  const ambiguous = new Set<string>()
  for (const [index, { id, path }] of nodes.entries()) {
    const first = indexes.get(id)
    if (first === undefined) indexes.set(id, index)
    else {
      const other = pathText(nodes[first]?.path ?? [])
      const message = `${quote(id)} is the id of ${other} already: ids are unique`
      problems.add([...path, 'id'], 'DUPLICATE_ID', message)
      ambiguous.add(id)
    }
  }
  return { indexes, ambiguous }
}

interface Known extends Pick<Order, 'indexes' | 'ambiguous'> {
  readonly unknown: UnknownNodes
}

function parentsOf(
  { id, after, afterPath, isWhole }: Placed,
  { indexes, ambiguous, unknown }: Known,
  problems: Problems,
): { readonly parents: readonly number[]; readonly isWhole: boolean } {
  const parents = new Set<number>()
  let isSure = isWhole && !ambiguous.has(id)
  for (const each of after) {
    const path = [...afterPath, each.at]
    const index = indexes.get(each.id)
    if (index !== undefined && parents.has(index)) {
      problems.add(path, 'DUPLICATE_DEPENDENCY', `${quote(each.id)} is there twice`)
    } else if (index !== undefined && each.id !== id && !ambiguous.has(each.id)) parents.add(index)
    else {
      isSure = false
      if (index === undefined) unknown.add(each.id, { path, code: 'UNKNOWN_DEPENDENCY' })
      else if (!ambiguous.has(each.id)) {
        const message = `node ${quote(id)} depends on itself: remove it from \`${wordIn(afterPath)}\``
        problems.add(path, 'SELF_DEPENDENCY', message)
      }
    }
  }
  return { parents: [...parents], isWhole: isSure }
}

/** The word that the document has for it: `after`, or `dependencies`. */
export function wordIn(afterPath: Path): string {
  return String(afterPath.at(-1))
}

function reversed(parents: readonly (readonly number[])[]): number[][] {
  const children: number[][] = parents.map(() => [])
  for (const [index, list] of parents.entries()) {
    for (const parent of list) children[parent]?.push(index)
  }
  return children
}

/** Kahn: a node is next when all it comes after are out. */
function sort(
  parents: readonly (readonly number[])[],
  children: readonly (readonly number[])[],
): number[] {
  const left = parents.map((list) => list.length)
  const sorted = [...left.keys()].filter((index) => left[index] === 0)
  for (let at = 0; at < sorted.length; at++) {
    for (const child of children[sorted[at] ?? -1] ?? []) {
      const open = (left[child] ?? 0) - 1
      left[child] = open
      if (open === 0) sorted.push(child)
    }
  }
  return sorted
}

function tellCycles(
  nodes: readonly Placed[],
  parents: readonly (readonly number[])[],
  sorted: readonly number[],
  problems: Problems,
): void {
  const stuck = new Set(nodes.keys())
  for (const index of sorted) stuck.delete(index)
  for (const cycle of cyclesAmong(stuck, parents)) {
    const [first = 0] = cycle
    const last = nodes[cycle.at(-1) ?? first]
    const node = nodes[first]
    const at = node?.after.find(({ id }) => id === last?.id)?.at ?? 0
    const afterPath = node?.afterPath ?? []
    const message = `a cycle: ${drawn(cycle, nodes)}; each depends on the one before, so none can start: remove one from its \`${wordIn(afterPath)}\``
    problems.add([...afterPath, at], 'CYCLE', message)
  }
}

const drawnMax = 20

function drawn(cycle: readonly number[], nodes: readonly Placed[]): string {
  const names = [...cycle, cycle[0] ?? 0].map((index) => (nodes[index]?.id ?? '').slice(0, 40))
  const middle = ` … ${names.length - drawnMax} more … `
  const half = drawnMax / 2
  if (names.length <= drawnMax) return names.join(' → ')
  return `${names.slice(0, half).join(' → ')} →${middle}→ ${names.slice(-half).join(' → ')}`
}
