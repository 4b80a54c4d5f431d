// Checks that nodes named in templates exist and come before the node. A node sees the results of its dependencies and
// of the nodes that its templates name.

import { quote } from '../../core/base/visible.ts'
import type { NodeDraft } from './node.ts'
import { fieldNameIn, type Order } from './order.ts'
import type { Problems } from './problems.ts'
import type { Reference } from './template.ts'
import type { UnknownNodes } from './unknown-nodes.ts'

/** For each node, the ids of the nodes whose results it sees. */
export function checkReferences(
  nodes: readonly NodeDraft[],
  ofOutput: readonly Reference[],
  order: Order & { readonly unknown: UnknownNodes },
  problems: Problems,
): (readonly string[])[] {
  for (const reference of ofOutput) indexOf(reference, order)
  const sees = nodes.map(({ after }) => new Set(after.map(({ id }) => id)))
  const candidates: {
    readonly from: number
    readonly to: number
    readonly reference: Reference
  }[] = []
  for (const [from, { id, references }] of nodes.entries()) {
    for (const reference of references) {
      const to = indexOf(reference, order)
      if (to === undefined || sees[from]?.has(reference.id)) continue
      if (order.ambiguous.has(reference.id)) continue
      if (reference.id === id) problems.add(reference.path, 'SELF_REFERENCE', selfReference(reference))
      else candidates.push({ from, to, reference })
    }
  }
  // Nodes in a cycle have no order.
  if (order.sorted.length < nodes.length) return []
  const answers = areAncestors(
    candidates.map(({ from, to }) => [from, to] as const),
    order,
  )
  for (const [at, { from, reference }] of candidates.entries()) {
    const isReported = sees[from]?.has(reference.id) || order.uncertain.has(from)
    sees[from]?.add(reference.id)
    if (answers[at] || isReported) continue
    const word = fieldNameIn(nodes[from]?.afterPath ?? [])
    problems.add(reference.path, 'NOT_AN_ANCESTOR', notBefore(reference, word))
  }
  return sees.map((ids) => [...ids])
}

function indexOf(
  { id, path, column }: Reference,
  { indexes, unknown }: Order & { readonly unknown: UnknownNodes },
): number | undefined {
  const index = indexes.get(id)
  if (index === undefined) unknown.add(id, { path, column, code: 'UNKNOWN_NODE' })
  return index
}

function selfReference({ id, path, column }: Reference): string {
  const todo = path.includes('compensate') ? ': write `result`' : ''
  return `column ${column}: node ${quote(id)} refers to its own result${todo}`
}

function notBefore({ id, column }: Reference, word: string): string {
  return `column ${column}: node ${quote(id)} does not come before this node: add it to \`${word}\``
}

// Finds out for many pairs of nodes whether one comes before the other. It follows 32 targets at a time, one bit each:
// memory grows with the nodes only, and time with targets times edges divided by 32.

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
