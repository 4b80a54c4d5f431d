// Three kinds of workers: which queues each serves, and which code it has. Nobody has everything.
import { type ActivityContext, activity, workflow } from '../../src/index.ts'

const retry = { initial: 20, max: 50, maxAttempts: 60 } as const

export const fetchPage = activity.declare<number, string>('fetch', { queue: 'network', retry })
export const render = activity.declare<number, string>('render', { queue: 'gpu', retry })
export const store = activity.declare<number, string>('store', { queue: 'disk', retry })

export const placed = workflow('placed', async (ctx, n: number) => {
  const page = await ctx.run(fetchPage, n)
  const [picture, stored] = await Promise.all([ctx.run(render, n), ctx.run(store, n)])
  return [page, picture, stored, await ctx.run(fetchPage, n)]
})

export const activities = { fetch: fetchPage, render, store }
export type Name = keyof typeof activities

export interface Role {
  readonly queues: readonly string[]
  readonly code: readonly Name[]
  /** Whether it has the workflow. */
  readonly holds: boolean
}

/** The third has code that it must not run: it does not serve those queues. */
export const roles: readonly Role[] = [
  { queues: ['default', 'network'], code: ['fetch'], holds: true },
  { queues: ['default', 'gpu'], code: ['render', 'fetch'], holds: true },
  { queues: ['default', 'disk'], code: ['store', 'render'], holds: true },
]

/** Code that writes down where it runs, and fails now and then. */
export function implement(name: Name, began: (name: Name) => void) {
  return activities[name].implement(async (n: number, { attempt }: ActivityContext) => {
    began(name)
    await new Promise((resolve) => setTimeout(resolve, n % 7))
    if (n % 5 === 0 && attempt === 1) throw new Error('once more')
    return `${name} ${n}`
  })
}
