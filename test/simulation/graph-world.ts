// Random graphs as workflows, made with the builder that users have, and a client that starts, tells and cancels them.

import { sleep } from '../../src/core/runtime/clock.ts'
import {
  type ActivityContext,
  type ActivityOptions,
  type AnyWorkflow,
  activity,
  type Engine,
  graph,
  PawlError,
  PermanentError,
  type RunHandle,
  signal,
  workflow,
} from '../../src/index.ts'
import { checkPlace, simulatedBody } from '../../src/testing/simulated-body.ts'
import type { Definitions, ProgramWorld, SimulatedWorld } from '../../src/testing/simulator.ts'
import type { SeenByUndo } from './graph-end.ts'
import { conditionOf, itemsOf, valueOf } from './graph-reference.ts'
import type { End, GraphSpec, StepSpec, WorkSpec } from './random-graphs.ts'

interface Scope {
  readonly input: number
  readonly results: Readonly<Record<string, unknown>>
  readonly item?: number
  readonly index?: number
}
type Options = ActivityOptions & Readonly<Record<string, unknown>>
type Step = ActivityContext & Scope

/** The builder, for code that learns what steps there are only when it runs. */
interface Builder {
  step(name: string, options: Options, body: (ctx: Step) => unknown): Builder
  each(name: string, options: Options, body: (ctx: Step) => unknown): Builder
  run(name: string, options: Options, what: unknown, input: (ctx: Scope) => unknown): Builder
  wait(name: string, options: Options, signal: unknown): Builder
  compensate(options: Options, undo: (ctx: Step & { result: unknown }) => unknown): Builder
  output(fn: (ctx: Scope) => unknown): Builder
}

/** What an activity, or a child, is told to do. */
interface Errand {
  readonly story: number
  readonly value: number
  readonly ms: number
  readonly end: End
}

const PATIENT = { maxAttempts: 60, initial: 10, max: 100 } as const
const FINE: End = { how: 'succeeds', retries: 0 }
const HOUR_MS = 3_600_000

/** One graph, and the one run of it. */
export class Story {
  readonly spec: GraphSpec
  readonly name: string
  runId: string | undefined
  /** The second begins when the run has ended badly and is told to go on. */
  generation = 1
  readonly undos: (SeenByUndo & { readonly generation: number; readonly failOvers: number })[] = []

  constructor(spec: GraphSpec, index: number) {
    this.spec = spec
    this.name = `g${index}`
  }

  /** For the reader of a seed's trace. */
  get described(): string {
    const { steps, ...rest } = this.spec
    const lines = [`graph ${this.name}, run ${this.runId}: ${JSON.stringify(rest)}`]
    return [...lines, ...steps.map((step) => `  ${JSON.stringify(step)}`)].join('\n')
  }

  /** Whether a step that was to fail works in a generation. What takes too long always does. */
  heals({ name, work }: StepSpec, generation = this.generation): boolean {
    const how = generation > 1 ? this.spec.again : undefined
    if ('end' in work && (work.end.how === 'hangs' || work.end.how === 'drags')) return false
    return how === 'healed' || (how === 'better' && Number(name.slice(1)) % 2 === 0)
  }
}

export class GraphWorld {
  readonly stories: readonly Story[]

  constructor(specs: readonly GraphSpec[]) {
    this.stories = specs.map((spec, index) => new Story(spec, index))
  }

  definitions = (world: SimulatedWorld): Definitions => {
    const generationOf = (index: number): number => this.stories[index]?.generation ?? 1
    const errand = activity('errand', async ({ story, value, ms, end }: Errand, ctx) => {
      await perform(world, ctx, generationOf(story), ms, end)
      return value
    })
    const kid = workflow('kid', async (ctx, { ms, end, value }: Errand) => {
      await ctx.run('work', { retry: PATIENT }, (step) => perform(world, step, 1, ms, end))
      return value
    })
    const kidGraph = graph<Errand>('kid graph')
      .step('before', { retry: PATIENT }, (ctx) => perform(world, ctx, 1, ctx.input.ms, FINE))
      .compensate({ retry: PATIENT }, (ctx) => perform(world, ctx, 1, ctx.input.ms, FINE))
      .step('work', { after: ['before'], retry: PATIENT }, (ctx) => perform(world, ctx, 1, ctx.input.ms, ctx.input.end))
      .output(({ input }) => input.value)
    const graphs = this.stories.map((story, index) => new Maker(story, index, world, { errand, kid, kidGraph }).graph())
    return { workflows: [...graphs, kid, kidGraph], activities: [errand] }
  }

  program = async (client: Engine, world: ProgramWorld): Promise<void> => {
    const told = this.stories.map(async (story) => {
      await world.pause(world.random.fork(story.name).below(200))
      const { spec, name } = story
      const run = await client.start(workflow.declare<number, unknown>(name), spec.input)
      story.runId = run.runId
      await Promise.all([
        sendSignals(run, story, world),
        spec.cancelMs !== undefined && cancel(run, spec.cancelMs, world),
        spec.again && goOn(run, story, world),
      ])
    })
    await Promise.all(told)
  }
}

async function sendSignals(run: RunHandle<unknown>, { spec, generation }: Story, world: ProgramWorld): Promise<void> {
  const sent = spec.steps.map(async ({ name, work }) => {
    if (work.do !== 'wait' || work.comesMs === undefined) return
    await world.pause(work.comesMs)
    const messageId = `${generation} to ${name}`
    await unlessEnded(run.signal(signal<string>(work.signal), work.signal, { messageId }))
  })
  await Promise.all(sent)
}

async function cancel(run: RunHandle<unknown>, ms: number, world: ProgramWorld): Promise<void> {
  await world.pause(ms)
  await unlessEnded(run.cancel('enough'))
}

// A person who retries a run has repaired some of what went wrong.
async function goOn(run: RunHandle<unknown>, story: Story, world: ProgramWorld): Promise<void> {
  for (;;) {
    const { status } = await run.describe()
    if (status === 'completed') return
    if (status === 'failed' || status === 'cancelled') break
    await world.pause(400)
  }
  story.generation = 2
  try {
    await run.retry()
    await sendSignals(run, story, world)
  } catch (error) {
    // A store that packs away what has ended may have done so by now.
    if (!isEnded(error)) throw error
    story.generation = 1
  }
}

async function unlessEnded(said: Promise<void>): Promise<void> {
  await said.catch((error: unknown) => {
    if (!isEnded(error)) throw error
  })
}

function isEnded(error: unknown): boolean {
  return error instanceof PawlError && error.code === 'RUN_ENDED'
}

async function perform(
  world: SimulatedWorld,
  ctx: ActivityContext,
  generation: number,
  ms: number,
  end: End,
): Promise<void> {
  const { stepKey: key, attempt } = ctx
  const { how } = end
  const rest = async (): Promise<void> => {
    if (how === 'hangs' || ms > 0) await sleep(world.process.clock, how === 'hangs' ? HOUR_MS : ms, ctx.signal)
  }
  await simulatedBody(world, ctx, rest, generation)
  if (how === 'fails' && end.permanently) throw new PermanentError(`${key} fails for good`)
  if (how === 'fails' || how === 'drags') throw new Error(`${key} fails`)
  if (how === 'succeeds' && attempt <= end.retries) throw new Error(`${key} fails for now`)
}

/** Makes one graph, for one process. */
class Maker {
  readonly #story: Story
  readonly #index: number
  readonly #world: SimulatedWorld
  readonly #others: { errand: unknown; kid: unknown; kidGraph: unknown }
  #asked = 0

  constructor(
    story: Story,
    index: number,
    world: SimulatedWorld,
    others: { errand: unknown; kid: unknown; kidGraph: unknown },
  ) {
    this.#story = story
    this.#index = index
    this.#world = world
    this.#others = others
  }

  graph(): AnyWorkflow {
    const { spec, name } = this.#story
    let made = graph<number>(name) as unknown as Builder
    for (const step of spec.steps) {
      made = this.#step(made, step)
      if (step.undo) made = this.#undo(made, step.undo)
    }
    if (spec.output === 'count') made = made.output(({ results }) => Object.keys(results).length)
    if (spec.output === 'throws')
      made = made.output(({ results }) => {
        if (this.#story.spec.again !== 'healed' || this.#story.generation === 1)
          throw new PermanentError('there is no output')
        return results
      })
    return made as unknown as AnyWorkflow
  }

  #step(made: Builder, step: StepSpec): Builder {
    const { name, work } = step
    const options = this.#optionsOf(step)
    const value = ({ input, results, item }: Scope): number => valueOf(step, input, results, item)
    switch (work.do) {
      case 'wait': {
        const { after } = options
        const { timeoutMs } = work
        const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs }
        return made.wait(name, { after, ...timeout }, signal(work.signal))
      }
      case 'child': {
        const { after, rule, when, delay } = options
        const what = work.style === 'graph' ? this.#others.kidGraph : this.#others.kid
        return made.run(name, { after, rule, when, delay }, what, (ctx) => ({
          ...this.#errand(work.ms, this.#endOf(step, work), value(ctx)),
        }))
      }
      case 'activity':
        return made.run(name, options, this.#others.errand, (ctx) =>
          this.#errand(work.ms, this.#endOf(step, work), value(ctx)),
        )
      case 'step':
        return made.step(name, options, async (ctx) => {
          const { generation } = this.#story
          if (work.queued) checkPlace(this.#world, 'other', ctx)
          await perform(this.#world, ctx, generation, work.ms, this.#endOf(step, work))
          return value(ctx)
        })
      case 'each': {
        const { parallel, items } = work
        const over = ({ input, results }: Scope): number[] => itemsOf(step, input, results)
        return made.each(name, { ...options, over, ...(parallel !== undefined && { parallel }) }, async (ctx) => {
          // The last one is the one that fails.
          const end = ctx.index === items - 1 ? this.#endOf(step, work) : FINE
          await perform(this.#world, ctx, this.#story.generation, work.ms, end)
          return value(ctx)
        })
      }
    }
  }

  #errand(ms: number, end: End, value: number): Errand {
    return { story: this.#index, ms, end, value }
  }

  #endOf(step: StepSpec, work: Exclude<WorkSpec, { do: 'wait' }>): End {
    if (this.#story.heals(step)) return FINE
    if (work.do !== 'child') return work.end
    return work.fails ? { how: 'fails', attempts: 1, permanently: true } : FINE
  }

  #optionsOf(step: StepSpec): Options {
    const { after, rule, delayMs, work } = step
    const when = this.#conditionOf(step)
    const limits = 'end' in work ? limitsOf(work.end) : {}
    return {
      after,
      rule,
      ...(when && { when }),
      ...(delayMs !== undefined && { delay: delayMs }),
      ...('queued' in work && work.queued && { queue: 'other' }),
      ...limits,
    }
  }

  #conditionOf(step: StepSpec): ((ctx: Scope) => boolean) | undefined {
    switch (step.when) {
      case undefined:
        return undefined
      case 'throws':
        return () => {
          if (!this.#story.heals(step)) throw new PermanentError(`${step.name} has no condition`)
          return true
        }
      case 'fickle':
        return () => (this.#asked++ + this.#world.process.name.length) % 2 === 0
      default:
        return ({ input, results }) => conditionOf(step, input, results)
    }
  }

  #undo(made: Builder, { works, ownFailure }: NonNullable<StepSpec['undo']>): Builder {
    return made.compensate({ retry: PATIENT, ownFailure }, async (ctx) => {
      const { stepKey: key, result } = ctx
      const { generation, undos } = this.#story
      undos.push({ key, generation, result, failOvers: this.#world.ledger.failOvers })
      await perform(this.#world, ctx, generation, 3, FINE)
      if (!works) throw new PermanentError(`${key} cannot be undone`)
    })
  }
}

function limitsOf(end: End): ActivityOptions {
  switch (end.how) {
    case 'succeeds':
      return { retry: PATIENT }
    case 'once':
      return { retry: 'none' }
    case 'fails':
      return { retry: { maxAttempts: end.attempts, initial: 10, max: 50 } }
    case 'hangs':
      return { retry: { maxAttempts: 2, initial: 10 }, startToClose: 25 }
    case 'drags':
      return { retry: { maxAttempts: 1_000, initial: 15, max: 15 }, scheduleToClose: 80 }
  }
}
