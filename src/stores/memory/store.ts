// The reference store: every rule of the seam in its plainest form. Nothing survives the process.
// With `delivery: 'deferred'` it behaves like a store that can write only one run at a time: what a turn sends
// to other runs is kept with the sender and carried over by a later claim.
import type { Instant } from '../../kernel/event.ts'
import { limits } from '../../kernel/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type {
  Claimed,
  ClaimedRun,
  ClaimedTask,
  ClaimRequest,
  Committed,
  Created,
  Hint,
  Listed,
  ListQuery,
  LoadAsk,
  Loaded,
  NewRun,
  Post,
  Posted,
  Renewed,
  SessionBeat,
  Settled,
  Store,
  TaskOutcome,
  Traits,
  TurnCommit,
} from '../store.ts'
import {
  claimRuns,
  claimTasks,
  grant,
  hasSuspects,
  isLeasedBy,
  newsFor,
  nextDue,
  release,
} from './claim.ts'
import { hasEnded, MemoryDatabase, type RunRow, type TaskRow } from './database.ts'
import { listRuns, loadOne } from './read.ts'

export interface MemoryOptions {
  readonly clock: Clock
  readonly database?: MemoryDatabase
  readonly delivery?: 'atomic' | 'deferred'
}

export class MemoryStore implements Store {
  readonly traits: Traits = { name: 'memory', durability: 'none', lanes: 1, push: true }
  readonly #clock: Clock
  readonly #database: MemoryDatabase
  readonly #deferred: boolean

  constructor(options: MemoryOptions) {
    this.#clock = options.clock
    this.#database = options.database ?? new MemoryDatabase()
    this.#deferred = options.delivery === 'deferred'
  }

  async create(runs: readonly NewRun[]): Promise<readonly Created[]> {
    const created = runs.map((run) => this.#create(run))
    if (created.some((each) => each.outcome === 'created' && !each.run))
      this.#hint({ type: 'ready' })
    return created
  }

  async post(messages: readonly Post[]): Promise<readonly Posted[]> {
    return messages.map((each) => this.#post(each))
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    const now = this.#clock.now()
    this.#reap(now)
    this.#deliverAll()
    if (!this.#database.sessions.has(request.session)) {
      return { now, runs: [], tasks: [], news: [], dead: true }
    }
    const runs = claimRuns(this.#database, request, now)
    const tasks = claimTasks(this.#database, request, now)
    const due = nextDue(this.#database, request, now)
    return {
      now,
      runs: runs.map(claimedRun),
      tasks: tasks.map(claimedTask),
      news: newsFor(this.#database, request),
      ...(hasSuspects(this.#database, request, now) && { suspects: true as const }),
      ...(due !== undefined && { nextDue: due }),
    }
  }

  async commit(turns: readonly TurnCommit[]): Promise<readonly Committed[]> {
    return turns.map((turn) => this.#commit(turn))
  }

  async settle(outcomes: readonly TaskOutcome[]): Promise<readonly Settled[]> {
    return outcomes.map((each) => ({ outcome: this.#settle(each) ? 'applied' : 'fenced' }))
  }

  async renew(beat: SessionBeat): Promise<Renewed> {
    const now = this.#clock.now()
    const { sessions, tasks } = this.#database
    const known = sessions.get(beat.session)
    const alive = beat.close
      ? false
      : beat.beat === 1 || (known !== undefined && known.expiresAt > now)
    if (alive) {
      const { session, worker, about } = beat
      sessions.set(session, {
        session,
        worker,
        about,
        beat: beat.beat,
        expiresAt: now + beat.ttlMs,
      })
    } else if (known) this.#free(beat.session, now)
    const lostTasks = beat.tasks.filter((id) => tasks.get(id)?.session !== beat.session)
    return { now, alive, lostTasks }
  }

  async load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]> {
    return asks.map((ask) => loadOne(this.#database, ask, this.#clock.now()))
  }

  async list(query: ListQuery): Promise<Listed> {
    return listRuns(this.#database, query, this.#clock.now())
  }

  wake(listener: (hint: Hint) => void): () => void {
    this.#database.listeners.add(listener)
    return () => this.#database.listeners.delete(listener)
  }

  async close(): Promise<void> {}

  #create(run: NewRun): Created {
    const there = this.#database.runs.get(run.runId)
    if (there) return existing(there, run)
    const namesake = this.#namesake(run)
    if (namesake) return namesake
    const now = this.#clock.now()
    const row = newRow(run, now)
    this.#database.runs.set(run.runId, row)
    this.#database.names.set(run.workflowId, run.runId)
    const eager = run.eager && row.at <= now && this.#database.sessions.has(run.eager.session)
    if (!run.eager || !eager) return { outcome: 'created', now }
    grant(row, run.eager.session, run.eager.nonce)
    return { outcome: 'created', now, run: claimedRun(row) }
  }

  #namesake(run: NewRun): Created | undefined {
    const runId = this.#database.names.get(run.workflowId)
    const latest = runId === undefined ? undefined : this.#database.runs.get(runId)
    if (!latest || runId === undefined || run.reuse === 'allow') return undefined
    if (run.reuse === 'returnExisting') {
      return hasEnded(latest) ? undefined : { outcome: 'existing', runId }
    }
    const mayFollow =
      run.reuse === 'allowIfFailed' && hasEnded(latest) && latest.status !== 'completed'
    return mayFollow ? undefined : { outcome: 'refused', runId }
  }

  #post({ runId, message, urgent }: Post): Posted {
    const row = this.#database.runs.get(runId)
    if (!row) return { outcome: 'missing' }
    if (hasEnded(row)) return { outcome: 'closed' }
    if (row.inbox.some((each) => each.id === message.id)) return { outcome: 'duplicate' }
    row.inbox.push(message)
    if (row.session !== 0) this.#hint({ type: 'news', session: row.session })
    else if (!row.paused || urgent) {
      delete row.paused
      // A start that lies ahead holds back only a run that has not begun.
      const earliest = urgent || row.status !== 'pending' ? 0 : row.startAt
      row.at = Math.min(row.at, Math.max(this.#clock.now(), earliest))
      this.#hint({ type: 'ready' })
    }
    return { outcome: 'accepted' }
  }

  #commit(turn: TurnCommit): Committed {
    const row = this.#database.runs.get(turn.runId)
    if (!row) return { outcome: 'fenced' }
    const recorded = row.turns.find((each) => each.turnId === turn.turnId && each.seq === turn.seq)
    if (recorded) return { outcome: 'duplicate' }
    if (!isLeasedBy(row, turn.lease) || row.epoch !== turn.lease.epoch) return { outcome: 'fenced' }
    const now = this.#clock.now()
    // Stamped with a time that has not come: its writer's idea of time is wrong, and so is what it decided by it.
    if (turn.at > now + limits.clockAheadMsMax) return { outcome: 'fenced' }
    const expected = row.turns.reduce((sum, each) => sum + each.count, 0)
    if (turn.seq !== expected) return { outcome: 'fenced' }
    const unread = row.inbox.filter((each) => !turn.consumed.includes(each.id))
    const closes = turn.next.type === 'end' || turn.next.type === 'pause'
    if (closes && unread.length > 0) return { outcome: 'more', messages: unread }
    this.#apply(row, turn, now)
    return { outcome: 'applied' }
  }

  #apply(row: RunRow, turn: TurnCommit, now: Instant): void {
    const { seq, count, turnId, body } = turn
    if (count > 0) row.turns.push({ seq, count, turnId, epoch: turn.lease.epoch, body })
    for (const id of turn.consumed) {
      const index = row.inbox.findIndex((each) => each.id === id)
      if (index >= 0) row.inbox.splice(index, 1)
    }
    for (const task of turn.tasks) this.#database.tasks.set(task.taskId, newTask(task, row, now))
    for (const id of turn.dropped) this.#database.tasks.delete(id)
    row.outbox.push(...turn.outbox)
    row.updatedAt = now
    this.#move(row, turn, now)
    if (turn.tasks.length > 0) this.#hint({ type: 'ready' })
    if (this.#deferred) this.#hint({ type: 'ready' })
    else this.#deliver(row)
  }

  #move(row: RunRow, turn: TurnCommit, now: Instant): void {
    const { next } = turn
    if (next.type === 'hold') return
    release(row)
    row.deliveries = 0
    row.seq = turn.seq + turn.count
    delete row.paused
    if (next.type === 'end') {
      row.status = next.status
      row.endedAt = now
      row.at = Number.POSITIVE_INFINITY
      this.#hint({ type: 'ended', runId: row.head.runId })
    } else if (next.type === 'pause') {
      row.status = 'paused'
      row.at = Number.POSITIVE_INFINITY
      row.paused = { build: next.build, failure: next.failure }
    } else {
      row.status = next.status
      row.at = row.inbox.length > 0 ? now : (next.wakeAt ?? Number.POSITIVE_INFINITY)
      if (row.at <= now) this.#hint({ type: 'ready' })
    }
  }

  #settle({ taskId, lease, result }: TaskOutcome): boolean {
    const task = this.#database.tasks.get(taskId)
    if (!task || !isLeasedBy(task, lease) || task.epoch !== lease.epoch) return false
    if (result.type === 'done') {
      this.#database.tasks.delete(taskId)
      this.#post({ runId: task.runId, message: result.message })
      return true
    }
    release(task)
    if (result.type === 'return') task.deliveries--
    else {
      task.at = this.#clock.now() + result.delayMs
      task.failed = result.failed
      task.failure = result.failure
      task.deliveries = 0
    }
    this.#hint({ type: 'ready' })
    return true
  }

  // A dead session's leases are freed by whoever claims next; its writes are refused from then on.
  #reap(now: Instant): void {
    for (const { session, expiresAt } of this.#database.sessions.values()) {
      if (expiresAt <= now) this.#free(session, now)
    }
  }

  #free(session: number, now: Instant): void {
    this.#database.sessions.delete(session)
    for (const row of [...this.#database.runs.values(), ...this.#database.tasks.values()]) {
      if (row.session !== session) continue
      release(row)
      row.at = Math.min(row.at, now)
    }
    this.#hint({ type: 'ready' })
  }

  #deliverAll(): void {
    for (const row of this.#database.runs.values()) if (row.outbox.length > 0) this.#deliver(row)
  }

  #deliver(row: RunRow): void {
    for (const item of row.outbox) {
      if (item.type === 'post') this.#post(item)
      else {
        const { outcome } = this.#create(item.run)
        if (outcome === 'created') this.#hint({ type: 'ready' })
        if (outcome === 'refused') this.#post({ runId: row.head.runId, message: item.otherwise })
      }
    }
    row.outbox = []
  }

  #hint(hint: Hint): void {
    for (const listener of this.#database.listeners) listener(hint)
  }
}

function existing(row: RunRow, run: NewRun): Created {
  const { runId } = run
  if (row.digest !== run.digest) return { outcome: 'conflict', runId }
  const mine = run.eager && !hasEnded(row) && isLeasedBy(row, run.eager)
  return { outcome: 'existing', runId, ...(mine && { run: claimedRun(row) }) }
}

function newRow(run: NewRun, now: Instant): RunRow {
  const { runId, name, workflowId, queue, priority, input, memo, parent } = run
  const startAt = run.startAt ?? now + (run.delayMs ?? 0)
  return {
    head: {
      runId,
      name,
      workflowId,
      queue,
      priority,
      generation: 1,
      createdAt: now,
      input,
      ...(memo !== undefined && { memo }),
      ...(parent && { parent }),
    },
    digest: run.digest,
    status: 'pending',
    at: startAt,
    startAt,
    updatedAt: now,
    session: 0,
    epoch: 0,
    nonce: 0,
    deliveries: 0,
    seq: 0,
    turns: [],
    inbox: [],
    outbox: [],
  }
}

function newTask(task: TurnCommit['tasks'][number], row: RunRow, now: Instant): TaskRow {
  const { runId } = row.head
  return { ...task, runId, at: now, session: 0, epoch: 0, nonce: 0, deliveries: 0, failed: 0 }
}

function claimedRun(row: RunRow): ClaimedRun {
  const { head, session, epoch, nonce, deliveries, seq, inbox } = row
  return { head, lease: { session, epoch, nonce }, deliveries, seq, messages: [...inbox] }
}

function claimedTask(row: TaskRow): ClaimedTask {
  const { taskId, runId, name, body, session, epoch, nonce, failed, deliveries } = row
  return { taskId, runId, name, body, lease: { session, epoch, nonce }, failed, deliveries }
}
