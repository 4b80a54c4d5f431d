// All rows of one store in memory. They change only by `apply`, with the changes of a transaction.
import type { Instant } from '../../base/time.ts'
import type { Hint } from '../store.ts'
import { DueIndex, runKind, taskKind } from './due-index.ts'
import { Hints } from './hints.ts'
import {
  type Changes,
  hasEnded,
  position,
  type RecordRow,
  type RowTurn,
  type RunChange,
  type RunRow,
  type SessionRow,
  type TaskRow,
} from './row.ts'
import { StreamTables } from './stream-tables.ts'

export class Tables {
  readonly live = new Map<string, RunRow>()
  readonly ended = new Map<string, RunRow>()
  readonly turns = new Map<string, RowTurn[]>()
  readonly tasks = new Map<string, TaskRow>()
  /** Runs in progress, and tasks: by their holders, and by when they are due. */
  readonly runsDue = new DueIndex(runKind)
  readonly tasksDue = new DueIndex(taskKind)
  /** Runs whose outbox is not delivered yet, in progress or ended. */
  readonly undelivered = new Set<string>()
  readonly sessions = new Map<number, SessionRow>()
  /** The newest run of each workflow id. */
  readonly names = new Map<string, string>()
  /** By space and key. */
  readonly records = new Map<string, Map<string, RecordRow>>()
  readonly streams = new StreamTables()

  readonly #tasksOf = new Map<string, Set<string>>()

  run(runId: string): RunRow | undefined {
    return this.live.get(runId) ?? this.ended.get(runId)
  }

  /** Ids of a run's tasks. */
  tasksOf(runId: string): Iterable<string> {
    return this.#tasksOf.get(runId) ?? []
  }

  /** Applies the changes, and returns what others should hear of them. */
  apply(changes: Changes, now: Instant): Hint[] {
    const hints = new Hints()
    for (const change of changes.runs) {
      if (change.isDeleted) this.#delete(change.runId)
      const row = this.#applyRun(change)
      if (row) hear(hints, change, row, now)
    }
    for (const task of changes.tasks) {
      this.putTask(task)
      if (task.session === 0) hints.ready()
    }
    for (const taskId of changes.tasksGone) this.#dropTask(taskId)
    for (const session of changes.sessions) this.sessions.set(session.session, session)
    for (const session of changes.sessionsGone) this.sessions.delete(session)
    for (const record of changes.records) {
      this.putRecord(record)
      // A record may say what there is to do.
      hints.ready()
    }
    return hints.all()
  }

  /** True if no run of its workflow id was created later. */
  isNewest({ head }: RunRow): boolean {
    return this.names.get(head.workflowId) === head.runId
  }

  /** Restores a run from a snapshot. `isOlder` if it is known not to be the newest of its workflow id. */
  restore(row: RunRow, turns: readonly RowTurn[], isOlder = false): void {
    const { runId, workflowId } = row.head
    this.#put(row)
    if (turns.length > 0) this.turns.set(runId, [...turns])
    if (isOlder) return
    // Snapshots of older releases do not say which run is the newest.
    const namesake = this.run(this.names.get(workflowId) ?? '')
    if (!namesake || namesake.head.createdAt <= row.head.createdAt) this.names.set(workflowId, runId)
  }

  putTask(task: TaskRow): void {
    const { taskId, runId } = task
    this.tasks.set(taskId, task)
    this.tasksDue.put(task)
    const siblings = this.#tasksOf.get(runId) ?? new Set<string>()
    this.#tasksOf.set(runId, siblings.add(taskId))
  }

  putRecord(row: RecordRow): void {
    const space = this.records.get(row.space) ?? new Map<string, RecordRow>()
    this.records.set(row.space, space.set(row.key, row))
  }

  /** Removes a run that has ended. */
  forget(runId: string): void {
    const row = this.ended.get(runId)
    if (!row) return
    this.ended.delete(runId)
    this.undelivered.delete(runId)
    this.turns.delete(runId)
    this.streams.delete(runId)
    if (this.names.get(row.head.workflowId) === runId) this.names.delete(row.head.workflowId)
  }

  #delete(runId: string): void {
    const workflowId = this.ended.get(runId)?.head.workflowId
    this.forget(runId)
    if (workflowId === undefined || this.names.has(workflowId)) return
    let newest: RunRow | undefined
    for (const row of [...this.live.values(), ...this.ended.values()]) {
      if (row.head.workflowId === workflowId && (!newest || position(row) > position(newest))) newest = row
    }
    if (newest) this.names.set(workflowId, newest.head.runId)
  }

  #applyRun(change: RunChange): RunRow | undefined {
    const { runId, born } = change
    const before = this.run(runId) ?? (born && { ...born, ...newRow })
    if (!before) return undefined
    if (born && !change.older) this.names.set(born.head.workflowId, runId)
    const row = changed(before, change)
    if (change.turns) this.#append(runId, change.turns)
    if (change.forgotten !== undefined) this.#forgetBefore(runId, change.forgotten)
    if (change.streams) this.streams.apply(runId, change.streams)
    this.#put(row)
    return row
  }

  #put(row: RunRow): void {
    const { runId } = row.head
    if (hasEnded(row)) {
      this.live.delete(runId)
      this.runsDue.delete(runId)
      this.ended.set(runId, row)
    } else {
      this.ended.delete(runId)
      this.live.set(runId, row)
      this.runsDue.put(row)
    }
    if (row.outbox.length > 0) this.undelivered.add(runId)
    else this.undelivered.delete(runId)
  }

  #dropTask(taskId: string): void {
    const task = this.tasks.get(taskId)
    if (!task) return
    this.tasks.delete(taskId)
    this.tasksDue.delete(taskId)
    const siblings = this.#tasksOf.get(task.runId)
    siblings?.delete(taskId)
    if (siblings?.size === 0) this.#tasksOf.delete(task.runId)
  }

  #forgetBefore(runId: string, generation: number): void {
    const kept = this.turns.get(runId)?.filter((turn) => (turn.generation ?? 1) >= generation)
    if (kept) this.turns.set(runId, kept)
  }

  #append(runId: string, turns: readonly RowTurn[]): void {
    const there = this.turns.get(runId)
    if (there) there.push(...turns)
    else this.turns.set(runId, [...turns])
  }
}

/** A run's row before its first change. */
const newRow: Omit<RunRow, 'head' | 'digest' | 'startAt'> = {
  status: 'pending',
  at: 0,
  updatedAt: 0,
  session: 0,
  epoch: 0,
  nonce: 0,
  deliveries: 0,
  generation: 1,
  seq: 0,
  reached: 0,
  turnId: 0,
  inbox: [],
  outbox: [],
}

function changed(row: RunRow, { set, noted, posted, taken, outbox }: RunChange): RunRow {
  const next: Record<string, unknown> = { ...row }
  for (const [key, value] of Object.entries(set ?? {})) {
    if (value === null) delete next[key]
    else next[key] = value
  }
  if (noted) next['notes'] = { ...(next['notes'] as RunRow['notes']), ...noted }
  const left = taken ? row.inbox.filter(({ id }) => !taken.includes(id)) : row.inbox
  next['inbox'] = posted ? [...left, ...posted] : left
  if (outbox) next['outbox'] = outbox
  return next as unknown as RunRow
}

function hear(hints: Hints, change: RunChange, row: RunRow, now: Instant): void {
  if (change.outbox && change.outbox.length > 0) hints.ready()
  if (change.set?.endedAt) return hints.ended(change.runId)
  // A worker that sleeps until something later must hear of a run that is due before.
  if (change.born && row.session === 0) hints.ready()
  hints.changed(row, now)
  if (change.posted) hints.posted(row)
}
