// One seed of the simulation, with every checker: what the tests, the planted bugs and the command line share.
import { checkAll, checkReplay } from '../../src/testing/checkers.ts'
import { badNetwork, noFaults } from '../../src/testing/faulty-store.ts'
import { incidentRatesOf, noIncidents } from '../../src/testing/incidents.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { type SharedWorld, sharedMemory, sharedObjects } from '../../src/testing/shared-store.ts'
import { Simulation, type SimulationEnd, worldOfReplays } from '../../src/testing/simulator.ts'
import { definitions, program, promised } from './program.ts'

export interface SeedResult {
  readonly seed: number
  readonly violations: readonly string[]
  readonly end: SimulationEnd
}

export type StoreKind = 'memory' | 'objects'

export interface SeedOptions {
  readonly store?: StoreKind
  readonly alwaysReplay?: boolean
  /** No faults and no crashes: nothing but the program itself. */
  readonly calm?: boolean
}

export async function simulateSeed(seed: number, options: SeedOptions = {}): Promise<SeedResult> {
  const { calm = false } = options
  const plan = new SeededRandom(seed).fork('plan')
  const kept = promised()
  const simulation = new Simulation({
    seed,
    workers: 1 + plan.below(4),
    faults: calm || plan.chance(0.1) ? noFaults : badNetwork,
    crashesPerSecond: calm ? 0 : plan.pick([0, 0.5, 2]),
    freezesPerSecond: calm ? 0 : plan.pick([0, 0.5, 2]),
    incidents: calm ? noIncidents : incidentRatesOf(plan.fork('incidents')),
    store: storeOf(options.store ?? 'memory', plan.pick(['atomic', 'deferred'] as const)),
    alwaysReplay: options.alwaysReplay ?? plan.chance(0.3),
    leaseMs: plan.pick([600, 3_000]),
    queues: ['default', 'other'],
    definitions,
    program: program(kept, 3 + plan.below(8)),
  })
  const end = await simulation.run()
  const violations = checkAll(end.tables, end.ledger, kept)
  if (!end.settled) violations.push('liveness: not every run ended after faults had stopped')
  const world = worldOfReplays(simulation.clock, end.ledger, seed)
  violations.push(...(await checkReplay(end.tables, definitions(world))))
  return { seed, violations, end }
}

/** Compaction all the time, and swept away so soon that a frozen process comes back to another world. */
const RESTLESS = {
  snapshotEvery: 8,
  archiveAt: 2,
  graceMs: 1_600,
  snapshotBytes: 2_000,
  partBytes: 4_000,
}

export const storeOf = (kind: StoreKind, delivery: 'atomic' | 'deferred') => (world: SharedWorld) =>
  kind === 'objects' ? sharedObjects(world, RESTLESS) : sharedMemory(world, delivery)
