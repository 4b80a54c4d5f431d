// Definitions and helpers as a package of users exports them, without annotations: `public-types.test.ts` writes their
// declarations, which may name only what pawl exports.
import {
  type ActivityContext,
  activity,
  type Context,
  type Engine,
  graph,
  machine,
  open,
  query,
  signal,
  TIMEOUT,
  typed,
  update,
  workflow,
} from 'pawl'
import { testEngine } from 'pawl/testing'

interface Item {
  readonly id: string
  readonly cents: number
}

export const paid = signal<{ readonly by: string }>('paid')
export const state = query<void, 'open' | 'done'>('state')
export const add = update<Item, { readonly total: number }>('add')
export const messages = { paid, state, add }

export const charge = activity('charge', async (item: Item, ctx) => `${ctx.runId}:${item.id}`)
export const parsed = activity('parsed', { input: typed<Item>() }, async ({ cents }) => cents)
export const declaredActivity = activity.declare<Item, number>('later')
export const implemented = declaredActivity.implement(({ cents }) => cents)
export const anyActivity = activity.dynamic(async (name) => name)

export const order = workflow('order', async (ctx, item: Item) => {
  const first = await ctx.race({ paid: ctx.wait(paid), late: ctx.sleep('1d') })
  const both = await ctx.all({ receipt: ctx.run(charge, item), cents: ctx.run(parsed, item) })
  const some = await ctx.map([item], { tolerate: 1 }, (own, each) => own.run(charge, each))
  const all = await ctx.map([item], (own, each) => own.run(parsed, each))
  const scoped = await ctx.scope('part', { timeout: '1h' }, (own) => own.run(charge, item))
  const waited = await ctx.wait(paid, { timeout: '1h' })
  return { first, both, some, all, scoped, waited, late: waited === TIMEOUT }
})
export const raced = workflow('raced', async (ctx) =>
  ctx.race({ one: (own) => own.run('one', () => 1), two: ctx.wait(paid) }),
)
export const declaredWorkflow = workflow.declare<Item, number>('declared')
export const implementedWorkflow = declaredWorkflow.implement(async (ctx, item) => ctx.run(parsed, item))
export const anyWorkflow = workflow.dynamic(async (ctx) => ctx.info.name)

export const begun = graph<Item>('begun').step('reserve', ({ input }) => input.id)
export const optional = begun.run(
  'charge',
  { after: ['reserve'], when: ({ results }) => results.reserve !== '' },
  charge,
  ({ input }) => input,
)
export const undone = optional.compensate(async ({ result }) => void result)
export const listed = undone
  .each('ship', { after: ['charge'], rule: 'allDone', over: () => [1, 2] }, ({ item }) => item)
  .wait('paid', { timeout: '1d' }, paid)
export const whole = listed.output(({ results }) => results.paid)

const shape = { input: typed<Item>(), state: typed<{ at: string }>(), output: typed<number>() }
export const draft = machine('draft', {
  ...shape,
  activities: { charge, parsed },
  signals: { paid },
  timers: ['late'],
})
export const finished = machine('finished', { ...shape, activities: { parsed } }).on({
  start: (item, act) => [{ at: 'parsing' }, act.run('parsed', item)],
  activityCompleted: { parsed: (now, { result }, act) => [now, act.complete(result)] },
})

export const retry = { maxAttempts: 3, initial: '1s' } as const
export const step = (ctx: Context, item: Item) => ctx.run(charge, item, { retry })
export const child = (ctx: Context, item: Item) => ctx.child(order, item)
export const bound = (ctx: Context) => ctx.bind(charge, { retry })
export const hook = (ctx: Context) => ctx.webhook<number>('hook')
export const info = (ctx: Context) => ctx.info
export const told = (ctx: ActivityContext) => ctx.client.start(order, { id: 'a', cents: 1 })

export const connect = () => open('memory:', { workflows: [order, whole, finished] })
export const start = (engine: Engine, item: Item) => engine.start(order, item)
export const many = (engine: Engine) => engine.startMany(order, [{ input: { id: 'a', cents: 1 } }])
export const handle = (engine: Engine) => engine.get({ workflowId: 'a' })
export const described = (engine: Engine) => engine.get('a').describe()
export const why = (engine: Engine) => engine.get('a').why()
export const steps = (engine: Engine) => engine.get('a').steps()
export const timeline = (engine: Engine) => engine.get('a').timeline()
export const events = (engine: Engine) => engine.get('a').history()
export const page = (engine: Engine) => engine.list({ workflow: order })
export const batch = (engine: Engine) => engine.batch({ workflow: order }, { limit: 10 })
export const outcome = (engine: Engine) => batch(engine).cancel()
export const builds = (engine: Engine) => engine.builds.list()
export const worker = (engine: Engine) => engine.work()
export const submitted = (engine: Engine) => engine.submit(whole)
export const definitions = (engine: Engine) => engine.definitions('whole')
export const schedules = (engine: Engine) => engine.schedules
export const nightly = (engine: Engine) =>
  engine.schedules.set('nightly', { cron: '@daily', workflow: order, input: { id: 'a', cents: 1 } })
export const planned = async (engine: Engine) => (await nightly(engine)).describe()
export const tested = () => testEngine({ workflows: [order] })
