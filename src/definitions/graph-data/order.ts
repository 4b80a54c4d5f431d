// Whether nodes and what they come after make a graph that can run: everything exists, nothing waits for itself, and there is
// a place to begin. All of it in time and memory that grow with nodes and edges, and not faster.
import { limits } from '../../kernel/limits.ts'
import { pathText } from '../../kernel/names.ts'
import { quote } from '../../kernel/visible.ts'
import { cyclesAmong } from './cycles.ts'
import type { Path, Problems } from './problems.ts'

/** A node as far as order is concerned. */
export interface Placed {
  readonly id: string
  readonly path: Path
  /** What it comes after, and where in the list that stands. */
  readonly after: readonly { readonly id: string; readonly at: number }[]
  readonly afterPath: Path
}

/** Nodes are numbers here: their places in the list. */
export interface Order {
  readonly indexes: ReadonlyMap<string, number>
  readonly parents: readonly (readonly number[])[]
  /** Every node behind all that it comes after; without those that never can. */
  readonly sorted: readonly number[]
}

/** A graph without a beginning or an end has a cycle or a wrong dependency, and is told of that alone. */
export function orderOf(nodes: readonly Placed[], problems: Problems): Order | undefined {
  const edges = nodes.reduce((sum, { after }) => sum + after.length, 0)
  if (edges > limits.graphEdgesMax) {
    const message = `the graph has ${edges} dependencies; the limit is ${limits.graphEdgesMax}`
    problems.add(['nodes'], 'LIMIT', message)
    return undefined
  }
  const indexes = indexesOf(nodes, problems)
  const parents = nodes.map((node) => parentsOf(node, indexes, problems))
  const children = reversed(parents)
  const sorted = sort(parents, children)
  if (sorted.length < nodes.length) tellStuck(nodes, parents, sorted, problems)
  return { indexes, parents, sorted }
}

function indexesOf(nodes: readonly Placed[], problems: Problems): Map<string, number> {
  const indexes = new Map<string, number>()
  for (const [index, { id, path }] of nodes.entries()) {
    const first = indexes.get(id)
    if (first === undefined) indexes.set(id, index)
    else {
      const other = pathText(nodes[first]?.path ?? [])
      const message = `${quote(id)} is the id of ${other} already: ids are unique`
      problems.add([...path, 'id'], 'DUPLICATE_ID', message)
    }
  }
  return indexes
}

function parentsOf(
  { id, after, afterPath }: Placed,
  indexes: ReadonlyMap<string, number>,
  problems: Problems,
): number[] {
  const parents = new Set<number>()
  for (const each of after) {
    const place = [...afterPath, each.at]
    const index = indexes.get(each.id)
    if (index === undefined) {
      const near = problems.didYouMean(each.id, indexes.keys())
      problems.add(place, 'UNKNOWN_DEPENDENCY', `there is no node ${quote(each.id)}${near}`)
    } else if (each.id === id) {
      const message = `node ${quote(id)} comes after itself: leave it out`
      problems.add(place, 'SELF_DEPENDENCY', message)
    } else if (parents.has(index)) {
      problems.add(place, 'DUPLICATE_DEPENDENCY', `${quote(each.id)} is there twice`)
    } else parents.add(index)
  }
  return [...parents]
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

function tellStuck(
  nodes: readonly Placed[],
  parents: readonly (readonly number[])[],
  sorted: readonly number[],
  problems: Problems,
): void {
  const stuck = new Set(nodes.keys())
  for (const index of sorted) stuck.delete(index)
  const { cycles, inside } = cyclesAmong(stuck, parents)
  for (const cycle of cycles) {
    const [first = 0] = cycle
    const last = nodes[cycle.at(-1) ?? first]
    const node = nodes[first]
    const at = node?.after.find(({ id }) => id === last?.id)?.at ?? 0
    const message = `a cycle: ${drawn(cycle, nodes)}; one of them must not come after the one before it`
    problems.add([...(node?.afterPath ?? []), at], 'CYCLE', message)
  }
  for (const index of stuck) {
    if (inside.has(index)) continue
    const { id = '', path = [] } = nodes[index] ?? {}
    const message = `node ${quote(id)} can never begin: it comes after a cycle`
    problems.add(path, 'UNREACHABLE', message)
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
