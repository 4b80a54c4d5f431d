// Checked by the compiler and never run: the results of the steps a step comes after are typed in its handler, and what is
// not there cannot be named.
import { type Engine, graph, type InputOf, type OutputOf, query, signal, type Timeout, type Workflow } from 'pawl'
import { z } from 'zod'
import { charge, checkout, treeContract } from './definitions.ts'
import { type Equal, same } from './support.ts'

const approval = signal<{ by: string }>('approval')

export const fulfilment = graph<{ orderId: string; items: string[] }>('order_fulfilment')
  .step('validate', ({ input, attempt }) => ({ cents: input.items.length * 100, attempt }))
  .step('reserve', { after: ['validate'], retry: { maxAttempts: 3 }, queue: 'stock' }, async ({ results }) => {
    same<Equal<typeof results, { readonly validate: { cents: number; attempt: number } }>>(true)
    return { hold: results.validate.cents }
  })
  .compensate(async ({ result, input }) => {
    same<Equal<typeof result, { hold: number }>>(true)
    same<Equal<typeof input, { orderId: string; items: string[] }>>(true)
  })
  .run('charge', { after: ['validate'] }, charge, ({ input, results }) => ({
    id: input.orderId,
    cents: results.validate.cents,
  }))
  .wait('approved', { after: ['validate'], timeout: '7d' }, approval)
  .wait('certain', { after: ['validate'] }, approval)
  .each('pack', { after: ['reserve'], over: ({ input }) => input.items, parallel: 4 }, ({ item, index }) => {
    same<Equal<typeof item, string>>(true)
    same<Equal<typeof index, number>>(true)
    return item.length
  })
  .step('gift', { after: ['validate'], when: ({ results }) => results.validate.cents > 500 }, () => 'card')
  .step('wrap', { after: ['gift'] }, ({ results }) => results.gift.length)
  .step('audit', { after: ['pack', 'gift'], rule: 'allDone' }, ({ results }) => {
    same<Equal<typeof results.pack, number[] | undefined>>(true)
    return results.gift ?? 'none'
  })
  .step('alarm', { after: ['pack'], rule: 'oneFailed' }, () => true)
  .run('tree', { after: ['pack'] }, treeContract, () => ({ depth: 1 }))
  .output(({ results }) => {
    same<Equal<typeof results.approved, { by: string } | Timeout>>(true)
    same<Equal<typeof results.certain, { by: string }>>(true)
    // What may be skipped may be missing: by its own condition, that of a step before it, or a rule that may not hold.
    same<Equal<typeof results.gift, string | undefined>>(true)
    same<Equal<typeof results.wrap, number | undefined>>(true)
    same<Equal<typeof results.alarm, boolean | undefined>>(true)
    same<Equal<typeof results.audit, string>>(true)
    same<Equal<typeof results.tree, number>>(true)
    return { packed: results.pack, gift: results.gift }
  })

same<Equal<InputOf<typeof fulfilment>, { orderId: string; items: string[] }>>(true)
same<Equal<OutputOf<typeof fulfilment>, { packed: number[]; gift: string | undefined }>>(true)

export const checked = graph('checked', {
  input: z.object({ n: z.number() }),
  runTimeout: '1h',
}).step('only', ({ input }) => input.n)
same<Equal<OutputOf<typeof checked>, { readonly only: number }>>(true)

export const ownFailure = graph('own')
  .step('charge', () => 5)
  .compensate({ ownFailure: true, retry: 'none' }, ({ result }) => {
    same<Equal<typeof result, number | undefined>>(true)
  })

export async function uses(engine: Engine): Promise<void> {
  const run = await engine.start(fulfilment, { orderId: 'A', items: [] })
  same<Equal<Awaited<ReturnType<typeof run.result>>, { packed: number[]; gift: string | undefined }>>(true)
  await run.query(query<void, { name: string; status: string }[]>('steps'))
  await run.migrate({
    definitionHash: fulfilment.definitionHash,
    steps: { old: 'new', gone: null },
  })
  const parsed: Workflow<never, unknown> = graph.parse('name: x')
  const submitted = await engine.submit(parsed)
  same<Equal<typeof submitted.version, number>>(true)
  const pending = await engine.start(submitted, { any: 'thing' }, { pending: true })
  await pending.trigger({ other: 1 })
  await engine.builds.rollOut('b2', 10)
}

export function negatives(): void {
  const base = graph<{ n: number }>('base')
    .step('a', () => 'a')
    .step('b', () => 2)
  // @ts-expect-error there is no such step
  base.step('c', { after: ['z'] }, () => 1)
  // @ts-expect-error a step has one name
  base.step('a', () => 1)
  // @ts-expect-error it does not come after b
  base.step('c', { after: ['a'] }, ({ results }) => results.b)
  // @ts-expect-error it comes after nothing
  base.step('c', ({ results }) => results.a)
  // @ts-expect-error the input of the activity is another
  base.run('c', { after: ['a'] }, charge, ({ results }) => ({ id: results.a }))
  // @ts-expect-error the input of the workflow is another
  base.run('c', {}, checkout, () => 5)
  // @ts-expect-error an item is what the list has
  base.each('c', { over: () => [1, 2] }, ({ item }) => item.toUpperCase())
  // @ts-expect-error there is no such rule
  base.step('c', { after: ['a'], rule: 'mostSucceeded' }, () => 1)
  // @ts-expect-error a condition says true or false
  base.step('c', { after: ['a'], when: () => 'yes' }, () => 1)
  // @ts-expect-error under another rule a result may be missing
  base.step('c', { after: ['a'], rule: 'allDone' }, ({ results }) => results.a.length)
  // @ts-expect-error only a step can be undone
  base.output(() => 1).compensate(() => {})
  // @ts-expect-error what undoes a step runs where the run is
  base.step('c', () => 1).compensate({ queue: 'other' }, () => {})
  // @ts-expect-error it is a signal that is waited for
  base.wait('c', { timeout: '1s' }, charge)
}
