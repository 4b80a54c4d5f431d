// Events of a held run that are decided and not committed yet, and the step bodies that wait until they are.
import { PawlError } from '../base/errors.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { Waker } from './waker.ts'

export class Uncommitted {
  readonly events: HistoryEvent[] = []
  readonly #waiting: PromiseWithResolvers<void>[] = []
  readonly #waker: Waker
  #isClosed = false

  constructor(waker: Waker) {
    this.#waker = waker
  }

  /** Whether a step body waits for the commit. */
  get isAwaited(): boolean {
    return this.#waiting.length > 0
  }

  /** Resolves when everything decided so far is committed. */
  recorded(): Promise<void> {
    if (this.#isClosed) return Promise.reject(notRecorded())
    if (this.events.length === 0) return Promise.resolve()
    const waiting = Promise.withResolvers<void>()
    this.#waiting.push(waiting)
    this.#waker.wake()
    return waiting.promise
  }

  committed(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve()
  }

  /** The run is not held here any more. */
  close(): void {
    this.#isClosed = true
    for (const { reject } of this.#waiting.splice(0)) reject(notRecorded())
  }
}

function notRecorded(): PawlError {
  return new PawlError('WORKER_STOPPED', 'the run was released before the step was recorded')
}
