// Submits definitions to the store: a graph document, which any worker can run, or the hash of a definition in code.

import { defined } from '../base/defined.ts'
import type { Json } from '../base/value.ts'
import type { Catalogue, Draft } from '../catalogue/catalogue.ts'
import type { WorkflowContract } from '../definitions/contract.ts'
import type { ParseGraph } from '../definitions/graph-document.ts'
import type { AnyWorkflow } from '../definitions/workflow.ts'

/** A definition in the store, as `engine.submit` returns it. `engine.start` starts runs of this version. */
export interface Submitted extends WorkflowContract<unknown, unknown> {
  /** The version in the store, from 1. */
  readonly version: number
  readonly definitionHash: string
}

export async function submitted(
  catalogue: Catalogue,
  given: AnyWorkflow | Json,
  parse: (document: Json) => ReturnType<ParseGraph>,
): Promise<Submitted> {
  const { name, version, definitionHash } = await catalogue.submit(draftOf(given, parse))
  return { is: 'workflow', name, version, definitionHash } as Submitted
}

function draftOf(given: AnyWorkflow | Json, parse: (document: Json) => ReturnType<ParseGraph>): Draft {
  if (!isWorkflow(given)) {
    const { plan, document, documentHash } = parse(given)
    const { name, hash } = plan
    return { name, definitionHash: hash, contentHash: documentHash, document }
  }
  const { name, definitionHash } = given
  // A graph that was parsed from a document is stored as that document.
  const { document, documentHash } = given as { document?: Json; documentHash?: string }
  const contentHash = documentHash ?? definitionHash
  return defined({ name, definitionHash, contentHash, document })
}

function isWorkflow(given: AnyWorkflow | Json): given is AnyWorkflow {
  return (given as { is?: unknown } | null)?.is === 'workflow' && 'definitionHash' in (given as object)
}
