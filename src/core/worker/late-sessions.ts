// Which sessions of other workers are late, and since when by a clock that never jumps. A session that stays late at
// the same beat for so long that its worker must have stopped itself is silent, whatever any clock says.
import { limits } from '../base/limits.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ClaimRequest, LateSession } from '../stores/store.ts'

interface Seen extends LateSession {
  readonly since: number
}

export class LateSessions {
  readonly #clock: Clock
  #seen: ReadonlyMap<number, Seen> = new Map()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Learns from the answer to a claim. A session that is not late any more, or has another beat, was renewed. */
  learn(late: readonly LateSession[] = []): void {
    const now = this.#clock.monotonic()
    this.#seen = new Map(
      late.map((each) => {
        const before = this.#seen.get(each.session)
        const since = before?.beat === each.beat ? before.since : now
        return [each.session, { ...each, since }]
      }),
    )
  }

  get silent(): ClaimRequest['silent'] {
    const now = this.#clock.monotonic()
    return [...this.#seen.values()]
      .filter((each) => silentAt(each) <= now)
      .map(({ session, beat }) => ({ session, beat }))
  }

  /** How long until the next session is silent. */
  get dueInMs(): number {
    const now = this.#clock.monotonic()
    const times = [...this.#seen.values()].map((each) => Math.max(1, silentAt(each) - now))
    return Math.min(Number.POSITIVE_INFINITY, ...times)
  }
}

function silentAt({ since, ttlMs }: Seen): number {
  return since + ttlMs * limits.leaseSelfStopShare
}
