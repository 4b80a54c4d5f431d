// Workflows that can be in every state while they move, and a count of the steps that ran.
import { activity, type RetryPolicy, signal, workflow } from 'pawl'

export const go = signal<string>('go')

/** How often each step has run, by its run and name. */
export type Ran = Map<string, number>

export function definitionsOf(ran: Ran) {
  const count = (runId: string, name: string): number => {
    const key = `${runId} ${name}`
    ran.set(key, (ran.get(key) ?? 0) + 1)
    return ran.get(key) ?? 0
  }
  const step = activity('step', async (name: string, ctx) => count(ctx.runId, name))
  const far = activity('far', { queue: 'far' }, async (name: string, ctx) => count(ctx.runId, name))
  const retry: RetryPolicy = { maxAttempts: 3, initial: '300ms' }
  const shaky = activity('shaky', { retry }, async (_: null, ctx) => {
    count(ctx.runId, 'shaky')
    if (ctx.attempt === 1) throw new Error('not at once')
    return ctx.attempt
  })
  const waits = workflow('waits', async (ctx) => {
    const before = await ctx.run(step, 'before')
    return [before, await ctx.wait(go), await ctx.run(step, 'after')]
  })
  const sleeps = workflow('sleeps', async (ctx) => {
    await ctx.run(step, 'before')
    await ctx.sleep('500ms')
    return ctx.run(step, 'after')
  })
  const parent = workflow('parent', async (ctx) => ctx.child(waits, undefined, { workflowId: 'the-child' }))
  const queues = workflow('queues', async (ctx) => [await ctx.run(step, 'before'), await ctx.run(far, 'far')])
  const retries = workflow('retries', async (ctx) => ctx.run(shaky, null))
  const fails = workflow('fails', async (): Promise<never> => {
    throw new Error('as it should')
  })
  return {
    workflows: [waits, sleeps, parent, queues, retries, fails],
    activities: [step, far, shaky],
    waits,
    sleeps,
    parent,
    queues,
    retries,
    fails,
  }
}
