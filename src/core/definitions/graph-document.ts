// Graph documents: graphs written as data. The engine does not know their language; its parser is passed in.
import type { Description } from '../base/described.ts'
import type { Json } from '../base/value.ts'
import type { GraphPlan } from './graph-plan.ts'
import type { Workflow } from './workflow.ts'

/** The known activities, and the description of their input if they have one. */
export type KnownActivities = ReadonlyMap<string, Description | undefined>

export interface GraphDocument {
  readonly plan: GraphPlan
  /** The document as stored; it parses to the same plan. */
  readonly document: Json
  /** Changes with everything in the document except the order of fields. */
  readonly documentHash: string
}

/**
 * Throws DEFINITION_INVALID with all problems in its `details`. A `stored` document was accepted before, and may use
 * names that are refused now.
 */
export type ParseGraph = (
  document: unknown,
  known?: { readonly activities?: KnownActivities | undefined; readonly stored?: true },
) => GraphDocument

/** The workflow of a graph document. */
export function graphOfDocument(parsed: GraphDocument): Workflow<Json, Json> {
  const workflow = { is: 'workflow', ...registeredDocument(parsed) } as const
  return workflow as typeof workflow & Workflow<Json, Json>
}

export function registeredDocument({ plan, document, documentHash }: GraphDocument) {
  return {
    style: 'graph' as const,
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
