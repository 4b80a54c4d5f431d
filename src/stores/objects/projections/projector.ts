// Writes the projections of the runs that this process has changed, in the background and at low cost: a few at once,
// then one a second, runs that wait, are paused or have ended first. The rest is written when the store is closed.
// After a crash, the next worker that starts, or the one that frees the dead worker's session, writes what is missing.
import { limits } from '../../../core/base/limits.ts'
import { type Clock, sleep } from '../../../core/runtime/clock.ts'
import type { RowTurn, RunChange, RunRow } from '../../../core/stores/driver.ts'
import type { Bucket } from '../bucket.ts'
import { forEach } from '../bucket.ts'
import type { LogEntry } from '../format.ts'
import { runKey } from '../layout.ts'
import type { Replica } from '../replica.ts'
import { type Projected, projectionOf, updatedAtIn } from './projection.ts'

/** What this process has written of a run: how many of its events, and when that write ended by the storage's clock. */
interface Written {
  readonly reached: number
  readonly at: number
}

export class Projector {
  readonly #replica: Replica
  readonly #bucket: Bucket
  readonly #clock: Clock
  /** Runs with outdated projections: idle ones, which are written first, and running ones. */
  readonly #idle = new Set<string>()
  readonly #running = new Set<string>()
  readonly #written = new Map<string, Written>()
  #allowance: number = limits.projectionsAtOnce
  #allowedAt: number
  #failures = 0
  /**
   * Whether to check projections that other processes should have written; undefined before this process has a worker.
   */
  #mustCheck: boolean | undefined
  #cancel: (() => void) | undefined
  #busy: Promise<void> | undefined
  #closed = false

  constructor(replica: Replica, bucket: Bucket, clock: Clock) {
    this.#replica = replica
    this.#bucket = bucket
    this.#clock = clock
    this.#allowedAt = clock.monotonic()
  }

  /** Called after each log object that this process added or read. */
  advanced({ changes, at }: LogEntry, own: boolean): void {
    for (const change of changes.runs) {
      if (!isVisible(change)) continue
      if (own) this.#markOutdated(change.runId, becomesIdle(change))
      else this.#changedElsewhere(change.runId, at)
    }
    if (!own) return
    const isFirst = this.#mustCheck === undefined && changes.sessions.length > 0
    if (isFirst || changes.sessionsGone.length > 0) this.#mustCheck = true
    this.#schedule()
  }

  /** Writes what is left, for at most a few seconds. */
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
    while (this.#idle.size + this.#running.size > 0 && !over.aborted) {
      // A run that another process has changed meanwhile is left to that process.
      await this.#replica.catchUp()
      const left = [...this.#idle, ...this.#running]
      this.#idle.clear()
      this.#running.clear()
      await forEach(left, limits.projectionLanes, async (runId) => {
        if (!over.aborted) await this.#project(runId).catch(() => {})
      })
      // A run that changed during its write may now have an older projection; following the log marks it again.
      if (left.length > 0) await this.#replica.catchUp()
    }
  }

  #markOutdated(runId: string, isIdle: boolean): void {
    this.#running.delete(runId)
    this.#idle.delete(runId)
    const among = isIdle ? this.#idle : this.#running
    among.add(runId)
    const [oldest] = among
    if (among.size > limits.projectionsKnown && oldest !== undefined) among.delete(oldest)
  }

  // The process that changed a run writes its projection. If this process was writing it at about the same time, it may
  // have replaced the newer projection with an older one, so it writes the run once more.
  #changedElsewhere(runId: string, at: number): void {
    this.#running.delete(runId)
    this.#idle.delete(runId)
    const written = this.#written.get(runId)
    if (written && at <= written.at + limits.projectionOverlapMs) this.#markOutdated(runId, true)
    else this.#written.delete(runId)
  }

  #schedule(): void {
    if (this.#closed || this.#busy) return
    const isReady = this.#idle.size > 0 && this.#failures === 0 && this.#isAllowed()
    if (isReady) this.#busy = this.#write(false)
    else if (this.#idle.size + this.#running.size > 0 || this.#mustCheck === true) this.#wait()
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

  /** With `any`, also writes a running run if no idle one is left. */
  async #write(any: boolean): Promise<void> {
    // Lets the work that changed the run go first.
    await this.#clock.breathe()
    if (any && this.#mustCheck) await this.#checkOthers().catch(() => this.#failures++)
    for (let next = this.#next(any); next !== undefined; next = this.#next(false)) {
      this.#allowance--
      await this.#project(next).then(
        () => (this.#failures = 0),
        () => this.#failed(next),
      )
    }
    this.#busy = undefined
    this.#schedule()
  }

  #next(any: boolean): string | undefined {
    // After a failure, each attempt waits for the timer.
    if (this.#closed || !this.#isAllowed() || (this.#failures > 0 && !any)) return undefined
    const among = this.#idle.size > 0 || !any ? this.#idle : this.#running
    const [next] = among
    if (next !== undefined) among.delete(next)
    return next
  }

  #failed(runId: string): void {
    this.#failures++
    if (!this.#running.has(runId)) this.#idle.add(runId)
  }

  /** Finds runs whose projections are missing or outdated, the newest first. */
  async #checkOthers(): Promise<void> {
    this.#mustCheck = false
    const { live, ended } = this.#replica.tables
    const rows = [...live.values(), ...ended.values()]
    const newest = rows.sort((a, b) => b.updatedAt - a.updatedAt).slice(0, limits.projectionsLookedAt)
    await forEach(newest, limits.projectionsAtOnce, async ({ head: { runId }, updatedAt }) => {
      if (this.#closed) return
      const body = await this.#bucket.get(runKey(runId, 'state.json'))
      const row = this.#replica.tables.run(runId)
      // A run that changed during the check is already marked.
      if (row?.updatedAt !== updatedAt) return
      if (body === undefined || !(updatedAtIn(body) >= updatedAt))
        this.#markOutdated(runId, row.endedAt !== undefined || row.status !== 'running')
    })
  }

  async #project(runId: string): Promise<void> {
    const since = this.#written.get(runId)?.reached ?? 0
    // Until this write ends, it may replace the projection of any change that another process makes.
    this.#remember(runId, { reached: since, at: Number.POSITIVE_INFINITY })
    const reached = await this.#put(runId, since).catch((error: unknown) => {
      this.#written.delete(runId)
      throw error
    })
    this.#remember(runId, { reached, at: this.#bucket.now() })
  }

  /** Writes the objects of a run, and returns how many of its events they cover. */
  async #put(runId: string, since: number): Promise<number> {
    const found = await this.#find(runId)
    if (!found) return since
    const { row, turns, newest } = found
    const [state, second, ...others] = readable(() => projectionOf(row, turns, { since, newest }))
    // A run with very many steps would delay other requests, so its older steps are left to `pawl doctor --rebuild`.
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

  #remember(runId: string, written: Written): void {
    this.#written.delete(runId)
    this.#written.set(runId, written)
    const [oldest] = this.#written.keys()
    if (this.#written.size > limits.projectionsKnown && oldest !== undefined) this.#written.delete(oldest)
  }
}

/** Returns no objects for a run whose turns this process cannot read, because trying again would not help. */
function readable(project: () => readonly Projected[]): readonly Projected[] {
  try {
    return project()
  } catch {
    return []
  }
}

/** True if the change is visible in a projection. */
function isVisible({ born, set, turns }: RunChange): boolean {
  return born !== undefined || turns !== undefined || set?.updatedAt !== undefined
}

function becomesIdle({ set }: RunChange): boolean {
  return Boolean(set?.endedAt) || (set?.status !== undefined && set.status !== 'running' && set.status !== 'pending')
}
