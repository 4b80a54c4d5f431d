// Writes projections of the runs this process has moved, while that costs little. What a busy process leaves out is written
// when it has time, the newest at the latest when it closes; `pawl doctor --rebuild` makes up for the rest.
import { limits } from '../../kernel/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Bucket } from './bucket.ts'
import type { LogEntry } from './format.ts'
import { projectionOf } from './projection.ts'
import type { Replica } from './replica.ts'

export class Projector {
  readonly #replica: Replica
  readonly #bucket: Bucket
  readonly #clock: Clock
  readonly #waiting = new Set<string>()
  /** Runs whose projections would have cost too much when they came to rest, the newest last. */
  readonly #late = new Set<string>()
  /** Events of a run that were projected. */
  readonly #projected = new Map<string, number>()
  #allowance: number = limits.projectionsAtOnce
  #allowedAt: number
  #busy: Promise<void> | undefined
  #closed = false

  constructor(replica: Replica, bucket: Bucket, clock: Clock) {
    this.#replica = replica
    this.#bucket = bucket
    this.#clock = clock
    this.#allowedAt = clock.monotonic()
  }

  /** Hears of every log object that was added here or read. */
  advanced({ changes }: LogEntry, own: boolean): void {
    if (!own || this.#closed) return
    for (const { runId, set } of changes.runs) {
      const rests = set?.endedAt || set?.status === 'waiting' || set?.status === 'paused'
      if (!rests) continue
      this.#late.delete(runId)
      if (this.#waiting.has(runId) || this.#isAllowed()) this.#waiting.add(runId)
      else this.#postpone(runId)
    }
    for (const runId of this.#late) {
      if (!this.#isAllowed()) break
      this.#late.delete(runId)
      this.#waiting.add(runId)
    }
    if (this.#waiting.size > 0) this.#busy ??= this.#write()
  }

  /** A program that was closed in good order leaves no projection behind that says what is not true any more. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#busy
    try {
      for (const runId of this.#late) await this.#project(runId)
    } catch {
      // Storage that fails now would hold up the end once for each run.
    }
  }

  #postpone(runId: string): void {
    this.#late.add(runId)
    const [oldest] = this.#late
    if (this.#late.size > limits.projectionsAtClose && oldest !== undefined)
      this.#late.delete(oldest)
  }

  #isAllowed(): boolean {
    const now = this.#clock.monotonic()
    const earned = ((now - this.#allowedAt) / 1_000) * limits.projectionsPerSecond
    this.#allowance = Math.min(limits.projectionsAtOnce, this.#allowance + earned)
    this.#allowedAt = now
    if (this.#allowance < 1) return false
    this.#allowance--
    return true
  }

  async #write(): Promise<void> {
    // Behind whatever made the run move, so that nobody waits for this.
    await this.#clock.breathe()
    for (const runId of this.#waiting) {
      this.#waiting.delete(runId)
      // What cannot be written now will be by the next change, or by the doctor.
      await this.#project(runId).catch(() => {})
    }
    this.#busy = undefined
  }

  async #project(runId: string): Promise<void> {
    const row = this.#replica.tables.run(runId)
    if (!row) return
    const turns = this.#replica.tables.turns.get(runId) ?? []
    const since = this.#projected.get(runId) ?? 0
    const newest = this.#replica.tables.isNewest(row)
    const objects = projectionOf(row, turns, { since, newest })
    // A run of very many steps is left to the doctor: it would hold up everybody else's requests.
    if (objects.length > limits.projectionObjectsMax) return
    await Promise.all(objects.map(({ key, body }) => this.#bucket.put(key, body)))
    this.#remember(runId, row.endedAt === undefined ? row.reached : undefined)
  }

  #remember(runId: string, reached: number | undefined): void {
    this.#projected.delete(runId)
    if (reached === undefined) return
    this.#projected.set(runId, reached)
    const [oldest] = this.#projected.keys()
    if (this.#projected.size > limits.projectionsKnown && oldest !== undefined)
      this.#projected.delete(oldest)
  }
}
