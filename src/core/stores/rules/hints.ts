// What other sessions and processes should hear of a change, so that none has to wait for its next look.
import type { Instant } from '../../base/time.ts'
import type { Hint } from '../store.ts'
import type { LeaseState } from './row.ts'

export class Hints {
  #sessions: Set<number> | undefined
  #ended: string[] | undefined
  #isReady = false

  /** A run or a task is new, or was changed. */
  changed(row: LeaseState & { readonly at: Instant }, now: Instant): void {
    if (row.session === 0 && row.at <= now) this.#isReady = true
  }

  posted({ session }: LeaseState): void {
    if (session === 0) return
    this.#sessions ??= new Set()
    this.#sessions.add(session)
  }

  ended(runId: string): void {
    this.#ended ??= []
    this.#ended.push(runId)
  }

  /** There may be work: also what becomes due later than anything a sleeper waits for. */
  ready(): void {
    this.#isReady = true
  }

  all(): Hint[] {
    const hints: Hint[] = []
    for (const session of this.#sessions ?? []) hints.push({ type: 'news', session })
    for (const runId of this.#ended ?? []) hints.push({ type: 'ended', runId })
    if (this.#isReady) hints.push({ type: 'ready' })
    return hints
  }
}
