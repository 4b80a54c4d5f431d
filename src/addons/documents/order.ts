// Sorts the nodes of a graph by their dependencies and reports unknown dependencies and cycles. A problem that only
// follows from another is not reported. Time and memory are linear in nodes and edges.

import { limits } from '../../core/base/limits.ts'
import { pathText } from '../../core/base/names.ts'
import { quote } from '../../core/base/visible.ts'
import type { Path, Problems } from './problems.ts'
import type { UnknownNodes } from './unknown-nodes.ts'

/** A node and its dependencies. */
export interface OrderedNode {
  readonly id: string
  readonly path: Path
  /** The ids of its dependencies, and their indexes in the list. */
  readonly after: readonly { readonly id: string; readonly at: number }[]
  readonly afterPath: Path
  /** False if an entry of the list could not be read. */
  readonly isWhole: boolean
}

/** The order of nodes. A node is its index in the list. */
export interface Order {
  readonly indexes: ReadonlyMap<string, number>
  readonly parents: readonly (readonly number[])[]
  /** Every node after its dependencies, without nodes in or behind a cycle. */
  readonly sorted: readonly number[]
  /** Nodes whose ancestors are unknown because of another problem. */
  readonly uncertain: ReadonlySet<number>
  /** Ids that several nodes have. */
  readonly ambiguous: ReadonlySet<string>
}

export function orderOf(nodes: readonly OrderedNode[], unknown: UnknownNodes, problems: Problems): Order | undefined {
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
  const sorted = sort(parents, childrenOf(parents))
  if (sorted.length < nodes.length) reportCycles(nodes, parents, sorted, problems)
  const uncertain = new Set<number>()
  for (const index of sorted) {
    const isSure = edged[index]?.isWhole && !parents[index]?.some((each) => uncertain.has(each))
    if (!isSure) uncertain.add(index)
  }
  return { indexes, parents, sorted, uncertain, ambiguous }
}

function indexesOf(
  nodes: readonly OrderedNode[],
  problems: Problems,
): { readonly indexes: Map<string, number>; readonly ambiguous: Set<string> } {
  const indexes = new Map<string, number>()
  const ambiguous = new Set<string>()
  for (const [index, { id, path }] of nodes.entries()) {
    const first = indexes.get(id)
    if (first === undefined) indexes.set(id, index)
    else {
      const other = pathText(nodes[first]?.path ?? [])
      const message = `the id ${quote(id)} is already used by ${other}: choose another`
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
  { id, after, afterPath, isWhole }: OrderedNode,
  { indexes, ambiguous, unknown }: Known,
  problems: Problems,
): { readonly parents: readonly number[]; readonly isWhole: boolean } {
  const parents = new Set<number>()
  let isSure = isWhole && !ambiguous.has(id)
  for (const each of after) {
    const path = [...afterPath, each.at]
    const index = indexes.get(each.id)
    if (index !== undefined && parents.has(index)) {
      problems.add(path, 'DUPLICATE_DEPENDENCY', `${quote(each.id)} is listed twice: remove one of them`)
    } else if (index !== undefined && each.id !== id && !ambiguous.has(each.id)) parents.add(index)
    else {
      isSure = false
      if (index === undefined) unknown.add(each.id, { path, code: 'UNKNOWN_DEPENDENCY' })
      else if (!ambiguous.has(each.id)) {
        const message = `node ${quote(id)} depends on itself: remove it from \`${fieldNameIn(afterPath)}\``
        problems.add(path, 'SELF_DEPENDENCY', message)
      }
    }
  }
  return { parents: [...parents], isWhole: isSure }
}

/** The name of the field in the document: `after` or its alias `dependencies`. */
export function fieldNameIn(afterPath: Path): string {
  return String(afterPath.at(-1))
}

function childrenOf(parents: readonly (readonly number[])[]): number[][] {
  const children: number[][] = parents.map(() => [])
  for (const [index, list] of parents.entries()) {
    for (const parent of list) children[parent]?.push(index)
  }
  return children
}

/** Kahn's algorithm: a node follows when all its dependencies are sorted. */
function sort(parents: readonly (readonly number[])[], children: readonly (readonly number[])[]): number[] {
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

function reportCycles(
  nodes: readonly OrderedNode[],
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
    const message = `a cycle: ${cycleText(cycle, nodes)}; each depends on the one before, so none can start: remove one from its \`${fieldNameIn(afterPath)}\``
    problems.add([...afterPath, at], 'CYCLE', message)
  }
}

const drawnMax = 20

function cycleText(cycle: readonly number[], nodes: readonly OrderedNode[]): string {
  const names = [...cycle, cycle[0] ?? 0].map((index) => (nodes[index]?.id ?? '').slice(0, 40))
  const middle = ` … ${names.length - drawnMax} more … `
  const half = drawnMax / 2
  if (names.length <= drawnMax) return names.join(' → ')
  return `${names.slice(0, half).join(' → ')} →${middle}→ ${names.slice(-half).join(' → ')}`
}

// Finds one cycle in each strongly connected component. Breaking it may reveal another in the same component; cycles in
// separate components are all reported.

type Parents = readonly (readonly number[])[]

/** Each cycle in the order of its dependencies, starting at its first node. */
export function cyclesAmong(nodes: ReadonlySet<number>, parents: Parents): number[][] {
  const cycles: number[][] = []
  for (const part of components(nodes, parents)) {
    // A node that depends on itself has been reported already.
    if (part.size < 2) continue
    cycles.push(cycleIn(part, parents))
  }
  return cycles.sort(([a = 0], [b = 0]) => a - b)
}

/** Tarjan's algorithm without recursion, because a chain may contain every node. */
function components(nodes: ReadonlySet<number>, parents: Parents): Set<number>[] {
  const parts: Set<number>[] = []
  const numbers = new Map<number, number>()
  const lowest = new Map<number, number>()
  const open: number[] = []
  const isOpen = new Set<number>()
  const lower = (node: number, to: number): void => {
    lowest.set(node, Math.min(lowest.get(node) ?? to, to))
  }
  const enter = (node: number): { node: number; next: number } => {
    numbers.set(node, numbers.size)
    lower(node, numbers.size - 1)
    open.push(node)
    isOpen.add(node)
    return { node, next: 0 }
  }
  const leave = (node: number): void => {
    if (lowest.get(node) !== numbers.get(node)) return
    const part = new Set(open.splice(open.lastIndexOf(node)))
    for (const each of part) isOpen.delete(each)
    parts.push(part)
  }
  for (const start of nodes) {
    if (numbers.has(start)) continue
    const trail = [enter(start)]
    for (let top = trail.at(-1); top; top = trail.at(-1)) {
      const parent = parents[top.node]?.[top.next++]
      if (parent === undefined) {
        leave(top.node)
        trail.pop()
        const above = trail.at(-1)
        if (above) lower(above.node, lowest.get(top.node) ?? 0)
      } else if (nodes.has(parent) && !numbers.has(parent)) trail.push(enter(parent))
      else if (isOpen.has(parent)) lower(top.node, numbers.get(parent) ?? 0)
    }
  }
  return parts
}

/** Follows dependencies within the component until a node repeats. */
function cycleIn(part: ReadonlySet<number>, parents: Parents): number[] {
  const trail = new Map<number, number>()
  let [node = 0] = part
  while (!trail.has(node)) {
    trail.set(node, trail.size)
    node = parents[node]?.find((parent) => part.has(parent)) ?? node
  }
  const backwards = [...trail.keys()].slice(trail.get(node))
  const cycle = backwards.reverse()
  const first = cycle.indexOf(Math.min(...cycle))
  return [...cycle.slice(first), ...cycle.slice(0, first)]
}
