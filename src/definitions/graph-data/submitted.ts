// A graph given as data, as a workflow like any other.
import type { Json } from '../../kernel/value.ts'
import type { RegisteredGraph } from '../registry.ts'
import type { Workflow } from '../workflow.ts'
import { parseGraph } from './parse.ts'

/** One that is kept in the store, and was checked before that. */
export function submittedGraph(stored: {
  readonly version: number
  readonly document?: Json
}): RegisteredGraph {
  return { ...registered(stored.document, { stored: true }), version: stored.version }
}

/** One that a program has, from JSON, or from text in JSON or YAML. Throws everything that is wrong with it at once. */
export function parsedGraph(document: string | Json): Workflow<Json, Json> {
  const graph = registered(document)
  const workflow = { is: 'workflow', ...graph } as const
  return workflow as typeof workflow & Workflow<Json, Json>
}

function registered(
  given: unknown,
  known: { readonly stored?: true } = {},
): RegisteredGraph & {
  readonly document: Json
  readonly documentHash: string
} {
  const { plan, document, documentHash } = parseGraph(given, known)
  return {
    style: 'graph',
    name: plan.name,
    options: {},
    schemas: {},
    definitionHash: plan.hash,
    codeHash: documentHash,
    plan,
    activities: [],
    document,
    documentHash,
  }
}
