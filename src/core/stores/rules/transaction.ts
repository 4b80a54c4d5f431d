// A change in the making: reads see what was changed so far, nobody else does. It becomes real when its changes are
// applied, and costs nothing to throw away.
import type { Instant } from '../../base/instant.ts'
import type { Outbound, StoredMessage } from '../store.ts'
import { runKind, taskKind } from './due-index.ts'
import {
  type Birth,
  type Changes,
  hasEnded,
  type RecordRow,
  type RowTurn,
  type RunChange,
  type RunRow,
  type RunState,
  type SessionRow,
  type TaskRow,
} from './row.ts'
import { difference, newNotes, type Tables } from './tables.ts'
import { Visible } from './visible.ts'

/** Runs that have ended and are no longer among the tables. */
export interface Past {
  run(runId: string): RunRow | undefined
  newest(workflowId: string): string | undefined
}

export const noPast: Past = { run: () => undefined, newest: () => undefined }

interface Draft {
  readonly before: RunRow | undefined
  row: RunRow
  readonly turns: RowTurn[]
  forgotten?: number
  /** What has come, without what went again: that is nobody's business. */
  posted: StoredMessage[]
  /** Of what was there before. One that is taken and then posted again is in both. */
  readonly taken: string[]
}

export class Transaction {
  readonly now: Instant
  readonly #tables: Tables
  readonly #past: Past
  readonly #drafts = new Map<string, Draft>()
  readonly #tasks = new Map<string, TaskRow | undefined>()
  readonly #sessions = new Map<number, SessionRow | undefined>()
  readonly #names = new Map<string, string>()
  /** By space and key. */
  readonly #records = new Map<string, Map<string, RecordRow>>()
  /** Runs that have not ended, and tasks, by who holds them and by when they are due. */
  readonly runsDue: Visible<RunRow>
  readonly tasksDue: Visible<TaskRow>

  constructor(tables: Tables, now: Instant, past: Past = noPast) {
    this.#tables = tables
    const [drafts, tasks] = [this.#drafts, this.#tasks]
    this.runsDue = new Visible(
      tables.runsDue,
      { has: (id) => drafts.has(id), rows: () => liveIn(drafts) },
      runKind,
    )
    this.tasksDue = new Visible(
      tables.tasksDue,
      { has: (id) => tasks.has(id), rows: () => presentIn(tasks) },
      taskKind,
    )
    this.#past = past
    this.now = now
  }

  run(runId: string): RunRow | undefined {
    return this.#drafts.get(runId)?.row ?? this.#tables.run(runId) ?? this.#past.run(runId)
  }

  newest(workflowId: string): string | undefined {
    return (
      this.#names.get(workflowId) ??
      this.#tables.names.get(workflowId) ??
      this.#past.newest(workflowId)
    )
  }

  /** Runs that still have something to deliver. */
  *undelivered(): Iterable<RunRow> {
    const changed = [...this.#drafts.values()].map(({ row }) => row)
    for (const runId of this.#tables.undelivered) {
      const row = this.#drafts.has(runId) ? undefined : this.#tables.run(runId)
      if (row) yield row
    }
    for (const row of changed) if (row.outbox.length > 0) yield row
  }

  turnAt(runId: string, generation: number, seq: number): RowTurn | undefined {
    const turns = this.#tables.turns.get(runId) ?? []
    return turns.findLast((turn) => turn.seq === seq && (turn.generation ?? 1) === generation)
  }

  task(taskId: string): TaskRow | undefined {
    return this.#tasks.has(taskId) ? this.#tasks.get(taskId) : this.#tables.tasks.get(taskId)
  }

  /** The tasks of a run. */
  tasksOf(runId: string): TaskRow[] {
    const unchanged = [...this.#tables.tasksOf(runId)].filter((id) => !this.#tasks.has(id))
    const rows = [...unchanged.map((id) => this.#tables.tasks.get(id)), ...this.#tasks.values()]
    return rows.filter((row) => row !== undefined && row.runId === runId) as TaskRow[]
  }

  session(session: number): SessionRow | undefined {
    return this.#sessions.has(session)
      ? this.#sessions.get(session)
      : this.#tables.sessions.get(session)
  }

  *sessions(): Iterable<SessionRow> {
    for (const [id, row] of this.#tables.sessions) if (!this.#sessions.has(id)) yield row
    for (const row of this.#sessions.values()) if (row) yield row
  }

  record(space: string, key: string): RecordRow | undefined {
    return this.#records.get(space)?.get(key) ?? this.#tables.records.get(space)?.get(key)
  }

  *records(space: string): Iterable<RecordRow> {
    const changed = this.#records.get(space)
    for (const row of this.#tables.records.get(space)?.values() ?? []) {
      if (!changed?.has(row.key)) yield row
    }
    yield* changed?.values() ?? []
  }

  bear(birth: Birth, state: RunState): RunRow {
    const row: RunRow = { ...birth, ...state, inbox: [], outbox: [] }
    const { runId, workflowId } = birth.head
    this.#drafts.set(runId, { before: undefined, row, turns: [], posted: [], taken: [] })
    this.#names.set(workflowId, runId)
    return row
  }

  change(row: RunRow, set: Partial<RunState>): RunRow {
    const draft = this.#draft(row)
    draft.row = { ...draft.row, ...set }
    return draft.row
  }

  append(row: RunRow, turn: RowTurn): void {
    this.#draft(row).turns.push(turn)
  }

  /** Turns of generations before this one are needed no more. */
  forgetBefore(row: RunRow, generation: number): void {
    if (generation > 1) this.#draft(row).forgotten = generation
  }

  /** Whether the run is at hand, and not packed away with what has ended. */
  isAtHand(runId: string): boolean {
    return this.#drafts.has(runId) || this.#tables.run(runId) !== undefined
  }

  post(row: RunRow, message: StoredMessage): RunRow {
    const draft = this.#draft(row)
    draft.posted.push(message)
    draft.row = { ...draft.row, inbox: [...draft.row.inbox, message] }
    return draft.row
  }

  take(row: RunRow, ids: readonly string[]): RunRow {
    const draft = this.#draft(row)
    const taken = draft.row.inbox.filter(({ id }) => ids.includes(id))
    if (taken.length === 0) return draft.row
    const before = taken.filter((each) => !draft.posted.includes(each))
    draft.taken.push(...before.map(({ id }) => id))
    draft.posted = draft.posted.filter((each) => !taken.includes(each))
    draft.row = { ...draft.row, inbox: draft.row.inbox.filter((each) => !taken.includes(each)) }
    return draft.row
  }

  send(row: RunRow, outbox: readonly Outbound[]): void {
    const draft = this.#draft(row)
    draft.row = { ...draft.row, outbox }
  }

  putTask(row: TaskRow): void {
    this.#tasks.set(row.taskId, row)
  }

  dropTask(taskId: string): void {
    this.#tasks.set(taskId, undefined)
  }

  putSession(row: SessionRow): void {
    this.#sessions.set(row.session, row)
  }

  dropSession(session: number): void {
    this.#sessions.set(session, undefined)
  }

  putRecord(row: RecordRow): void {
    const space = this.#records.get(row.space) ?? new Map<string, RecordRow>()
    this.#records.set(row.space, space.set(row.key, row))
  }

  changes(): Changes {
    return {
      runs: [...this.#drafts].map(([runId, draft]) => changeOf(runId, draft)).filter(isSomething),
      tasks: [...this.#tasks.values()].filter((row) => row !== undefined),
      tasksGone: [...this.#tasks]
        .filter(([id, row]) => !row && this.#tables.tasks.has(id))
        .map(([id]) => id),
      sessions: [...this.#sessions.values()].filter((row) => row !== undefined),
      sessionsGone: [...this.#sessions]
        .filter(([id, row]) => !row && this.#tables.sessions.has(id))
        .map(([id]) => id),
      records: [...this.#records.values()].flatMap((space) => [...space.values()]),
    }
  }

  #draft(row: RunRow): Draft {
    const { runId } = row.head
    const there = this.#drafts.get(runId)
    if (there) return there
    const draft: Draft = { before: row, row, turns: [], posted: [], taken: [] }
    this.#drafts.set(runId, draft)
    return draft
  }
}

function* liveIn(drafts: ReadonlyMap<string, Draft>): Generator<RunRow> {
  for (const { row } of drafts.values()) if (!hasEnded(row)) yield row
}

function* presentIn(tasks: ReadonlyMap<string, TaskRow | undefined>): Generator<TaskRow> {
  for (const row of tasks.values()) if (row) yield row
}

function changeOf(runId: string, draft: Draft): RunChange {
  const { before, row, turns, posted, taken } = draft
  const { head, digest, startAt } = row
  const set = difference(before ?? ({} as RunState), row)
  const noted = newNotes(before?.notes, row.notes, set)
  return {
    runId,
    ...(!before && { born: { head, digest, startAt } }),
    ...(set && Object.keys(set).length > 0 && { set }),
    ...(noted && { noted }),
    ...(turns.length > 0 && { turns }),
    ...(draft.forgotten !== undefined && { forgotten: draft.forgotten }),
    ...(posted.length > 0 && { posted }),
    ...(taken.length > 0 && { taken }),
    ...(row.outbox !== (before?.outbox ?? row.outbox) && { outbox: row.outbox }),
    ...(!before && row.outbox.length > 0 && { outbox: row.outbox }),
  }
}

function isSomething(change: RunChange): boolean {
  return Object.keys(change).length > 1
}
