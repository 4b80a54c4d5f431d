// The workers of one engine, as its client uses them.
import type { ClaimedRun, NewRun } from '../stores/store.ts'
import type { Worker } from './worker.ts'

export class LocalWorkers {
  readonly #workers: Worker[] = []

  add(worker: Worker): void {
    this.#workers.push(worker)
  }

  /** A lease to create a new run with, of the first worker that would take the run at once. */
  offer(run: NewRun): NewRun['eager'] {
    for (const worker of this.#workers) {
      const offer = worker.offer(run)
      if (offer) return offer
    }
    return undefined
  }

  /**
   * Gives a run that was created with an offered lease to the worker that offered it. `wasGranted` says that an earlier
   * try had created the run, so that the lease may have been used since.
   */
  accept(run: ClaimedRun, wasGranted: boolean): void {
    for (const worker of this.#workers) worker.accept(run, wasGranted)
  }

  /** Looks for new definitions. */
  async look(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.look()))
  }

  async drain(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.drain()))
  }

  get stepsRunning(): number {
    return this.#workers.reduce((sum, worker) => sum + worker.stepsRunning, 0)
  }
}
