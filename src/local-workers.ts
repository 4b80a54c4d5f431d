// The workers of one engine, as its client uses them.
import type { Worker, WorkerLoad } from './core/index.ts'
import type { ClaimedRun, NewRun } from './core/stores/driver.ts'

export class LocalWorkers {
  readonly #workers = new Map<Worker, () => void>()

  /**
   * `forget` is called when the worker is no longer needed. Those that have stopped are forgotten, so that a process can
   * start workers again and again.
   */
  add(worker: Worker, forget: () => void): void {
    for (const [each, forgetIt] of this.#workers) {
      if (!each.isOver) continue
      forgetIt()
      this.#workers.delete(each)
    }
    this.#workers.set(worker, forget)
  }

  /** A lease to create a new run with, of the first worker that would take the run at once. */
  offer(run: NewRun): NewRun['eager'] {
    for (const worker of this.#workers.keys()) {
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
    for (const worker of this.#workers.keys()) worker.accept(run, wasGranted)
  }

  /** Looks for new definitions. */
  async look(): Promise<void> {
    await Promise.all(Array.from(this.#workers.keys(), (worker) => worker.look()))
  }

  async drain(): Promise<void> {
    await Promise.all(Array.from(this.#workers.keys(), (worker) => worker.drain()))
    for (const forget of this.#workers.values()) forget()
  }

  get loads(): readonly WorkerLoad[] {
    return Array.from(this.#workers.keys(), (worker) => worker.load)
  }

  get stepsRunning(): number {
    let sum = 0
    for (const worker of this.#workers.keys()) sum += worker.stepsRunning
    return sum
  }
}
