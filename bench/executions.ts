// Counts how often each step body ran. A rate is worth nothing from an engine that skips work or does
// it twice, so every measurement is checked against this.

export interface ExecutionTally {
  /** Bodies that did not run although their run is complete. */
  missing: number
  /** Bodies that ran more than once. */
  repeated: number
  /** Calls with a run or body that nobody asked for. */
  unknown: number
}

export class Executions {
  readonly #bodies: number
  readonly #counts: Uint8Array
  #distinct = 0
  #unknown = 0

  constructor(runs: number, bodies: number) {
    this.#bodies = bodies
    this.#counts = new Uint8Array(runs * bodies)
  }

  /** True exactly once: when the last body that had not run yet has run. */
  add(run: number, body: number): boolean {
    const index = run * this.#bodies + body
    const before = this.#counts[index]
    if (before === undefined || body >= this.#bodies) {
      this.#unknown++
      return false
    }
    this.#counts[index] = Math.min(before + 1, 255)
    if (before > 0) return false
    this.#distinct++
    return this.#distinct === this.#counts.length
  }

  /** `runs` is how many are complete, when a time cap cut the measurement short. */
  tally(runs: number): ExecutionTally {
    const repeated = this.#counts.filter((count) => count > 1).length
    const missing = Math.max(0, runs * this.#bodies - this.#distinct)
    return { missing, repeated, unknown: this.#unknown }
  }
}

/** Thrown, not returned, so that no second attempt at a measurement can cover it up. */
export class Disqualification extends Error {
  override readonly name = 'Disqualification'
}

export function requireExactlyOnce(tally: ExecutionTally): void {
  const faults: string[] = []
  if (tally.missing > 0) faults.push(`${tally.missing} bodies did not run`)
  if (tally.repeated > 0) faults.push(`${tally.repeated} bodies ran twice or more`)
  if (tally.unknown > 0) faults.push(`${tally.unknown} bodies ran for unknown runs`)
  if (faults.length > 0) throw new Disqualification(faults.join(', '))
}
