// One seed of random graphs, compared with the reference.
import { decodeTurn } from '../../src/core/kernel/codec.ts'
import { turnsOf } from '../../src/core/stores/rules/row.ts'
import { checkAll, checkReplay } from '../../src/testing/checkers.ts'
import { badNetwork, noFaults } from '../../src/testing/faulty-store.ts'
import { incidentRatesOf, noIncidents } from '../../src/testing/incidents.ts'
import { short } from '../../src/testing/ledger.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { type Definitions, Simulation, type SimulationEnd, worldOfReplays } from '../../src/testing/simulator.ts'
import { checkEnd, checkUndoing, factsOf } from './graph-end.ts'
import { walk } from './graph-walk.ts'
import { GraphWorld, type Story } from './graph-world.ts'
import { type GraphSpec, graphsOf } from './random-graphs.ts'
import { type StoreKind, storeOf } from './simulate-seed.ts'

export interface GraphOptions {
  readonly store?: StoreKind
  readonly alwaysReplay?: boolean
  /** No faults and no crashes, and one worker. */
  readonly calm?: boolean
  /** Instead of those of the seed. */
  readonly specs?: readonly GraphSpec[]
}

export interface GraphResult {
  readonly violations: readonly string[]
  readonly end: SimulationEnd
  readonly stories: readonly Story[]
  readonly described: readonly string[]
  readonly workflows: Definitions['workflows']
}

/** So many graphs to a seed where nothing disturbs them. */
export const CALM_GRAPHS = 10

export async function simulateGraphs(seed: number, options: GraphOptions = {}): Promise<GraphResult> {
  const { calm = false } = options
  const plan = new SeededRandom(seed).fork('plan')
  const count = calm ? CALM_GRAPHS : 1 + plan.below(2)
  const incidents = calm ? noIncidents : incidentRatesOf(plan.fork('incidents'))
  const specs = options.specs ?? graphsOf(seed, count)
  // A fail-over can lose that a run was resumed, and that it had ended.
  const once = specs.map(({ again: _, ...spec }) => spec)
  const world = new GraphWorld(incidents.failOvers > 0 ? once : specs)
  const simulation = new Simulation({
    seed,
    workers: calm ? 1 : 1 + plan.below(3),
    faults: calm || plan.chance(0.2) ? noFaults : badNetwork,
    crashesPerSecond: calm ? 0 : plan.pick([0, 1, 3]),
    freezesPerSecond: calm ? 0 : plan.pick([0, 1]),
    incidents,
    store: storeOf(options.store ?? 'memory', plan.pick(['atomic', 'deferred'] as const)),
    alwaysReplay: options.alwaysReplay ?? plan.chance(0.4),
    warm: plan.pick([0, 2, 2_000]),
    leaseMs: plan.pick([600, 3_000]),
    queues: ['default', 'other'],
    definitions: world.definitions,
    program: world.program,
  })
  const end = await simulation.run()
  const runs = new Set(world.stories.flatMap(({ runId }) => runId ?? []))
  const violations = checkAll(end.tables, end.ledger, { runs, signals: new Map() })
  if (!end.settled) violations.push('liveness: not every run ended after faults had stopped')
  for (const story of world.stories) violations.push(...checkStory(end, story))
  const replaying = worldOfReplays(simulation.clock, end.ledger, seed)
  const definitions = world.definitions(replaying)
  violations.push(...(await checkReplay(end.tables, definitions)))
  const { stories } = world
  const described = stories.map((story) => story.described)
  return { violations, end, stories, described, workflows: definitions.workflows }
}

function checkStory({ tables, ledger }: SimulationEnd, story: Story): string[] {
  const { spec, runId = '', undos } = story
  const found: string[] = []
  const generations = tables.run(runId)?.generation
  if (generations !== story.generation)
    found.push(`graph ${story.name} has ${generations} generations, not ${story.generation}`)
  for (let generation = 1; generation <= story.generation; generation++) {
    const turns = turnsOf(tables.turns.get(runId) ?? [], generation)
    const events = turns.flatMap(({ body }) => decodeTurn(body).events)
    const kept = generation === 1 ? 0 : (turns[0]?.count ?? 0)
    const facts = factsOf(spec, events, (step) => story.heals(step, generation))
    const walked = { spec, events, kept, facts }
    // What was undone before a fail-over may have been undone in a history that is lost.
    const { failOvers } = ledger
    const seen = undos.filter((each) => each.generation === generation && each.failOvers === failOvers)
    for (const what of [...walk(walked), ...checkEnd(walked), ...checkUndoing(walked, seen)])
      found.push(`graph ${story.name} (${short(runId)}, generation ${generation}): ${what}`)
  }
  return found
}
