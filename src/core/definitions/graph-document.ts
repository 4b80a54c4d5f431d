// A graph that was written as data. The language it is written in is not the engine's: whoever puts an engine together
// hands in its parser.
import type { Description } from '../base/described.ts'
import type { Json } from '../base/value.ts'
import type { GraphPlan } from './graph-plan.ts'
import type { Workflow } from './workflow.ts'

/** The activities there are, and the fields of their input if they describe it. */
export type KnownActivities = ReadonlyMap<string, Description | undefined>

export interface GraphDocument {
  readonly plan: GraphPlan
  /** The document as it is stored: it parses to the same plan. */
  readonly document: Json
  /** Differs when anything in the document does, except the order of fields. */
  readonly documentHash: string
}

/**
 * Throws DEFINITION_INVALID with all problems in its `details`. A document that is `stored` was accepted before, and may
 * use names that are refused today.
 */
export type ParseGraph = (
  document: unknown,
  known?: { readonly activities?: KnownActivities | undefined; readonly stored?: true },
) => GraphDocument

/** A workflow like any other. */
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
