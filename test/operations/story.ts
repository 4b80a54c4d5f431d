// Clients that pause, resume, stop, retry, reset, trigger and signal one run while workers work on it, die and are
// replaced. Every store call is ordered by the seed. In the end the run must stand where the model says.

import { Registry } from '../../src/core/definitions/registry.ts'
import { type Clock, sleep } from '../../src/core/runtime/clock.ts'
import type { Store } from '../../src/core/stores/store.ts'
import { Engine } from '../../src/engine.ts'
import { type HistoryEvent, PawlError, type RunHandle } from '../../src/index.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { SimulatedProcess } from '../../src/testing/simulated-process.ts'
import type { Interleaving } from './interleaving.ts'
import { type Answered, type Found, Model, missing, type Operation, restOf } from './model.ts'
import { contract, definitions, drawPlan, go, type Plan, type Witness } from './plan.ts'

export interface World {
  readonly clock: Clock
  readonly interleaving: Interleaving
  /** A process's own way to the store. */
  open(process: SimulatedProcess, random: SeededRandom): Promise<Store>
}

export const workers = ['working', 'none', 'killed'] as const
export type Workers = (typeof workers)[number]

export interface Told {
  readonly violations: readonly string[]
  /** What was asked and answered, for the reader of a violation. */
  readonly lines: readonly string[]
  readonly rest: string
}

const leaseMs = 2_000
const restartMs = 30
/** How long whatever is left to happen may take once all is calm. */
const settleMsMax = 40_000
const lookMs = 20
/** How long an operation may take to show, on object storage that is polled. */
const answerMs = 300
const failures = 2

export class Story {
  readonly #world: World
  readonly #random: SeededRandom
  readonly #plan: Plan
  readonly #answered: Answered[] = []
  readonly #lines: string[] = []
  readonly #violations: string[] = []
  readonly #workers: Workers
  readonly #menu: readonly Operation[]
  #count = 0
  #spawned = 0
  #failed = 0
  #busy: SimulatedProcess[] = []
  #over = false

  constructor(world: World, seed: number, workers: Workers) {
    this.#world = world
    this.#random = new SeededRandom(seed)
    this.#workers = workers
    this.#plan = drawPlan(this.#random.fork('plan'))
    this.#menu = drawMenu(this.#random.fork('menu'), this.#plan)
  }

  async tell(): Promise<Told> {
    const observer = await this.#engine(new SimulatedProcess('observer', this.#world.clock))
    const input = { parts: this.#plan.parts, before: [] }
    const { start } = this.#plan
    const run = await observer.start(contract, input, {
      ...(start === 'pending' && { pending: true }),
      ...(start === 'late' && { delay: 300 }),
    })
    if (this.#workers !== 'none') await Promise.all([this.#work(), this.#work()])
    const strikes = this.#workers === 'killed' ? this.#strike() : Promise.resolve()
    const clients = Array.from({ length: 1 + this.#random.below(2) }, (_, n) => this.#client(run.runId, `client${n}`))
    await Promise.all([...clients, strikes])
    this.#world.interleaving.calm()
    await this.#work()
    const rest = await this.#settle(run)
    await this.#finish(run)
    return { violations: this.#violations, lines: this.#lines, rest }
  }

  /** Ends what is running. */
  stop(): void {
    this.#over = true
    for (const each of this.#busy) each.kill()
  }

  async #work(): Promise<void> {
    const name = `worker${++this.#spawned}`
    const process = new SimulatedProcess(name, this.#world.clock)
    const engine = await this.#engine(process)
    this.#busy.push(process)
    const queues = ['default', 'other']
    engine.work({ id: name, lease: leaseMs, concurrency: 8, signals: false, queues })
  }

  async #strike(): Promise<void> {
    for (let kills = 1 + this.#random.below(2); kills > 0; kills--) {
      await sleep(this.#world.clock, this.#random.below(300))
      const victim = this.#random.pick(this.#busy)
      this.#lines.push(`kill ${victim.name}`)
      victim.kill()
      this.#busy = this.#busy.filter((each) => each !== victim)
      await sleep(this.#world.clock, restartMs)
      await this.#work()
    }
  }

  async #client(runId: string, name: string): Promise<void> {
    const random = this.#random.fork(name)
    const process = new SimulatedProcess(name, this.#world.clock)
    const run = (await this.#engine(process)).get(runId)
    for (let left = 2 + random.below(4); left > 0; left--) {
      await sleep(this.#world.clock, random.pick([0, 0, 5, 20, 80, 300]))
      await this.#operate(run, random.pick(this.#menu), random)
    }
  }

  async #operate(run: RunHandle<unknown>, operation: Operation, random: SeededRandom): Promise<void> {
    const signal = operation === 'signal' ? `s${random.below(4)}` : undefined
    const invoked = this.#count++
    const outcome = await this.#outcomeOf(run, operation, signal)
    if (outcome === undefined) return
    const answered = this.#count++
    this.#answered.push({ operation, invoked, answered, outcome, ...(signal && { signal }) })
    this.#lines.push(`${invoked}-${answered} ${operation} ${signal ?? ''}: ${outcome}`)
  }

  async #outcomeOf(run: RunHandle<unknown>, operation: Operation, signal?: string): Promise<string | undefined> {
    try {
      if (operation === 'seen ended') {
        const { endedAt } = await run.describe()
        return endedAt === undefined ? undefined : 'done'
      }
      if (operation === 'signal') await run.signal(go, signal ?? '', { messageId: signal ?? '' })
      else if (operation === 'terminate') await run.terminate('enough')
      else if (operation === 'reset') await run.reset({ step: 'step:step#1' })
      else await run[operation]()
      return 'done'
    } catch (error) {
      if (error instanceof PawlError) return error.code
      throw error
    }
  }

  /** Waits until the run stands where it may, or could have. */
  async #settle(run: RunHandle<unknown>): Promise<string> {
    const { clock } = this.#world
    const model = new Model(this.#plan, this.#answered)
    const end = clock.monotonic() + settleMsMax
    let found = await read(run)
    // Where it may stand now it may have stood before the last message reached it.
    for (let quiet = 0; quiet < 2 && clock.monotonic() < end; ) {
      await sleep(clock, lookMs)
      const last = found
      found = await read(run)
      quiet = model.check(found).length === 0 && isSame(last, found) ? quiet + 1 : 0
    }
    this.#note(found, model.check(found))
    return restOf(found)
  }

  // What is not over yet is brought to its end: a run that is paused can be resumed, one that waits hears what it waits for.
  async #finish(run: RunHandle<unknown>): Promise<void> {
    const { clock } = this.#world
    const end = clock.monotonic() + settleMsMax
    for (let round = 0; clock.monotonic() < end; round++) {
      const found = await read(run)
      if (['cancelled', 'terminated', 'completed'].includes(restOf(found))) {
        return this.#note(found, new Model(this.#plan, this.#answered).check(found))
      }
      const next = this.#towardsEnd(restOf(found))
      if (next) await this.#operate(run, next, new SeededRandom(round))
      await sleep(clock, next ? answerMs : lookMs)
    }
    const found = await read(run)
    this.#note(found, [`the run never ended; it is ${restOf(found)}`])
  }

  #towardsEnd(rest: string): Operation | undefined {
    if (rest === 'paused') return 'resume'
    if (rest === 'failed') return 'retry'
    const begun = this.#answered.some(({ operation }) => operation === 'trigger')
    if (rest === 'pending' && !begun && this.#plan.start === 'pending') return 'trigger'
    return missing(this.#plan, this.#answered) > 0 ? 'signal' : undefined
  }

  #note(found: Found, violations: readonly string[]): void {
    this.#violations.push(...violations)
    const histories = found.generations.map((events) => events.map(({ type }) => type).join(' '))
    this.#lines.push(
      `${this.#plan.start} ${this.#plan.parts.join()}`,
      `${found.status} ${found.failure ?? ''}`,
      ...histories,
    )
  }

  async #engine(process: SimulatedProcess): Promise<Engine> {
    const random = this.#random.fork(process.name)
    const witness: Witness = {
      clock: process.clock,
      began: () => {
        if (this.#over) throw new Error('the story is over')
      },
      fails: () => this.#failed++ < failures,
    }
    const { workflows, activities } = definitions(witness)
    return new Engine(
      await this.#world.open(process, random.fork('network')),
      new Registry(workflows, activities),
      { build: 'operations', logger: { log() {} } },
      { clock: process.clock, random },
    )
  }
}

// Few operations, often, meet each other more than many that come once.
function drawMenu(random: SeededRandom, { start }: Plan): readonly Operation[] {
  const usual: readonly Operation[] = ['pause', 'resume', 'signal']
  const rare: readonly Operation[] = ['cancel', 'terminate', 'retry', 'reset', 'seen ended']
  const drawn = Array.from({ length: 1 + random.below(3) }, () => random.pick([...usual, ...rare]))
  const trigger: readonly Operation[] = start === 'pending' ? ['trigger'] : []
  return [...drawn, ...trigger, ...(random.chance(0.5) ? usual : [])]
}

async function read(run: RunHandle<unknown>): Promise<Found> {
  const { status, failure, output, generation } = await run.describe()
  const generations: HistoryEvent[][] = []
  for (let number = 1; number <= generation; number++) {
    const events: HistoryEvent[] = []
    for await (const event of run.history({ generation: number })) if (event.type !== 'RunStarted') events.push(event)
    generations.push(events)
  }
  return { status, ...(failure && { failure: failure.type }), output, generations }
}

function isSame(one: Found, other: Found): boolean {
  const size = ({ generations }: Found): string => generations.map(({ length }) => length).join()
  return one.status === other.status && size(one) === size(other)
}
