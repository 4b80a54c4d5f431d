// Suspended executions kept in memory, so that a run that comes back to the same worker is not replayed. Bounded by
// number and by the size of their histories; the execution that was released first is dropped first.

import { limits } from '../base/limits.ts'
import type { Execution } from '../kernel/decider.ts'
import type { Head, RunState } from '../kernel/run.ts'
import type { ClaimedRun } from '../stores/store.ts'

export interface WarmRun {
  readonly execution: Execution
  readonly state: RunState
  /** The head of its generation. */
  readonly head: Head
  /** Its last committed turn. Turn ids are random: no other history has this one, even if the store lost writes. */
  readonly turnId: number
  readonly bytes: number
}

export class WarmRuns {
  readonly #runs = new Map<string, WarmRun>()
  readonly #countMax: number
  #bytes = 0

  constructor(countMax: number) {
    this.#countMax = countMax
  }

  get size(): number {
    return this.#runs.size
  }

  put(runId: string, run: WarmRun): void {
    this.drop(runId)
    this.#runs.set(runId, run)
    this.#bytes += run.bytes
    for (const [oldest] of this.#runs) {
      if (this.#runs.size <= this.#countMax && this.#bytes <= limits.warmHistoryBytes) return
      this.drop(oldest)
    }
  }

  /** The execution of exactly the claimed history, if it is here. Any other is stale and is dropped. */
  take({ head, turnId, seq, deliveries }: ClaimedRun): WarmRun | undefined {
    const { runId, generation } = head
    const run = this.#runs.get(runId)
    if (!run) return undefined
    // After more than one delivery a holder has died, which may have written turns since the last release.
    const isLast = run.turnId === turnId && run.state.seq === seq
    const fits = isLast && deliveries === 1 && run.head.generation === generation
    if (!fits) {
      this.drop(runId)
      return undefined
    }
    this.#runs.delete(runId)
    this.#bytes -= run.bytes
    return run
  }

  drop(runId: string): void {
    const run = this.#runs.get(runId)
    if (!run) return
    this.#runs.delete(runId)
    this.#bytes -= run.bytes
    run.execution.dispose()
  }

  clear(): void {
    for (const runId of [...this.#runs.keys()]) this.drop(runId)
  }
}
