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
