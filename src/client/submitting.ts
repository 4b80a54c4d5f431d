// Definitions that are kept in the store: a graph given as data, which any worker can run, or a note of what code was there.
import type { Catalogue, Draft } from '../catalogue/catalogue.ts'
import type { WorkflowContract } from '../definitions/contract.ts'
import type { Handlers } from '../definitions/graph-data/handler-input.ts'
import { parseGraph } from '../definitions/graph-data/parse.ts'
import type { AnyWorkflow } from '../definitions/workflow.ts'
import type { Json } from '../kernel/value.ts'

/** A definition in the store. Runs of it are started like those of any workflow, and go by this version. */
export interface Submitted extends WorkflowContract<unknown, unknown> {
  readonly version: number
  readonly definitionHash: string
}

export async function submitted(
  catalogue: Catalogue,
  given: AnyWorkflow | Json,
  handlers: Handlers | undefined,
): Promise<Submitted> {
  const { name, version, definitionHash } = await catalogue.submit(draftOf(given, handlers))
  return { is: 'workflow', name, version, definitionHash } as Submitted
}

function draftOf(given: AnyWorkflow | Json, handlers: Handlers | undefined): Draft {
  if (!isWorkflow(given)) {
    const { plan, document, documentHash } = parseGraph(given, { handlers })
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
