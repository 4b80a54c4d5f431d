// Finds out for many pairs of nodes whether one comes before the other. It follows 32 targets at a time, one bit each:
// memory grows with the nodes only, and time with targets times edges divided by 32.
import type { Order } from './order.ts'

const bits = 32

/** For each pair, whether `to` comes before `from`, directly or indirectly. */
export function areAncestors(
  pairs: readonly (readonly [from: number, to: number])[],
  { parents, sorted }: Order,
): boolean[] {
  const targets = [...new Set(pairs.map(([, to]) => to))]
  const answers: boolean[] = new Array(pairs.length).fill(false)
  const byTarget = Map.groupBy(pairs.keys(), (at) => pairs[at]?.[1] ?? -1)
  for (let first = 0; first < targets.length; first += bits) {
    const block = targets.slice(first, first + bits)
    const above = follow(block, parents, sorted)
    for (const [bit, target] of block.entries()) {
      for (const at of byTarget.get(target) ?? []) {
        const from = pairs[at]?.[0] ?? -1
        answers[at] = (((above[from] ?? 0) >>> bit) & 1) === 1
      }
    }
  }
  return answers
}

/** For each node, the targets that come before it, as bits. */
function follow(targets: readonly number[], parents: Order['parents'], sorted: readonly number[]): Uint32Array {
  const above = new Uint32Array(parents.length)
  const own = new Uint32Array(parents.length)
  for (const [bit, target] of targets.entries()) own[target] = (1 << bit) >>> 0
  for (const node of sorted) {
    let seen = 0
    for (const parent of parents[node] ?? []) seen |= (above[parent] ?? 0) | (own[parent] ?? 0)
    above[node] = seen
  }
  return above
}
