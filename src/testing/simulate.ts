// Runs a program with many seeds: each has its own order of events, lost calls and crashes.
import { checkOptions, type Described, flag, whole } from '../core/base/described.ts'
import { type TestEngine, type TestOptions, testEngine, testOptions } from './test-engine.ts'

const SEEDS_MAX = 1_000_000

export const simulateOptions = {
  /** The number of seeds, beginning with `seed`. 100 */
  seeds: whole('The number of seeds, beginning with `seed`.', [1, SEEDS_MAX], { otherwise: '100' }),
  /** The number of workers. 2 */
  workers: whole('The number of workers.', [1, 16], { otherwise: '2' }),
  /** Store calls, or their answers, get lost. true */
  faults: flag('Store calls, or their answers, get lost.', { otherwise: 'true' }),
  /** Workers die while they write. true */
  crashes: flag('Workers die while they write.', { otherwise: 'true' }),
} as const
export interface SimulateOptions extends Omit<TestOptions, 'store'>, Described<typeof simulateOptions> {}

const { store: _, ...testing } = testOptions
/** The options of `simulate`. There is no `store`, because every seed has its own store in memory. */
export const allSimulateOptions = { ...testing, ...simulateOptions } as const

/** The program failed with this seed. It fails the same way each time. */
export class SeedFailed extends Error {
  override readonly name: string = 'SeedFailed'
  readonly seed: number

  constructor(seed: number, cause: unknown) {
    const what = cause instanceof Error ? cause.message : String(cause)
    super(`seed ${seed} failed: ${what}\nReplay it alone: simulate({ …, seed: ${seed}, seeds: 1 }, program)`, { cause })
    this.seed = seed
  }
}

/**
 * Runs the program with a new engine for each seed. The program asserts what must always hold; if it throws, `simulate`
 * throws `SeedFailed` with the seed.
 */
export async function simulate(
  options: SimulateOptions,
  program: (engine: TestEngine) => Promise<void>,
): Promise<{ readonly seeds: number }> {
  checkOptions(allSimulateOptions, options, { of: 'simulate' })
  const { seeds = 100, workers = 2, faults = true, crashes = true, seed: first = 1, ...rest } = options
  for (let seed = first; seed < first + seeds; seed++) {
    const engine = await testEngine({ ...rest, seed })
    for (let other = 1; other < workers; other++) engine.work()
    engine.disturb({ faults, ...(!crashes && { crashes: 0 }) })
    try {
      await program(engine)
    } catch (error) {
      throw new SeedFailed(seed, error)
    } finally {
      await engine.close()
    }
  }
  return { seeds }
}
