// The same program in many futures: each seed has its own order of events, its own lost calls and its own crashes.
import { checkOptions, type Described, flag, whole } from '../core/base/described.ts'
import { type TestEngine, type TestOptions, testEngine, testOptions } from './test-engine.ts'

const SEEDS_MAX = 1_000_000

export const simulateOptions = {
  /** How many seeds, beginning with `seed`. 100 */
  seeds: whole('How many seeds, beginning with `seed`.', [1, SEEDS_MAX], { otherwise: '100' }),
  /** Workers at once. 2 */
  workers: whole('Workers at once.', [1, 16], { otherwise: '2' }),
  /** Calls to the store get lost, or their answers. true */
  faults: flag('Calls to the store get lost, or their answers.', { otherwise: 'true' }),
  /** Workers die. true */
  crashes: flag('Workers die.', { otherwise: 'true' }),
} as const
export interface SimulateOptions
  extends Omit<TestOptions, 'store'>,
    Described<typeof simulateOptions> {}

const { store: _, ...testing } = testOptions
/** All that `simulate` takes: every seed has a store in memory of its own. */
export const allSimulateOptions = { ...testing, ...simulateOptions } as const

/** A seed whose program failed. The same seed fails the same way. */
export class SeedFailed extends Error {
  override readonly name: string = 'SeedFailed'
  readonly seed: number

  constructor(seed: number, cause: unknown) {
    const what = cause instanceof Error ? cause.message : String(cause)
    super(
      `seed ${seed} failed: ${what}\nReplay it alone: simulate({ …, seed: ${seed}, seeds: 1 }, program)`,
      { cause },
    )
    this.seed = seed
  }
}

/**
 * Runs the program with a new engine for each seed. It asserts what must hold whatever happens; what it throws is thrown,
 * with the seed.
 */
export async function simulate(
  options: SimulateOptions,
  program: (engine: TestEngine) => Promise<void>,
): Promise<{ readonly seeds: number }> {
  checkOptions(allSimulateOptions, options, { of: 'simulate' })
  const {
    seeds = 100,
    workers = 2,
    faults = true,
    crashes = true,
    seed: first = 1,
    ...rest
  } = options
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
