// Definitions that are kept in the store: a graph given as data, which any worker can run, or a note of what code was there.

import type { Json } from '../base/value.ts'
import type { Catalogue, Draft } from '../catalogue/catalogue.ts'
import type { WorkflowContract } from '../definitions/contract.ts'
import type { ParseGraph } from '../definitions/graph-document.ts'
import type { AnyWorkflow } from '../definitions/workflow.ts'

/** A definition in the store. Runs of it are started like those of any workflow, and go by this version. */
export interface Submitted extends WorkflowContract<unknown, unknown> {
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

function draftOf(
  given: AnyWorkflow | Json,
  parse: (document: Json) => ReturnType<ParseGraph>,
): Draft {
  if (!isWorkflow(given)) {
    const { plan, document, documentHash } = parse(given)
    const { name, hash } = plan
    return { name, definitionHash: hash, contentHash: documentHash, document }
  }
  const { name, definitionHash } = given
  // A graph that was parsed from data is data.
  const { document, documentHash } = given as { document?: Json; documentHash?: string }
  const contentHash = documentHash ?? definitionHash
  return { name, definitionHash, contentHash, ...(document !== undefined && { document }) }
}

function isWorkflow(given: AnyWorkflow | Json): given is AnyWorkflow {
  return (
    (given as { is?: unknown } | null)?.is === 'workflow' && 'definitionHash' in (given as object)
  )
}
