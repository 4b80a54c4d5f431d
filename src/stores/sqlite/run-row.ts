// A run of the file as the rules see it.
import type { Run, RunState, Status } from '../../core/stores/driver.ts'

/** A row of `pawl_live`, with what some statements add. */
export type LiveValues = readonly [
  runId: string,
  lane: number,
  at: number,
  startAt: number,
  session: number,
  epoch: number,
  nonce: number,
  deliveries: number,
  status: Exclude<Status, 'compensating'>,
  generation: number,
  seq: number,
  turnId: number,
  updatedAt: number,
  pausedBy: string | null,
  compensating: number,
  pin: string | null,
  unread?: number,
  reached?: number | null,
  noted?: number,
]

/** A row of `pawl_closed`. */
export interface ClosedColumns {
  readonly run_id: string
  readonly lane: number
  readonly status: Exclude<Status, 'compensating'>
  readonly closed_at: number
  readonly generation: number
  readonly epoch: number
  readonly pin: string | null
}

export interface SqliteRun extends Run {
  /** Negative while the run is free and its last holder died: the ordinary claim never meets those. */
  readonly lane: number
  readonly seq: number
  readonly turnId: number
  readonly reached: number
  /** False if the inbox is known to be empty, or there are known to be no notes. */
  hasUnread: boolean
  readonly hasNotes: boolean
}

export function runOf(values: LiveValues): SqliteRun {
  const [runId, lane, at, startAt, session, epoch, nonce, deliveries, status, ...more] = values
  const [generation, seq, turnId, updatedAt, pausedBy, compensating, pin, unread, reached, noted] = more
  return {
    head: { runId },
    lane,
    at,
    startAt,
    session,
    epoch,
    nonce,
    deliveries,
    status,
    generation,
    seq,
    turnId,
    reached: reached ?? 0,
    updatedAt,
    paused: pausedBy === null ? undefined : { build: pausedBy },
    compensating: compensating === 1,
    pin: pin ?? undefined,
    hasUnread: unread !== 0,
    hasNotes: noted !== 0,
  }
}

export function endedRunOf(row: ClosedColumns): SqliteRun {
  const { status, generation, epoch, lane, closed_at: endedAt } = row
  return {
    head: { runId: row.run_id },
    ...{ status, generation, epoch, lane, endedAt, updatedAt: endedAt },
    pin: row.pin ?? undefined,
    ...{ at: 0, startAt: 0, session: 0, nonce: 0, deliveries: 0, seq: 0, turnId: 0, reached: 0 },
    ...{ hasUnread: true, hasNotes: false },
  }
}

/** Columns that a change sets, as the bits of a number, and their values. */
export interface LiveUpdate {
  columns: number
  readonly values: (string | number | null)[]
}

/** In the order of their bits, and of the values. */
const COLUMNS = [
  ...['at', 'session', 'epoch', 'nonce', 'deliveries', 'status', 'generation', 'seq', 'turn_id'],
  ...['updated_at', 'lane', 'parked_build', 'parked_failure', 'compensating', 'pin', 'reason'],
]

/** Only what differs, because every column of an index that is set costs a write to that index. */
export function updateOf(run: SqliteRun, next: SqliteRun, set: Partial<RunState>): LiveUpdate {
  const values: LiveUpdate['values'] = []
  let columns = 0
  const put = (bit: number, value: string | number | null): void => {
    columns |= 1 << bit
    values.push(value)
  }
  if (next.at !== run.at) put(0, next.at)
  if (next.session !== run.session) put(1, next.session)
  if (next.epoch !== run.epoch) put(2, next.epoch)
  if (next.nonce !== run.nonce) put(3, next.nonce)
  if (next.deliveries !== run.deliveries) put(4, next.deliveries)
  if (next.status !== run.status) put(5, next.status)
  if (next.generation !== run.generation) put(6, next.generation)
  if (next.seq !== run.seq) put(7, next.seq)
  if (next.turnId !== run.turnId) put(8, next.turnId)
  if (next.updatedAt !== run.updatedAt) put(9, next.updatedAt)
  if (next.lane !== run.lane) put(10, next.lane)
  if (next.paused !== run.paused) {
    put(11, set.paused?.build ?? null)
    put(12, set.paused?.failure ?? null)
  }
  if (set.compensating !== undefined || next.compensating !== run.compensating) put(13, next.compensating ? 1 : 0)
  if (next.pin !== run.pin) put(14, next.pin ?? null)
  if ('reason' in set) put(15, set.reason ?? null)
  return { columns, values }
}

/** The statement that sets these columns of a run in progress. */
export function updateText(columns: number): string {
  const set = COLUMNS.filter((_name, bit) => columns & (1 << bit)).map((name) => `${name} = ?`)
  return `update pawl_live set ${set.join(', ')} where run_id = ?`
}
