// Which nodes come before which, for as many pairs as are asked about. 32 are followed at a time, each a bit of a number per
// node, so that memory grows with nodes alone, and time with questions times edges, divided by 32.
import type { Order } from './order.ts'

const bits = 32

/** Whether `to` comes before `from`, directly or not: one answer for each pair. */
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

/** For each node, which of the targets come before it. */
function follow(
  targets: readonly number[],
  parents: Order['parents'],
  sorted: readonly number[],
): Uint32Array {
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
