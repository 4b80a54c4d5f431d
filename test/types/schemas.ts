// Checked by the compiler and never run: a schema gives the caller one type and the function another.
import {
  type Activity,
  activity,
  type Context,
  type DeclaredWorkflow,
  type InputOf,
  type OutputOf,
  type Schema,
  type Signal,
  signal,
  typed,
  type Workflow,
  workflow,
} from 'pawl'
import { z } from 'zod'
import { type Equal, type Order, same } from './support.ts'

interface Given {
  readonly id: string
  readonly cents?: number
}
export declare const OrderSchema: Schema<Given, Order>

same<Equal<ReturnType<typeof typed<Order>>, Schema<Order>>>(true)
same<Equal<Schema<Order>, Schema<Order, Order>>>(true)
const zod: Schema<{ id: string; n?: number | undefined }, { id: string; n: number }> = z.object({
  id: z.string(),
  n: z.number().default(1),
})

// The function gets what the schema makes, the caller gives what it accepts.
export const pack = activity('pack', { input: OrderSchema, queue: 'far' }, async (order, ctx) => {
  same<Equal<typeof order, Order>>(true)
  return `${order.id} ${ctx.attempt}`
})
same<Equal<typeof pack, Activity<Given, string>>>(true)

const counted = activity('counted', { output: typed<number>() }, async (text: string) => text.length)
same<Equal<typeof counted, Activity<string, number>>>(true)

export const strict = workflow(
  'strict',
  { input: OrderSchema, output: typed<{ total: number }>(), runTimeout: '1d' },
  async (ctx, order) => {
    same<Equal<typeof order, Order>>(true)
    if (order.cents < 0) return ctx.continueAsNew({ id: order.id })
    return { total: order.cents + (await helper(ctx)) }
  },
)
same<Equal<typeof strict, Workflow<Given, { total: number }>>>(true)

const parsed = workflow('parsed', { input: zod }, async (_ctx, given) => given.n)
same<Equal<InputOf<typeof parsed>, { id: string; n?: number | undefined }>>(true)
same<Equal<OutputOf<typeof parsed>, number>>(true)

// A helper takes the `ctx` of any workflow.
async function helper(ctx: Context): Promise<number> {
  await ctx.sleep(50)
  return ctx.now()
}

// Contracts apart from their code. Literals keep their types without `as const`.
export const billContract = workflow.declare('bill', {
  input: OrderSchema,
  output: typed<{ state: 'due' | 'paid' }>(),
  priority: 5,
})
same<Equal<typeof billContract, DeclaredWorkflow<Given, { state: 'due' | 'paid' }, Order>>>(true)
export const bill = billContract.implement(async (_ctx, order) => ({
  state: order.cents > 0 ? 'due' : 'paid',
}))
same<Equal<typeof bill, Workflow<Given, { state: 'due' | 'paid' }>>>(true)

const stampContract = activity.declare('stamp', { input: OrderSchema, output: typed<number>() })
export const stamp = stampContract.implement(async (order) => order.cents)
same<Equal<typeof stamp, Activity<Given, number>>>(true)
same<Equal<Parameters<typeof stamp.handler>[0], Given>>(true)

// A signal has the type its schema accepts.
export const reply = signal('reply', typed<{ text: string }>())
same<Equal<typeof reply, Signal<{ text: string }>>>(true)
const ordered = signal('ordered', OrderSchema)
same<Equal<typeof ordered, Signal<Given>>>(true)

workflow('calls', async (ctx) => {
  const text = await ctx.run(pack, { id: 'A' })
  same<Equal<typeof text, string>>(true)
  const { state } = await ctx.child(billContract, { id: 'A' })
  same<Equal<typeof state, 'due' | 'paid'>>(true)
  const payload = await ctx.wait(ordered)
  same<Equal<typeof payload, Given>>(true)
  const hook = ctx.webhook('supplier', typed<{ ok: boolean }>())
  const answer = await ctx.wait(hook)
  same<Equal<typeof answer, { ok: boolean }>>(true)
})

// ── what must not compile ──

// @ts-expect-error a schema contract keeps its output
billContract.implement(async () => ({ state: 'lost' }))
// @ts-expect-error the function takes what the schema makes
activity('taken', { input: OrderSchema }, async (order: { id: number }) => order.id)
// @ts-expect-error the function gives what the schema of the output takes
workflow('given', { output: typed<number>() }, async () => 'text')
// @ts-expect-error a contract has both schemas or none
workflow.declare('half', { input: OrderSchema })
// @ts-expect-error what is no schema
activity('none', { input: { parse: () => 1 } }, async () => 1)
// @ts-expect-error what is no schema of a signal
signal('none', { parse: () => 1 })
// @ts-expect-error the next input is what the schema accepts
workflow('next', { input: OrderSchema }, async (ctx) => ctx.continueAsNew({ cents: 1 }))
workflow('refused', async (ctx) => {
  // @ts-expect-error the caller gives what the schema accepts
  await ctx.run(pack, { cents: 1 })
  // @ts-expect-error a signal carries what its schema accepts
  await ctx.signal('run', ordered, { id: 5 })
})
