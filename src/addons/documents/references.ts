// What templates say about other nodes: they exist, and they come before. A node sees those it comes after and those it names.

import { quote } from '../../core/base/visible.ts'
import { areAncestors } from './ancestors.ts'
import type { NodeDraft } from './node.ts'
import { type Order, wordIn } from './order.ts'
import type { Problems } from './problems.ts'
import type { Reference } from './template.ts'
import type { UnknownNodes } from './unknown-nodes.ts'

/** For each node, the ids of those whose results it sees. */
export function checkReferences(
  nodes: readonly NodeDraft[],
  ofOutput: readonly Reference[],
  order: Order & { readonly unknown: UnknownNodes },
  problems: Problems,
): (readonly string[])[] {
  for (const reference of ofOutput) indexOf(reference, order)
  const sees = nodes.map(({ after }) => new Set(after.map(({ id }) => id)))
  const asked: { readonly from: number; readonly to: number; readonly reference: Reference }[] = []
  for (const [from, { id, references }] of nodes.entries()) {
    for (const reference of references) {
      const to = indexOf(reference, order)
      if (to === undefined || sees[from]?.has(reference.id)) continue
      if (order.ambiguous.has(reference.id)) continue
      if (reference.id === id) problems.add(reference.path, 'SELF_REFERENCE', itself(reference))
      else asked.push({ from, to, reference })
    }
  }
  // In a cycle there is no before.
  if (order.sorted.length < nodes.length) return []
  const answers = areAncestors(
    asked.map(({ from, to }) => [from, to] as const),
    order,
  )
  for (const [at, { from, reference }] of asked.entries()) {
    const isTold = sees[from]?.has(reference.id) || order.uncertain.has(from)
    sees[from]?.add(reference.id)
    if (answers[at] || isTold) continue
    const word = wordIn(nodes[from]?.afterPath ?? [])
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

function itself({ id, path, column }: Reference): string {
  const todo = path.includes('compensate') ? ': write `result`' : ''
  return `column ${column}: node ${quote(id)} refers to its own result${todo}`
}

function notBefore({ id, column }: Reference, word: string): string {
  return `column ${column}: node ${quote(id)} does not come before this one: add it to \`${word}\``
}
