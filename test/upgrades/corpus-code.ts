// The workflows whose histories are kept: every style and primitive. Their code must stay as it is, because the histories
// of earlier releases are replayed with it.
import {
  activity,
  CANCELLED,
  graph,
  machine,
  PermanentError,
  query,
  signal,
  TIMEOUT,
  typed,
  update,
  workflow,
} from '../../src/index.ts'

export const go = signal<number>('go')
export const add = update<number, number>('add')
export const total = query<undefined, number>('total')
const charge = activity('charge', { retry: { maxAttempts: 3, initial: '1s' } }, async (cents: number, { attempt }) => {
  if (attempt === 1) throw new Error('the bank is busy')
  return `charged ${cents}`
})
const decline = activity('decline', async () => {
  throw new PermanentError('declined')
})
const far = activity('far', { queue: 'far' }, async (text: string) => `${text} from afar`)
const undo = activity('undo', async (what: string) => `undid ${what}`)
const slow = activity('slow', async (_: void, ctx) => {
  await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve, { once: true }))
})

const child = workflow('child', async (ctx, n: number) => {
  if (n < 0) throw new PermanentError('below zero')
  return ctx.run('double', () => n * 2)
})

/** Steps, retries, timers, children, concurrency, messages, attributes and patches. */
const everything = workflow('everything', async (ctx, n: number) => {
  let sum = n
  ctx.on(
    add,
    {
      validate: (more: number) => {
        if (more > 100) throw new Error('too much')
      },
    },
    (more: number) => {
      if (more < 0) throw new PermanentError('below zero')
      return (sum += more)
    },
  )
  ctx.on(total, () => sum)
  ctx.setAttributes({ region: 'eu', tags: ['a', 'b'], at: new Date(0) })
  const once = await ctx.sideEffect(() => 42)
  const first = await ctx.run(charge, n)
  const [left, right] = await Promise.all([ctx.run('left', () => 1), ctx.run(far, 'right')])
  await ctx.sleep('5s')
  const doubled = await ctx.child(child, n)
  const failed = await ctx.child(child, -1).catch(() => 'failed')
  const refused = await ctx.run(decline).catch(() => 'declined')
  const mapped = await ctx.map([1, 2, 3], { concurrency: 2 }, async (own, each) => own.run('each', () => each * 10))
  const raced = await ctx.race({ fast: (own) => own.sleep('1s').then(() => 'fast'), slow: (own) => own.run(slow) })
  const late = await ctx.wait(go, { timeout: '10s' })
  const patched = ctx.patched('new-way')
  if (patched) await ctx.run('new way', () => true)
  const value = await ctx.wait(go)
  await ctx.wait(() => sum > n)
  ctx.setAttributes({ tags: null })
  const list = { once, first, left, right, doubled, failed, refused, mapped, raced: Object.keys(raced) }
  return { ...list, late: late === TIMEOUT ? 'late' : late, value, sum, map: new Map([[1, new Date(0)]]), big: 10n }
})

const hooked = workflow('hooked', async (ctx) => {
  const hook = ctx.webhook<number>('hook')
  ctx.setAttributes({ token: hook.token })
  return ctx.wait(hook)
})

const booking = workflow('booking', (ctx, fails: boolean) =>
  ctx.saga(async (saga) => {
    for (const what of ['flight', 'hotel']) {
      await saga.run(`book ${what}`, () => what)
      saga.compensate((own) => own.run(undo, what))
    }
    return fails ? saga.run(decline) : 'booked'
  }),
)

const loop = workflow('loop', async (ctx, left: number) => {
  await ctx.run('round', () => left)
  const heard = await ctx.wait(go, { timeout: '1m' })
  if (left > 0) return ctx.continueAsNew(left - 1)
  return heard === TIMEOUT ? 'timeout' : heard
})

const parent = workflow('parent', async (ctx) => {
  const run = await ctx.child(waiter, undefined).catch((error: unknown) => String(error))
  return ctx.run('after', () => run)
})
const waiter = workflow('waiter', async (ctx) => ctx.wait(go))

const cleans = workflow('cleans', async (ctx) => {
  try {
    await ctx.scope('held', { timeout: '1h' }, async (own) => own.wait(go))
  } catch (error) {
    await ctx.shield(async (own) => own.run('clean up', () => 'clean'))
    throw error
  }
})

const sender = workflow('sender', async (ctx, to: string) => {
  await ctx.signal({ workflowId: to }, go, 7)
  return ctx.run('sent', () => to === String(CANCELLED))
})

const pipeline = graph<{ items: number[]; skips: boolean }>('pipeline')
  .step('validate', ({ input }) => input.items.length)
  .each('each', { after: ['validate'], over: ({ input }) => input.items }, ({ item }) => item * 2)
  .step('optional', { after: ['validate'], when: ({ input }) => !input.skips }, () => 'done')
  .step('busy', { after: ['validate'], retry: { maxAttempts: 2, initial: '1s' } }, ({ attempt }) => {
    if (attempt === 1) throw new Error('busy')
    return 'calm'
  })
  .wait('approval', { after: ['each', 'busy'], timeout: '7d' }, go)
  .step('ship', { after: ['approval', 'optional'], rule: 'noneFailed', delay: '1s' }, ({ results }) => results.approval)
const broken = graph<number>('broken')
  .step('reserve', () => 'shelf')
  .compensate(() => {})
  .step('pay', { after: ['reserve'], retry: 'none' }, () => {
    throw new PermanentError('declined')
  })

type Turn = { readonly at: 'thinking' | 'waiting'; readonly calls: number }
const agent = machine('agent', {
  input: typed<string>(),
  state: typed<Turn>(),
  output: typed<string>(),
  activities: { charge, decline },
  signals: { go },
  timers: ['deadline'],
}).on({
  start: (_, act) => [{ at: 'thinking', calls: 0 }, act.run('charge', 5), act.timer('deadline', '1h')],
  activityCompleted: {
    charge: (state, _, act) => [{ ...state, calls: 1 }, act.run('decline')],
    decline: (state) => [state],
  },
  activityFailed: (state) => [{ ...state, at: 'waiting' }],
  timerFired: { deadline: (state, act) => [state, act.complete('late')] },
  signal: { go: (state, n, act) => [state, act.complete(`${state.calls} ${n}`)] },
})

export const flows = {
  everything,
  child,
  hooked,
  booking,
  loop,
  parent,
  waiter,
  cleans,
  sender,
  pipeline,
  broken,
  agent,
}
export const code = { workflows: Object.values(flows), activities: [charge, decline, far, undo, slow] }
