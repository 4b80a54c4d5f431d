// Random programs as workflows: an interpreter of them, and a client that gives them what they wait for.

import { sleep } from '../../src/core/runtime/clock.ts'
import {
  type ActivityContext,
  type AttributesChange,
  activity,
  CANCELLED,
  type Context,
  type Engine,
  PawlError,
  PermanentError,
  type RunHandle,
  signal,
  TIMEOUT,
  update,
  workflow,
} from '../../src/index.ts'
import { checkPlace, simulatedBody } from '../../src/testing/simulated-body.ts'
import type { Definitions, ProgramWorld, SimulatedWorld } from '../../src/testing/simulator.ts'
import {
  type Compound,
  type Family,
  isFamily,
  isWant,
  Maker,
  type Node,
  type Own,
  valueOf,
  type Want,
  wantsOf,
} from './random-programs.ts'

export interface Program {
  /** One part for each generation of the run. */
  readonly parts: readonly Node[]
  readonly done: readonly unknown[]
}

const RETRY = { maxAttempts: 60, initial: 10, max: 100 } as const
const interpreter = workflow.declare<Program, unknown>('interpreter')
const part = workflow.declare<Node, unknown>('part')
const patient = workflow.declare<number, unknown>('patient')
const told = signal<number>('told')
const never = signal('never')

export class KitchenSink {
  /** What each acknowledged run must come to. */
  readonly expected = new Map<string, string>()
  /** Tokens that steps made known, by the webhook they are for. */
  readonly #tokens = new Map<number, string>()
  /** A fail-over can lose a token that was handed out, and its owner cannot be told of the next. */
  readonly #webhooks: boolean

  constructor(webhooks = true) {
    this.#webhooks = webhooks
  }

  definitions = (world: SimulatedWorld): Definitions => {
    const body = (step: ActivityContext): Promise<void> =>
      simulatedBody(world, step, async () => {
        const { stepKey: key, attempt, signal: stop } = step
        if (attempt % 3 !== 0) await sleep(world.process.clock, key.length, stop)
      })
    const run = async (n: number, step: ActivityContext): Promise<number> => {
      await body(step)
      return n
    }
    const near = activity('near', { retry: RETRY }, run)
    const far = activity('far', { retry: RETRY, queue: 'other' }, (n: number, step) => {
      checkPlace(world, 'other', step)
      return run(n, step)
    })
    const machine = new Interpreter(body, [near, far], this.#tokens)
    return {
      workflows: [
        interpreter.implement(async (ctx, { parts, done }) => {
          const [first, ...rest] = parts
          if (!first) return done
          const value = await machine.run(ctx, first)
          return ctx.continueAsNew({ parts: rest, done: [...done, value] })
        }),
        part.implement(async (ctx, node) => machine.run(ctx, node)),
        patient.implement(async (ctx) => ctx.wait(told)),
      ],
      activities: [near, far],
    }
  }

  program(count: number) {
    return async (client: Engine, world: ProgramWorld): Promise<void> => {
      const stories = Array.from({ length: count }, async (_, n) => {
        const random = world.random.fork(`story ${n}`)
        await world.pause(random.below(500))
        const all = new Maker(random, n * 1_000).parts()
        const parts = this.#webhooks ? all : all.filter(hasNoWebhook)
        const run = await client.start(interpreter, { parts, done: [] })
        this.expected.set(run.runId, JSON.stringify(parts.map(valueOf)))
        await this.#answer(client, run, parts, { ...world, random })
      })
      await Promise.all(stories)
    }
  }

  // Everything the run will ever wait for, in some order, some of it twice.
  async #answer(client: Engine, run: RunHandle<unknown>, parts: readonly Node[], world: ProgramWorld): Promise<void> {
    const wants = parts.flatMap((each) => [...wantsOf(each)])
    const shuffled = wants.map((each) => ({ each, at: world.random.fraction() })).toSorted((a, b) => a.at - b.at)
    await Promise.all(
      shuffled.map(async ({ each, at }) => {
        await world.pause(at * 1_500)
        await this.#give(client, run, each, world)
        if (at < 0.2) await this.#give(client, run, each, world).catch(() => {})
      }),
    )
  }

  async #give(client: Engine, run: RunHandle<unknown>, want: Want, world: ProgramWorld): Promise<void> {
    const { n } = want
    const messageId = `m${n}`
    if (want.do === 'update') {
      const answer = await run.update(update<number, number>(`update ${n}`), n, { messageId })
      if (answer !== n + 1) world.ledger.violate(`update ${n} was answered with ${answer}`)
    } else if (want.do === 'webhook') {
      while (!this.#tokens.has(n)) await world.pause(50)
      await patiently(world, () => client.resolve(this.#tokens.get(n) ?? '', n))
    } else await run.signal(signal<number>(`signal ${n}`), n, { messageId })
  }
}

/** A caller that is told to try later does. */
async function patiently(world: ProgramWorld, call: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'TRY_LATER') throw error
      await world.pause(200)
    }
  }
}

/** Sets a list, or removes it again. */
function changeOf(n: number): AttributesChange {
  return { [`list ${n % 3}`]: n % 2 === 0 ? null : [`n${n}`, 'any'] }
}

function hasNoWebhook(node: Node): boolean {
  return [...wantsOf(node)].every((want) => want.do !== 'webhook')
}

class Interpreter {
  readonly #body: (step: ActivityContext) => Promise<void>
  readonly #activities: readonly ReturnType<typeof activity<number, number>>[]
  readonly #tokens: Map<number, string>

  constructor(
    body: (step: ActivityContext) => Promise<void>,
    activities: readonly ReturnType<typeof activity<number, number>>[],
    tokens: Map<number, string>,
  ) {
    this.#body = body
    this.#activities = activities
    this.#tokens = tokens
  }

  run(ctx: Context, node: Node): Promise<unknown> {
    if ('of' in node) return this.#compound(ctx, node)
    if (isWant(node)) return this.#wait(ctx, node)
    return isFamily(node) ? this.#family(ctx, node) : this.#own(ctx, node)
  }

  async #own(ctx: Context, node: Own): Promise<unknown> {
    switch (node.do) {
      case 'step':
        return ctx.run('step', { retry: RETRY, ...cancelled(node) }, async (step) => {
          await this.#body(step)
          if (step.attempt <= node.fails) throw new Error('not yet')
          return node.n
        })
      case 'activity': {
        const [near, far] = this.#activities
        const which = node.far ? far : near
        return which ? ctx.run(which, node.n, cancelled(node)) : undefined
      }
      case 'sleep':
        await ctx.sleep(node.ms)
        return node.n
      case 'sideEffect':
        return ctx.sideEffect(() => node.n)
      case 'late':
        return (await ctx.wait(never, { timeout: 20 })) === TIMEOUT ? node.n : 'early'
      case 'attributes':
        ctx.setAttributes({ last: node.n, ...changeOf(node.n) })
        // Warm or cold, its own code sees it at once.
        if (ctx.info.attributes['last'] !== node.n) throw new PermanentError('not found by it')
        return node.n
      case 'patched':
        return ctx.patched(`patch ${node.n}`) ? node.n : 'old'
      case 'doomed':
        return ctx.run('doomed', { retry: RETRY }, async (step) => {
          await this.#body(step)
          throw new PermanentError('doomed')
        })
    }
  }

  async #wait(ctx: Context, node: Want): Promise<unknown> {
    switch (node.do) {
      case 'signal':
        return ctx.wait(signal<number>(`signal ${node.n}`))
      case 'handled': {
        const heard: number[] = []
        ctx.on(signal<number>(`signal ${node.n}`), async (n, own) => {
          heard.push(await own.run('heed', { retry: RETRY }, async (step) => this.#body(step).then(() => n)))
        })
        await ctx.wait(() => heard.length > 0)
        return heard[0]
      }
      case 'update': {
        const done: number[] = []
        ctx.on(update<number, number>(`update ${node.n}`), async (n, own) => {
          await own.sleep(5)
          done.push(n)
          return n + 1
        })
        await ctx.wait(() => done.length > 0)
        return done[0]
      }
      case 'webhook': {
        // Settled by the same client, with a token of the same kind: of a wait, or of a step.
        if (node.n % 2 === 0) {
          return ctx.run('left', { retry: RETRY }, async (step): Promise<unknown> => {
            this.#tokens.set(node.n, await step.completionToken())
            // It may be completed before the body has ended.
            await this.#body(step)
            return step.completeLater()
          })
        }
        const hook = ctx.webhook<number>(`hook ${node.n}`)
        await ctx.run('publish', { retry: RETRY }, () => void this.#tokens.set(node.n, hook.token))
        return ctx.wait(hook)
      }
    }
  }

  async #family(ctx: Context, node: Family): Promise<unknown> {
    const child = ctx.child(patient, node.n)
    if (node.do === 'toldChild') {
      await child.signal(told, node.n)
      return child
    }
    child.cancel('no longer needed')
    return child.then(
      () => 'went',
      () => node.n,
    )
  }

  async #compound(ctx: Context, node: Compound): Promise<unknown> {
    switch (node.do) {
      case 'catch':
        try {
          return await this.run(ctx, node.of)
        } catch {
          return 'caught'
        }
      case 'shield':
        return ctx.shield((own) => this.run(own, node.of))
      case 'child':
        return ctx.child(part, node.of, { onCancel: 'wait' })
      case 'raced': {
        const first = await ctx.race({
          it: (own) => this.run(own, node.of),
          late: ctx.sleep('10h'),
          other: ctx.wait(never),
        })
        return first.winner === 'it' ? first.value : first.winner
      }
      case 'scope':
        return this.#scope(ctx, node)
      case 'seq': {
        const values: unknown[] = []
        for (const each of node.of) values.push(await this.run(ctx, each))
        return values
      }
      case 'promiseAll':
        return Promise.all(node.of.map((each) => this.run(ctx, each)))
      case 'settled': {
        const ends = await Promise.allSettled(node.of.map((each) => this.run(ctx, each)))
        return ends.map((end) => (end.status === 'fulfilled' ? end.value : 'caught'))
      }
      case 'map':
        return ctx.map(node.of, { concurrency: 2 }, (own, each) => this.run(own, each))
      case 'all': {
        const branches = node.of.map((each, n) => [`b${n}`, (own: Context) => this.run(own, each)])
        return Object.values(await ctx.all(Object.fromEntries(branches) as Record<string, never>))
      }
    }
  }

  async #scope(ctx: Context, { how, of }: Extract<Node, { do: 'scope' }>): Promise<unknown> {
    if (how === 'done') return ctx.scope('done', (own) => this.run(own, of))
    if (how === 'timeout') {
      const end = await ctx.scope('late', { timeout: 40 }, async (own) => {
        void this.run(own, of).catch(() => {})
        return own.wait(never)
      })
      return end === TIMEOUT ? 'timeout' : 'other'
    }
    const end = await ctx.scope('off', async (own) => {
      const work = this.run(own, of).catch(() => {})
      await own.run('before', { retry: RETRY }, this.#body)
      own.cancel()
      await work
      return own.wait(never)
    })
    return end === CANCELLED ? 'cancelled' : 'other'
  }
}

/** Half of what is cancelled is waited for. */
function cancelled({ n }: Own): { readonly onCancel: 'proceed' | 'wait' } {
  return { onCancel: n % 2 === 0 ? 'wait' : 'proceed' }
}
