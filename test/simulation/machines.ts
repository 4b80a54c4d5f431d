// Machines of the simulated deployment: what they hear they count, so that nothing can be heard twice or not at all.
import { type Activity, type ActivityContext, activity, machine, typed } from '../../src/index.ts'
import { checkPlace } from '../../src/testing/simulated-body.ts'
import type { Definitions, SimulatedWorld } from '../../src/testing/simulator.ts'
import { retryIn } from './retries.ts'
import { go } from './signals.ts'

type Work = (step: ActivityContext) => Promise<number>

/** Which of its activities have ended, and what it was told. */
interface Counted {
  readonly wanted: number
  readonly done: readonly string[]
  readonly heard: number
}

export function machines(world: SimulatedWorld, work: Work): Definitions {
  const tick = activity('tick', { retry: retryIn(world) }, async (n: number, step) => {
    await work(step)
    return n
  })
  const tock = activity('tock', { retry: retryIn(world), queue: 'other' }, async (n: number, step) => {
    checkPlace(world, 'other', step)
    await work(step)
    return n
  })
  const counted = (state: Counted, id: string): Counted => {
    if (state.done.includes(id)) world.ledger.violate(`a machine heard twice that ${id} has ended`)
    return { ...state, done: [...state.done, id] }
  }
  const ticker = machine('ticker', {
    input: typed<number>(),
    state: typed<Counted>(),
    output: typed<Counted>(),
    activities: { tick, tock },
    signals: { go },
    timers: ['deadline', 'late'],
  }).on({
    start: (wanted, act) => [
      { wanted, done: [], heard: 0 },
      ...Array.from({ length: wanted }, (_, n) =>
        n % 2 === 0 ? act.run('tick', n, { id: `t${n}` }) : act.run('tock', n, { id: `t${n}` }),
      ),
      act.timer('deadline', 3_600_000),
    ],
    activityCompleted: {
      tick: (state, { id }, act) => {
        const next = counted(state, id)
        return next.done.length < next.wanted ? [next] : [next, act.timer('late', 15)]
      },
      tock: (state, { id }, act) => {
        const next = counted(state, id)
        return next.done.length < next.wanted ? [next] : [next, act.timer('late', 15)]
      },
    },
    activityFailed: (state, { id }, act) => [state, act.fail(`${id} failed`)],
    timerFired: {
      deadline: (state, act) => [state, act.fail('no time left')],
      late: (state, act) => [state, act.complete(state)],
    },
    signal: { go: (state) => [{ ...state, heard: state.heard + 1 }] },
  })
  return { workflows: [ticker, relayOf(world, tick)], activities: [tick, tock] }
}

/** One leg after the other, with a rest between. */
function relayOf(world: SimulatedWorld, tick: Activity<number, number>) {
  return machine('relay', {
    input: typed<number>(),
    state: typed<{ leg: number; legs: number }>(),
    output: typed<number>(),
    activities: { tick },
    signals: { go },
    timers: ['rest'],
  }).on({
    start: (legs, act) => [{ leg: 1, legs }, act.run('tick', 1, { id: 'leg 1' })],
    activityCompleted: {
      tick: (state, { result }, act) => {
        if (result !== state.leg) world.ledger.violate(`leg ${result} ended while leg ${state.leg} was run`)
        return [state, act.timer('rest', 10 * state.leg)]
      },
    },
    activityFailed: (state, { id }, act) => [state, act.fail(`${id} failed`)],
    timerFired: {
      rest: ({ leg, legs }, act) =>
        leg === legs
          ? [{ leg, legs }, act.complete(leg)]
          : [{ leg: leg + 1, legs }, act.run('tick', leg + 1, { id: `leg ${leg + 1}` })],
    },
    signal: { go: (state) => [state] },
  })
}
