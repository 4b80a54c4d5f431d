// One seed of random programs, compared with the model.

import { decode } from '../../src/core/base/value.ts'
import { decodeTurn } from '../../src/core/kernel/codec.ts'
import { checkAll, checkReplay } from '../../src/testing/checkers.ts'
import { badNetwork, noFaults } from '../../src/testing/faulty-store.ts'
import { incidentRatesOf, noIncidents } from '../../src/testing/incidents.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { type Definitions, Simulation, type SimulationEnd, worldOfReplays } from '../../src/testing/simulator.ts'
import { KitchenSink } from './kitchen-sink.ts'
import { type StoreKind, storeOf } from './simulate-seed.ts'

export interface SinkOptions {
  readonly store?: StoreKind
  readonly alwaysReplay?: boolean
  /** Suspended executions each worker keeps. */
  readonly warm?: number
  readonly calm?: boolean
}

export interface SinkResult {
  readonly violations: readonly string[]
  readonly end: SimulationEnd
  readonly workflows: Definitions['workflows']
}

export async function simulateSink(seed: number, options: SinkOptions = {}): Promise<SinkResult> {
  const { calm = false } = options
  const plan = new SeededRandom(seed).fork('plan')
  const incidents = calm ? noIncidents : incidentRatesOf(plan.fork('incidents'))
  const sink = new KitchenSink(incidents.failOvers === 0)
  const simulation = new Simulation({
    seed,
    workers: 1 + plan.below(3),
    faults: calm || plan.chance(0.2) ? noFaults : badNetwork,
    crashesPerSecond: calm ? 0 : plan.pick([0, 0.5, 2]),
    freezesPerSecond: calm ? 0 : plan.pick([0, 0.5]),
    incidents,
    store: storeOf(options.store ?? 'memory', plan.pick(['atomic', 'deferred'] as const)),
    alwaysReplay: options.alwaysReplay ?? plan.chance(0.3),
    warm: options.warm ?? plan.pick([0, 1, 2_000]),
    leaseMs: plan.pick([600, 3_000]),
    queues: ['default', 'other'],
    definitions: sink.definitions,
    program: sink.program(1 + plan.below(2)),
  })
  const end = await simulation.run()
  const violations = checkAll(end.tables, end.ledger, {
    runs: new Set(sink.expected.keys()),
    signals: new Map(),
  })
  if (!end.settled) violations.push('liveness: not every run ended after faults had stopped')
  for (const [runId, expected] of sink.expected) {
    const got = outcomeOf(end, runId)
    if (got !== expected) violations.push(`run ${runId} came to ${got}; the model says ${expected}`)
  }
  const world = worldOfReplays(simulation.clock, end.ledger, seed)
  const definitions = sink.definitions(world)
  violations.push(...(await checkReplay(end.tables, definitions)))
  return { violations, end, workflows: definitions.workflows }
}

function outcomeOf({ tables }: SimulationEnd, runId: string): string {
  const body = tables.turns.get(runId)?.at(-1)?.body
  const last = body === undefined ? undefined : decodeTurn(body).events.at(-1)
  if (last?.type === 'RunCompleted') return JSON.stringify(decode(last.value))
  const row = tables.run(runId)
  return JSON.stringify(last ?? row?.status)
}
