// Runs that write to streams, under crashes, freezes and a bad network: in the end every stream has what an execution
// without faults writes, and nothing else is valid.

import { validity } from '../../src/core/client/stream-validity.ts'
import { newsIn, type StreamPart } from '../../src/core/client/streams.ts'
import { sleep } from '../../src/core/runtime/clock.ts'
import { loadOne } from '../../src/core/stores/rules/read.ts'
import { type ActivityContext, activity, type Engine, stream, workflow } from '../../src/index.ts'
import { checkAll, checkReplay } from '../../src/testing/checkers.ts'
import { badNetwork, noFaults } from '../../src/testing/faulty-store.ts'
import { incidentRatesOf, noIncidents } from '../../src/testing/incidents.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { simulatedBody } from '../../src/testing/simulated-body.ts'
import {
  type Definitions,
  type ProgramWorld,
  type SimulatedWorld,
  Simulation,
  type SimulationEnd,
  worldOfReplays,
} from '../../src/testing/simulator.ts'
import { type StoreKind, storeOf } from './simulate-seed.ts'

/** Many packets that arrive twice, the second time late. */
const LATE = { ...badNetwork, duplicate: 0.1, delayMsMax: 20 }

const RETRY = { maxAttempts: 60, initial: 1, max: 20 } as const
const ROUNDS = 2
/** Items of each writer in each round. */
const WORDS = { code: 3, brief: 3, again: 12, resumed: 12 } as const
type Writer = keyof typeof WORDS

const words = stream<string>('words')
const writer = workflow.declare<number, number>('writer')

function definitions(world: SimulatedWorld): Definitions {
  const recite = (step: ActivityContext, by: Writer, round: number): Promise<void> =>
    simulatedBody(world, step, async () => {
      const out = step.stream(words, { resume: by === 'resumed' })
      for (let n = await out.kept(); n < WORDS[by]; n++) {
        await out.write(`${by} ${round}.${n}`)
        if ((n + step.attempt) % 4 === 0 && by !== 'brief') await out.flush()
        if (n % 5 === 0 && by !== 'brief') await sleep(world.process.clock, 10, step.signal)
        if (n > 5 && step.attempt < 3) throw new Error('not yet')
        // So that a late packet of one attempt, its only one, meets the next one.
        if (by !== 'brief' || step.attempt > 3) continue
        await out.flush()
        throw new Error('not yet')
      }
    })
  const again = activity('again', { retry: RETRY, queue: 'other' }, (round: number, step) =>
    recite(step, 'again', round),
  )
  return {
    workflows: [
      writer.implement(async (ctx, round) => {
        const say = (n: number): void => ctx.stream(words).write(`code ${round}.${n}`)
        say(0)
        const resumed = ctx.run('resumed', { retry: RETRY }, (step) => recite(step, 'resumed', round))
        const brief = ctx.run('brief', { retry: RETRY }, (step) => recite(step, 'brief', round))
        say(1)
        await Promise.all([ctx.run(again, round), resumed, brief])
        say(2)
        if (round < ROUNDS) return ctx.continueAsNew(round + 1)
        return round
      }),
    ],
    activities: [again],
  }
}

const program = (runIds: Set<string>, count: number) => async (client: Engine, world: ProgramWorld) => {
  for (let n = 0; n < count; n++) {
    await world.pause(world.random.below(300))
    runIds.add((await client.start(writer, 1)).runId)
  }
}

export interface StreamsResult {
  readonly violations: readonly string[]
  readonly end: SimulationEnd
}

export async function simulateStreams(
  seed: number,
  { store = 'memory', calm = false }: { readonly store?: StoreKind; readonly calm?: boolean } = {},
): Promise<StreamsResult> {
  const plan = new SeededRandom(seed).fork('plan')
  // A fail-over may lose items of a step whose end it does not lose.
  const incidents = calm ? noIncidents : { ...incidentRatesOf(plan.fork('incidents')), failOvers: 0 }
  const runIds = new Set<string>()
  const simulation = new Simulation({
    seed,
    workers: 1 + plan.below(3),
    faults: calm || plan.chance(0.1) ? noFaults : LATE,
    crashesPerSecond: calm ? 0 : plan.pick([0, 0.5, 2]),
    freezesPerSecond: calm ? 0 : plan.pick([0, 0.5, 2]),
    incidents,
    store: storeOf(store, plan.pick(['atomic', 'deferred'] as const)),
    alwaysReplay: plan.chance(0.3),
    leaseMs: plan.pick([600, 3_000]),
    queues: ['default', 'other'],
    definitions,
    program: program(runIds, 1 + plan.below(3)),
  })
  const end = await simulation.run()
  const violations = checkAll(end.tables, end.ledger, { runs: runIds, signals: new Map() })
  if (!end.settled) violations.push('liveness: not every run ended after faults had stopped')
  for (const runId of runIds) violations.push(...faultsOf(end, runId))
  const world = worldOfReplays(simulation.clock, end.ledger, seed)
  violations.push(...(await checkReplay(end.tables, definitions(world))))
  return { violations, end }
}

function faultsOf({ tables }: SimulationEnd, runId: string): string[] {
  const ask = { type: 'stream', runId, stream: 'words', from: 0, parts: 0, batches: 10_000 } as const
  const loaded = loadOne(tables, ask, 0)
  if (loaded.type !== 'stream' || !loaded.page) return [`run ${runId} is gone`]
  const { page } = loaded
  const parts: StreamPart[] = []
  const { items, next, isLast } = newsIn(page, parts, 0)
  const faults: string[] = []
  if (!isLast || next !== page.items) faults.push(`the stream of ${runId} ends at ${next} of ${page.items}`)
  const isValid = validity(parts)
  const valid = items
    .filter(({ part }) => isValid(part.number))
    .map(({ payload }) => JSON.stringify(payload.json).slice(1, -1))
  for (let round = 1; round <= ROUNDS; round++) {
    for (const by of Object.keys(WORDS) as Writer[]) {
      const said = valid.filter((word) => word.startsWith(`${by} ${round}.`))
      const expected = Array.from({ length: WORDS[by] }, (_, n) => `${by} ${round}.${n}`)
      if (said.join() !== expected.join())
        faults.push(`the stream of ${runId}: valid of ${by} ${round} are ${said.join()}`)
    }
  }
  return faults
}
