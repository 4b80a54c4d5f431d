// The runs that operations are tried on: a list of parts, done one after another, whose result anybody can foretell.

import { type Clock, sleep } from '../../src/core/runtime/clock.ts'
import { type ActivityContext, activity, type OpenOptions, PermanentError, signal, workflow } from '../../src/index.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'

export const parts = ['step', 'queue', 'wait', 'nap', 'child', 'fail', 'continue'] as const
export type Part = (typeof parts)[number]

export interface Plan {
  readonly parts: readonly Part[]
  readonly start: 'now' | 'pending' | 'late'
}

interface Input {
  readonly parts: readonly Part[]
  /** What the generations before this one gave. */
  readonly before: readonly string[]
}

export const go = signal<string>('go')
export const contract = workflow.declare<Input, readonly string[]>('job')
const parcel = workflow.declare<string, string>('parcel')
export const lateMs = 700
export const napMs = 40
const RETRY = { maxAttempts: 8, initial: 10, max: 20 } as const

export function drawPlan(random: SeededRandom): Plan {
  const usual: readonly Part[] = ['step', 'step', 'wait', 'wait', 'queue', 'nap', 'child', 'fail']
  const count = 1 + random.below(4)
  const drawn = Array.from({ length: count }, () => random.pick(usual))
  const once = drawn.filter((part, n) => part !== 'fail' || drawn.indexOf('fail') === n)
  const continued = random.chance(0.2) ? [...once, 'continue' as const, 'step' as const] : once
  return { parts: continued, start: random.pick(['now', 'now', 'now', 'pending', 'late']) }
}

/** How many signals it takes to end. */
export function waitsOf({ parts }: Plan): number {
  return parts.filter((part) => part === 'wait').length
}

/** Whether this is what the run must give, if its waits got `heard`, in any order. */
export function isRight({ parts }: Plan, result: unknown, heard: ReadonlySet<string>): boolean {
  if (!Array.isArray(result)) return false
  const expected = parts.filter((part) => part !== 'continue')
  return (
    result.length === expected.length &&
    expected.every((part, n) => (part === 'wait' ? heard.has(String(result[n])) : result[n] === part))
  )
}

export interface Witness {
  readonly clock: Clock
  /** A body begins. */
  began(step: ActivityContext): void
  /** Whether the part that fails shall fail once more. */
  fails(): boolean
}

export function definitions(witness: Witness): Required<Pick<OpenOptions, 'workflows' | 'activities'>> {
  const body =
    (part: Part) =>
    async (step: ActivityContext): Promise<string> => {
      witness.began(step)
      await sleep(witness.clock, 5, step.signal)
      return part
    }
  const failing = async (step: ActivityContext): Promise<string> => {
    const done = await body('fail')(step)
    if (witness.fails()) throw new PermanentError('as planned')
    return done
  }
  const queue = activity('queue', { queue: 'other', retry: RETRY }, (_: string, step) => body('queue')(step))
  const child = parcel.implement(async (ctx) => ctx.run('seal', { retry: RETRY }, body('child')))
  const job = contract.implement(async (ctx, { parts, before }) => {
    const got = [...before]
    for (const [index, part] of parts.entries()) {
      if (part === 'step') got.push(await ctx.run('step', { retry: RETRY }, body('step')))
      if (part === 'queue') got.push(await ctx.run(queue, ''))
      if (part === 'wait') got.push(await ctx.wait(go))
      if (part === 'child') got.push(await ctx.child(parcel, ''))
      if (part === 'fail') got.push(await ctx.run('fail', { retry: RETRY }, failing))
      if (part === 'nap') {
        await ctx.sleep(napMs)
        got.push('nap')
      }
      if (part === 'continue') ctx.continueAsNew({ parts: parts.slice(index + 1), before: got })
    }
    return got
  })
  return { workflows: [job, child], activities: [queue] }
}
