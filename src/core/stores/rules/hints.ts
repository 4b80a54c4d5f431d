// What other sessions and processes should hear of a change, so that none has to wait for its next look.
import type { Instant } from '../../base/instant.ts'
import type { Hint } from '../store.ts'
import type { LeaseState } from './row.ts'

export class Hints {
  readonly #sessions = new Set<number>()
  readonly #ended: string[] = []
  #isReady = false

  /** A run or a task is new, or was changed. */
  changed(row: LeaseState & { readonly at: Instant }, now: Instant): void {
    if (row.session === 0 && row.at <= now) this.#isReady = true
  }

  posted({ session }: LeaseState): void {
    if (session !== 0) this.#sessions.add(session)
  }

  ended(runId: string): void {
    this.#ended.push(runId)
  }

  /** There may be work: also what becomes due later than anything a sleeper waits for. */
  ready(): void {
    this.#isReady = true
  }

  all(): Hint[] {
    return [
      ...[...this.#sessions].map((session) => ({ type: 'news' as const, session })),
      ...this.#ended.map((runId) => ({ type: 'ended' as const, runId })),
      ...(this.#isReady ? [{ type: 'ready' as const }] : []),
    ]
  }
}
