// Writes projections of the runs this process has changed, behind everything else and at a pace that costs little: a few
// at once, then one a second, those that rest first. What is left is written when the store is closed. What a crash left
// behind is found by the next worker, and by the one that frees the session of a worker that died.
import { limits } from '../../../core/base/limits.ts'
import { type Clock, sleep } from '../../../core/runtime/clock.ts'
import type { RowTurn, RunChange, RunRow } from '../../../core/stores/driver.ts'
import type { Bucket } from '../bucket.ts'
import { forEach } from '../for-each.ts'
import type { LogEntry } from '../format.ts'
import { runKey } from '../layout.ts'
import type { Replica } from '../replica.ts'
import { type Projected, projectionOf, updatedAtIn } from './projection.ts'

/** What this process has shown of a run: how many events, and until when, by the storage's clock, it was writing. */
interface Shown {
  readonly reached: number
  readonly at: number
}

export class Projector {
  readonly #replica: Replica
  readonly #bucket: Bucket
  readonly #clock: Clock
  /** Runs whose projections are old: those that rest, which are written first, and those that move. */
  readonly #resting = new Set<string>()
  readonly #moving = new Set<string>()
  readonly #shown = new Map<string, Shown>()
  #allowance: number = limits.projectionsAtOnce
  #allowedAt: number
  #failures = 0
  /** Whether projections that others should have written are to be looked at; undefined before there is a worker. */
  #looks: boolean | undefined
  #cancel: (() => void) | undefined
  #busy: Promise<void> | undefined
  #closed = false

  constructor(replica: Replica, bucket: Bucket, clock: Clock) {
    this.#replica = replica
    this.#bucket = bucket
    this.#clock = clock
    this.#allowedAt = clock.monotonic()
  }

  /** Hears of every log object that was added here or read. */
  advanced({ changes, at }: LogEntry, own: boolean): void {
    for (const change of changes.runs) {
      if (!isShown(change)) continue
      if (own) this.#touch(change.runId, doesRest(change))
      else this.#leave(change.runId, at)
    }
    if (!own) return
    const isFirst = this.#looks === undefined && changes.sessions.length > 0
    if (isFirst || changes.sessionsGone.length > 0) this.#looks = true
    this.#go()
  }

  /** Writes what is left, for as long as that takes a few seconds at most. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancel?.()
    await this.#busy
    const over = new AbortController()
    const late = sleep(this.#clock, limits.projectionsCloseMs, over.signal).then(() => over.abort())
    await Promise.race([this.#writeLeft(over.signal).catch(() => {}), late])
    over.abort()
  }

  async #writeLeft(over: AbortSignal): Promise<void> {
    while (this.#resting.size + this.#moving.size > 0 && !over.aborted) {
      // Those that others have changed meanwhile are theirs.
      await this.#replica.catchUp()
      const left = [...this.#resting, ...this.#moving]
      this.#resting.clear()
      this.#moving.clear()
      await forEach(left, limits.projectionLanes, async (runId) => {
        if (!over.aborted) await this.#project(runId).catch(() => {})
      })
      // And those that were changed while they were written may have been overwritten with what was.
      if (left.length > 0) await this.#replica.catchUp()
    }
  }

  #touch(runId: string, rests: boolean): void {
    this.#moving.delete(runId)
    this.#resting.delete(runId)
    const among = rests ? this.#resting : this.#moving
    among.add(runId)
    const [oldest] = among
    if (among.size > limits.projectionsKnown && oldest !== undefined) among.delete(oldest)
  }

  // Whoever has changed a run shows it. But what this process wrote later than that may have been the older state.
  #leave(runId: string, at: number): void {
    this.#moving.delete(runId)
    this.#resting.delete(runId)
    const shown = this.#shown.get(runId)
    if (shown && at <= shown.at + limits.projectionOverlapMs) this.#touch(runId, true)
    else this.#shown.delete(runId)
  }

  #go(): void {
    if (this.#closed || this.#busy) return
    const isReady = this.#resting.size > 0 && this.#failures === 0 && this.#isAllowed()
    if (isReady) this.#busy = this.#write(false)
    else if (this.#resting.size + this.#moving.size > 0 || this.#looks === true) this.#wait()
  }

  #wait(): void {
    const ms = (1_000 / limits.projectionsPerSecond) * 2 ** Math.min(this.#failures, 6)
    this.#cancel ??= this.#clock.after(ms, () => {
      this.#cancel = undefined
      if (!this.#closed && !this.#busy && this.#isAllowed()) this.#busy = this.#write(true)
    })
  }

  #isAllowed(): boolean {
    const now = this.#clock.monotonic()
    const earned = ((now - this.#allowedAt) / 1_000) * limits.projectionsPerSecond
    this.#allowance = Math.min(limits.projectionsAtOnce, this.#allowance + earned)
    this.#allowedAt = now
    return this.#allowance >= 1
  }

  /** `any`: also a run that moves, if none rests. */
  async #write(any: boolean): Promise<void> {
    // Behind whatever made the run move, so that nobody waits for this.
    await this.#clock.breathe()
    if (any && this.#looks) await this.#look().catch(() => this.#failures++)
    for (let next = this.#next(any); next !== undefined; next = this.#next(false)) {
      this.#allowance--
      await this.#project(next).then(
        () => (this.#failures = 0),
        () => this.#failed(next),
      )
    }
    this.#busy = undefined
    this.#go()
  }

  #next(any: boolean): string | undefined {
    // After a failure one at a time is tried.
    if (this.#closed || !this.#isAllowed() || (this.#failures > 0 && !any)) return undefined
    const among = this.#resting.size > 0 || !any ? this.#resting : this.#moving
    const [next] = among
    if (next !== undefined) among.delete(next)
    return next
  }

  #failed(runId: string): void {
    this.#failures++
    if (!this.#moving.has(runId)) this.#resting.add(runId)
  }

  /** Finds runs whose projections are missing or old, the newest first. */
  async #look(): Promise<void> {
    this.#looks = false
    const { live, ended } = this.#replica.tables
    const rows = [...live.values(), ...ended.values()]
    const newest = rows
      .sort((a, b) => b.updatedAt - a.updatedAt)
      .slice(0, limits.projectionsLookedAt)
    await forEach(newest, limits.projectionsAtOnce, async ({ head: { runId }, updatedAt }) => {
      if (this.#closed) return
      const body = await this.#bucket.get(runKey(runId, 'state.json'))
      const row = this.#replica.tables.run(runId)
      // One that was changed while it was looked at has been seen to.
      if (row?.updatedAt !== updatedAt) return
      if (body === undefined || !(updatedAtIn(body) >= updatedAt))
        this.#touch(runId, row.endedAt !== undefined || row.status !== 'running')
    })
  }

  async #project(runId: string): Promise<void> {
    const since = this.#shown.get(runId)?.reached ?? 0
    // What others do to it from here on may be overwritten with what was.
    this.#remember(runId, { reached: since, at: Number.POSITIVE_INFINITY })
    const reached = await this.#put(runId, since).catch((error: unknown) => {
      this.#shown.delete(runId)
      throw error
    })
    this.#remember(runId, { reached, at: this.#bucket.now() })
  }

  /** Answers with how many of its events are shown now. */
  async #put(runId: string, since: number): Promise<number> {
    const found = await this.#find(runId)
    if (!found) return since
    const { row, turns, newest } = found
    const [state, second, ...others] = readable(() => projectionOf(row, turns, { since, newest }))
    // Of a run of very many steps the rest is left to the doctor: it would hold up everybody else's requests.
    const steps = others.slice(-limits.projectionObjectsMax)
    await forEach(second ? [second, ...steps] : [], limits.projectionLanes, ({ key, body }) =>
      this.#bucket.put(key, body),
    )
    if (state) await this.#bucket.put(state.key, state.body)
    return row.reached
  }

  async #find(
    runId: string,
  ): Promise<{ row: RunRow; turns: readonly RowTurn[]; readonly newest: boolean } | undefined> {
    const { tables, archive } = this.#replica
    const row = tables.run(runId)
    if (row) return { row, turns: tables.turns.get(runId) ?? [], newest: tables.isNewest(row) }
    const ended = await archive.find(runId)
    if (!ended) return undefined
    const { workflowId } = ended.row.head
    const named = tables.names.get(workflowId) ?? (await archive.newestOf(workflowId))
    return { row: ended.row, turns: ended.turns, newest: named === runId }
  }

  #remember(runId: string, shown: Shown): void {
    this.#shown.delete(runId)
    this.#shown.set(runId, shown)
    const [oldest] = this.#shown.keys()
    if (this.#shown.size > limits.projectionsKnown && oldest !== undefined)
      this.#shown.delete(oldest)
  }
}

/** Nothing, of a run whose turns this process cannot read: to try again would not help. */
function readable(project: () => readonly Projected[]): readonly Projected[] {
  try {
    return project()
  } catch {
    return []
  }
}

/** Whether there is something to see of it. */
function isShown({ born, set, turns }: RunChange): boolean {
  return born !== undefined || turns !== undefined || set?.updatedAt !== undefined
}

function doesRest({ set }: RunChange): boolean {
  return Boolean(set?.endedAt) || set?.status === 'waiting' || set?.status === 'paused'
}
