// Checked by the compiler and never run: the engine for tests is typed by what it is given.
import type { InputOf, OutputOf } from 'pawl'
import { crashAtEveryAwait, readHistory, replay, type Stub, type TestEngine, testEngine } from 'pawl/testing'
import { approval, charge, checkout, ping, report, sort } from './definitions.ts'
import { pack } from './schemas.ts'
import { type Equal, type Order, same } from './support.ts'

export async function positives(): Promise<void> {
  const engine = await testEngine({ workflows: [checkout], activities: [charge], seed: 7 })
  same<Equal<typeof engine, TestEngine>>(true)
  const stub = engine.stub(charge, async (order) => ({ paymentId: `p-${order.id}` }))
  same<Equal<typeof stub, Stub<Order>>>(true)
  same<Equal<(typeof stub.calls)[number], Order>>(true)
  // Literals keep their types; a stub gets what the code gave, before any schema.
  engine.stub(sort, async ({ by }) => ({ at: by === 'asc' ? 'new' : 'old' }))
  const packed = engine.stub(pack, ({ id, cents = 1 }) => `${id} ${cents}`)
  same<Equal<typeof packed, Stub<InputOf<typeof pack>>>>(true)
  const run = await engine.start(checkout, { id: 'A', cents: 1 })
  await run.signal(approval, { approved: true })
  await engine.clock.advance('10m')
  await engine.idle()
  await engine.crash()
  stub.restore()
  const { crashes, output } = await crashAtEveryAwait(engine, checkout, { id: 'A', cents: 1 })
  same<Equal<typeof crashes, number>>(true)
  same<Equal<typeof output, OutputOf<typeof checkout> | undefined>>(true)
  await crashAtEveryAwait(engine, report)
  await replay([checkout, charge], readHistory('checkout.jsonl'))
}

// ── what must not compile ──

export async function negatives(engine: TestEngine): Promise<void> {
  // @ts-expect-error a stub answers as the activity would
  engine.stub(charge, async () => ({ paymentId: 5 }))
  // @ts-expect-error a stub takes what the activity takes
  engine.stub(charge, async (order: { name: string }) => ({ paymentId: order.name }))
  // @ts-expect-error a workflow has no stub
  engine.stub(checkout, async () => ({ status: 'late' }))
  // @ts-expect-error a workflow that needs an input needs it however often it crashes
  await crashAtEveryAwait(engine, checkout)
  // @ts-expect-error a history is replayed with definitions
  await replay(['checkout'], readHistory('checkout.jsonl'))
  // @ts-expect-error time passes by durations
  await engine.clock.advance('soon')
  // @ts-expect-error a store is named by its URL
  await testEngine({ store: 'memory' })
  // @ts-expect-error an activity is not a workflow
  await testEngine({ workflows: [ping] })
}
