// What the workers that get killed run: short runs that use every primitive. Each step gives back the number the run
// was started with, so that anybody can say what a run must end with.

import { sleep, systemClock } from '../../src/core/runtime/clock.ts'
import { type ActivityContext, activity, type OpenOptions, signal, TIMEOUT, workflow } from '../../src/index.ts'
import type { LedgerFile } from './ledger.ts'

export interface Sum {
  readonly total: number
  /** How many of the steps that must not run twice gave a result. */
  readonly once?: number
  readonly heard?: number | 'timeout'
  /** Who did each step, as its result says. */
  readonly tokens?: readonly string[]
}

/** What a step gives that nobody else could have given. */
export interface Made {
  readonly n: number
  readonly token: string
}

export const go = signal<number>('go')
export const contracts = {
  chain: workflow.declare<number, Sum>('chain'),
  mixed: workflow.declare<number, Sum>('mixed'),
  patient: workflow.declare<number, Sum>('patient'),
  family: workflow.declare<number, Sum>('family'),
  nap: workflow.declare<number, Sum>('nap'),
  trace: workflow.declare<number, Sum>('trace'),
} as const

export type Name = keyof typeof contracts

export const patienceMs = 400
// Every kill may cost an attempt, and no run may fail for that.
const RETRY = { maxAttempts: 25, initial: 10, max: 50 } as const
export const napMs = 300
/** Long enough for a run to be released, and to go on where it was kept warm. */
const traceMs = 60
export const traceSteps = 4

export function linksOf(n: number): number {
  return 3 + (n % 4)
}

/** What the result of a run must be, whatever happened to the workers. */
export function isRight(name: string, n: number, sum: Sum): boolean {
  switch (name) {
    case 'chain':
      return sum.total === n * linksOf(n)
    case 'mixed':
      return sum.total === n * (5 + (sum.once ?? Number.NaN))
    case 'patient':
    case 'nap':
      return sum.total === n * 2
    case 'trace':
      return sum.total === n * traceSteps
    case 'family':
      return sum.total === n * (linksOf(n) + 3)
    default:
      return false
  }
}

export function definitions(
  ledger: LedgerFile,
  stepMsMax: number,
): Required<Pick<OpenOptions, 'workflows' | 'activities'>> {
  const body =
    (n: number, after: readonly string[]) =>
    async (step: ActivityContext): Promise<number> => {
      const { runId, stepKey: key, attempt, maxAttempts } = step
      ledger.write({ type: 'begun', runId, key, attempt, maxAttempts, after })
      // Long enough for a kill to fall into the middle, and not always.
      const ms = Math.random() * stepMsMax
      if (ms > 2) await sleep(systemClock, ms, step.signal)
      ledger.write({ type: 'left', runId, key, attempt })
      return n
    }
  const remote = activity('remote', { queue: 'other', retry: RETRY }, (n: number, step) =>
    body(n, ['step:begin#1'])(step),
  )
  const chain = contracts.chain.implement(async (ctx, n) => {
    let total = 0
    for (let link = 0; link < linksOf(n); link++) {
      const after = link === 0 ? [] : [`step:link#${link}`]
      total += await ctx.run('link', { retry: RETRY }, body(n, after))
    }
    return { total }
  })
  const family = contracts.family.implement(async (ctx, n) => {
    const begin = await ctx.run('begin', { retry: RETRY }, body(n, []))
    const [child, far] = await Promise.all([ctx.child(contracts.chain, n), ctx.run(remote, n)])
    const after = ['step:begin#1', 'activity:remote#1']
    const end = await ctx.run('end', { retry: RETRY }, body(n, after))
    return { total: begin + child.total + far + end }
  })
  return { workflows: [chain, family, ...waiting(body)], activities: [remote] }
}

type Body = (n: number, after: readonly string[]) => (step: ActivityContext) => Promise<number>

function waiting(body: Body) {
  const mixed = contracts.mixed.implement(async (ctx, n) => {
    const first = await ctx.run('first', { retry: RETRY }, body(n, []))
    const pair = await Promise.all([
      ctx.run('left', { retry: RETRY }, body(n, ['step:first#1'])),
      ctx.run('right', { retry: RETRY }, body(n, ['step:first#1'])),
    ])
    const only = await ctx.run('only', { retry: 'none' }, body(n, ['step:left#1', 'step:right#1'])).catch(() => 0)
    await ctx.sleep(1 + (n % 60))
    const flaky = await ctx.run('flaky', { retry: RETRY }, async (step) => {
      const got = await body(n, ['step:left#1', 'step:right#1', 'step:only#1'])(step)
      if (step.attempt === 1) throw new Error('the first attempt always fails')
      return got
    })
    const last = await ctx.run('last', { retry: RETRY }, body(n, ['step:flaky#1']))
    const total = [first, ...pair, only, flaky, last].reduce((sum, each) => sum + each, 0)
    return { total, once: only === 0 ? 0 : 1 }
  })
  const patient = contracts.patient.implement(async (ctx, n) => {
    const before = await ctx.run('before', { retry: RETRY }, body(n, []))
    const got = await ctx.wait(go, { timeout: patienceMs })
    const after = await ctx.run('after', { retry: RETRY }, body(n, ['step:before#1']))
    return { total: before + after, heard: got === TIMEOUT ? 'timeout' : got }
  })
  const nap = contracts.nap.implement(async (ctx, n) => {
    const before = await ctx.run('asleep', { retry: RETRY }, body(n, []))
    await ctx.sleep(napMs)
    const after = await ctx.run('awake', { retry: RETRY }, body(n, ['step:asleep#1']))
    return { total: before + after }
  })
  return [mixed, patient, nap, traced(body)]
}

function traced(body: Body) {
  let made = 0
  return contracts.trace.implement(async (ctx, n) => {
    const tokens: string[] = []
    let total = 0
    for (let step = 1; step <= traceSteps; step++) {
      const after = step === 1 ? [] : [`step:made#${step - 1}`]
      const one = await ctx.run('made', { retry: RETRY }, async (context): Promise<Made> => {
        const got = await body(n, after)(context)
        return { n: got, token: `${process.pid}.${++made}` }
      })
      total += one.n
      tokens.push(one.token)
      await ctx.sleep(traceMs)
    }
    return { total, tokens }
  })
}
