// What both halves of the store seam speak of.
import type { Instant } from '../kernel/event.ts'
import type { ParentLink } from '../kernel/run.ts'

/** What a run is found by. A value is text, a number, or true or false; an instant is a number of its own kind. */
export type Attributes = Readonly<Record<string, AttributeValue>>
export type AttributeValue = string | number | boolean | { readonly at: Instant }

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
