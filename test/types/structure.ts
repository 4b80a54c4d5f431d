// Checked by the compiler and never run: races, joins, maps and scopes are typed by their branches.
import {
  CANCELLED,
  type Cancelled,
  type OutputOf,
  type Scope,
  type Settled,
  TIMEOUT,
  type Timeout,
  workflow,
} from 'pawl'
import { approval, charge, nudge, page, ping } from './definitions.ts'
import { type Equal, type Order, same } from './support.ts'

// The winner tells the type of the value; a branch may be a function with a `ctx` of its own.
export const raced = workflow('raced', async (ctx, order: Order) => {
  const first = await ctx.race({
    paid: ctx.run(charge, order),
    answered: ctx.wait(approval),
    late: ctx.sleep('15m'),
    slow: async (own) => {
      await own.sleep('1h', { key: 'slow' })
      return 7
    },
  })
  switch (first.winner) {
    case 'paid':
      return first.value.paymentId
    case 'answered':
      return first.value.approved ? 'yes' : 'no'
    case 'late':
      same<Equal<typeof first.value, void>>(true)
      return 'late'
    case 'slow':
      return first.value.toFixed(2)
  }
})
same<Equal<OutputOf<typeof raced>, string>>(true)

export const joined = workflow('joined', async (ctx, orders: Order[]) => {
  const both = await ctx.all({
    pong: ctx.run(ping),
    paid: ctx.run(charge, order),
    n: async () => 3,
  })
  same<Equal<typeof both, { pong: string; paid: { paymentId: string }; n: number }>>(true)
  const paid = await ctx.map(orders, { concurrency: 20 }, (own, each) => own.run(charge, each))
  same<Equal<typeof paid, { paymentId: string }[]>>(true)
  const plain = await ctx.map(orders, async (_own, { id }, index) => `${id}${index}`)
  same<Equal<typeof plain, string[]>>(true)
  const some = await ctx.map(orders, { concurrency: 20, tolerate: '10%', key: ({ id }) => id }, (own, each) =>
    own.run(charge, each, { was: 'pay', ifPast: 'run' }),
  )
  same<Equal<typeof some, Settled<{ paymentId: string }>[]>>(true)
  const [first] = some
  if (first?.ok) same<Equal<typeof first.value, { paymentId: string }>>(true)
  else same<Equal<NonNullable<typeof first>['failure']['type'], string>>(true)
  return [both.n, paid.length, plain.length] as const
})
declare const order: Order
same<Equal<OutputOf<typeof joined>, readonly [number, number, number]>>(true)

// A scope may end in other ways than well, and its type says so.
export const careful = workflow('careful', async (ctx) => {
  const outcome = await ctx.scope('pay', { timeout: '1h' }, async (own) => {
    same<Equal<typeof own, Scope>>(true)
    own.on(nudge, () => own.cancel('asked'))
    return own.run(charge, order)
  })
  same<Equal<typeof outcome, { paymentId: string } | Cancelled | Timeout>>(true)
  if (outcome === CANCELLED || outcome === TIMEOUT) return ctx.shield((own) => own.run(ping))
  const untimed = await ctx.scope('rest', async (own) => own.cancelled)
  same<Equal<typeof untimed, boolean | Cancelled>>(true)
  return outcome.paymentId
})
same<Equal<OutputOf<typeof careful>, string>>(true)

// ── what must not compile ──

declare const foreign: Promise<number>
workflow('negatives', async (ctx) => {
  // @ts-expect-error a promise that is not of ctx cannot be raced
  await ctx.race({ other: foreign })
  // @ts-expect-error nor joined
  await ctx.all({ other: foreign })
  const first = await ctx.race({ a: ctx.run(ping), b: ctx.sleep('1s') })
  // @ts-expect-error no such branch
  if (first.winner === 'c') return
  // @ts-expect-error the value belongs to its branch
  if (first.winner === 'b') first.value.toUpperCase()
  // @ts-expect-error a tolerance is a number or a share
  await ctx.map([1], { tolerate: 'some' }, async (_own, n) => n)
  // @ts-expect-error the key of an item is a text
  await ctx.map([1], { key: (n) => n }, async (_own, n) => n)
  // @ts-expect-error what is tolerated must be looked at
  const sum: number[] = await ctx.map([1], { tolerate: 1 }, async (_own, n) => n)
  // @ts-expect-error a scope may end cancelled
  const scoped: number = await ctx.scope('s', async () => 1)
  // @ts-expect-error a scope's time is a duration
  await ctx.scope('s', { timeout: 'soon' }, async () => 1)
  // @ts-expect-error only a scope can be cancelled
  ctx.cancel('now')
  void [sum, scoped]
})

// A generic call cannot be inferred from its own result; a bound one can, and so can a branch that is a function.
workflow('loops', async (ctx) => {
  let cursor: string | null = null
  do {
    // @ts-expect-error the compiler's own limit (TS7022): use ctx.bind
    const got = await ctx.run(page, { cursor })
    cursor = got.next
  } while (cursor !== null)
  const read = ctx.bind(page, { startToClose: '1m' })
  do {
    const got = await read({ cursor })
    cursor = got.next
  } while (cursor !== null)
  do {
    const first = await ctx.race({
      page: async (own) => own.run(page, { cursor }),
      late: ctx.sleep('1h'),
    })
    cursor = first.winner === 'page' ? first.value.next : null
  } while (cursor !== null)
})
