// What a move works with.
import type { Clock } from '../../core/runtime/clock.ts'
import type { Random } from '../../core/runtime/random.ts'
import type { Store, TransferOperation, TransferOutcome } from '../../core/stores/driver.ts'

/** One of the two stores of a move. */
export interface Side {
  /** The store, or its server, database and schema, without secrets. */
  readonly place: string
  /** Calls the store, again and again while it is unavailable. The store is the raw one: bodies stay encoded. */
  readonly send: <T>(call: (store: Store) => Promise<T>) => Promise<T>
}

export interface MovePorts {
  readonly from: Side
  readonly to: Side
  /** The number of the move: the same for the same two places. */
  readonly move: number
  readonly clock: Clock
  readonly random: Random
  /** How long the move waits for workers to release a run. */
  readonly patienceMs: number
}

/** Why a run was not moved. */
export type RefusalReason = 'held' | 'otherMove' | 'taken' | 'changed' | 'different' | 'left' | 'streams' | 'refused'

/** A run that stays where it is. */
export class Refusal extends Error {
  readonly runId: string
  readonly reason: RefusalReason

  constructor(runId: string, reason: RefusalReason, message: string) {
    super(message)
    this.runId = runId
    this.reason = reason
  }
}

export async function transfer({ send }: Side, operation: TransferOperation): Promise<TransferOutcome> {
  const [outcome] = await send((store) => store.transfer([operation]))
  return outcome ?? { outcome: 'missing' }
}

/** Works on several items at the same time. */
export async function forEach<T>(items: Iterable<T>, atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  const line = async (): Promise<void> => {
    for (let next = left.next(); !next.done; next = left.next()) await work(next.value)
  }
  await Promise.all(Array.from({ length: atOnce }, line))
}
