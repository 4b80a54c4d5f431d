// The rows of the memory store. Several stores may share one database, as several processes share a file;
// the simulator relies on it.
import type { Instant } from '../../kernel/event.ts'
import type { Status } from '../../kernel/run.ts'
import type { Hint, NewTask, Outbound, StoredHead, StoredMessage, StoredTurn } from '../store.ts'

export interface RunRow {
  readonly head: StoredHead
  readonly digest: string
  status: Status
  /** When it is due; `Infinity` means only a message can wake it. */
  at: Instant
  /** It does not begin before this, whatever messages come. */
  readonly startAt: Instant
  updatedAt: Instant
  endedAt?: Instant
  /** The holder's session, 0 when nobody holds it. */
  session: number
  epoch: number
  nonce: number
  deliveries: number
  /** Events at the last release. */
  seq: number
  readonly turns: StoredTurn[]
  readonly inbox: StoredMessage[]
  /** Messages and runs for others that are not delivered yet. */
  outbox: Outbound[]
  paused?: { readonly build: string; readonly failure: string }
}

export interface TaskRow extends NewTask {
  readonly runId: string
  at: Instant
  session: number
  epoch: number
  nonce: number
  deliveries: number
  failed: number
  failure?: string
}

export interface SessionRow {
  readonly session: number
  worker: string
  beat: number
  expiresAt: Instant
  about: string
}

export class MemoryDatabase {
  readonly runs = new Map<string, RunRow>()
  readonly tasks = new Map<string, TaskRow>()
  readonly sessions = new Map<number, SessionRow>()
  /** The newest run of each workflow id. */
  readonly names = new Map<string, string>()
  readonly listeners = new Set<(hint: Hint) => void>()
}

export function hasEnded(row: RunRow): boolean {
  return row.endedAt !== undefined
}
