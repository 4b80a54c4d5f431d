// Values that all parts of the store seam use.
import type { Instant } from '../base/instant.ts'
import type { ParentLink } from '../kernel/run.ts'

export type {
  AttributeChanges,
  StoredAttribute as AttributeValue,
  StoredAttributes as Attributes,
  StoredScalar as AttributeScalar,
} from '../kernel/attributes.ts'

export interface StoredHead {
  readonly runId: string
  readonly name: string
  readonly workflowId: string
  readonly queue: string
  readonly priority: number
  readonly generation: number
  readonly createdAt: Instant
  readonly input: string
  readonly extras?: string
  readonly parent?: ParentLink
}

export interface StoredMessage {
  readonly id: string
  readonly body: string
}
