// Hints that one notification carries. Postgres takes less than 8,000 bytes; what does not fit goes into the next.
import type { Hint } from '../../core/stores/driver.ts'

export interface Bulletin {
  readonly from: number
  readonly ready?: true
  readonly sessions?: readonly number[]
  readonly ended?: readonly string[]
}

/** Bytes for hints: all without the names of the fields and the number of the sender. */
const BYTES_MAX = 7_800

/** Hints that wait to be sent. */
export class News {
  #ready = false
  readonly #sessions = new Set<number>()
  readonly #ended = new Set<string>()

  /** True if there are hints beside ended runs, which only callers that wait for them need. */
  get isUrgent(): boolean {
    return this.#ready || this.#sessions.size > 0
  }

  get isEmpty(): boolean {
    return !this.isUrgent && this.#ended.size === 0
  }

  add(hint: Hint): void {
    if (hint.type === 'ready') this.#ready = true
    else if (hint.type === 'news') this.#sessions.add(hint.session)
    else if (hint.type === 'ended') this.#ended.add(hint.runId)
  }

  /** As many hints as fit into one notification. */
  take(from: number): Bulletin {
    const room = { bytes: BYTES_MAX }
    const sessions = takeFrom(this.#sessions, room)
    const ended = takeFrom(this.#ended, room)
    const ready = this.#ready
    this.#ready = false
    return {
      from,
      ...(ready && { ready }),
      ...(sessions.length > 0 && { sessions }),
      ...(ended.length > 0 && { ended }),
    }
  }
}

function takeFrom<T extends number | string>(all: Set<T>, room: { bytes: number }): T[] {
  const taken: T[] = []
  for (const each of all) {
    // With quotes and a comma.
    const bytes = Buffer.byteLength(String(each)) + 3
    if (bytes > room.bytes) break
    room.bytes -= bytes
    taken.push(each)
  }
  for (const each of taken) all.delete(each)
  return taken
}
