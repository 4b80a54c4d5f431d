// A workflow under test: virtual time, stubs, a worker that dies at every await, and histories kept as files.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { activity, PawlError, signal, TIMEOUT, workflow } from 'pawl'
import { crashAtEveryAwait, readHistory, replay, testEngine } from 'pawl/testing'

const charge = activity('charge', async (cents: number) => `really charged ${cents}`)
const approval = signal<boolean>('approval')
const order = workflow('order', async (ctx, cents: number) => {
  const receipt = await ctx.run(charge, cents)
  const approved = await ctx.wait(approval, { timeout: '1h' })
  return approved === TIMEOUT ? 'nobody approved' : receipt
})

const engine = await testEngine({ workflows: [order], activities: [charge], seed: 7 })
const stub = engine.stub(charge, async (cents) => `charged ${cents}`)

// An hour passes at once. Then the same once more for every place where the worker could die.
const { crashes, output } = await crashAtEveryAwait(engine, order, 100)
console.log(`${crashes} crashes, always '${output}'; the stub was called ${stub.calls.length} times`)

// No worker runs for two hours; the next one notices the timeout.
const alone = await engine.start(order, 300)
await engine.idle()
await engine.away('2h')
console.log(await alone.result())

// As `pawl export --workflow order > orders.jsonl` would: a run that waits, to be kept beside the test.
const waiting = await engine.start(order, 200)
await engine.idle()
const lines: string[] = []
for await (const line of engine.export({ status: 'waiting' })) lines.push(line)
await writeFile('orders.jsonl', lines.join('\n'))
await waiting.signal(approval, true)
const approved = await waiting.result()
await engine.close()

// Today's code still fits what was recorded; this change would not.
await replay([order], readHistory('orders.jsonl'))
const changed = workflow('order', async (ctx, cents: number) => {
  await ctx.run('check', () => cents > 0)
  return ctx.run(charge, cents)
})
const refused = await replay([changed], readHistory('orders.jsonl')).catch((error: unknown) => error)
console.log(refused instanceof PawlError ? refused.code : refused)

assert.equal(output, 'nobody approved')
assert.ok(crashes >= 4)
assert.equal(approved, 'charged 200')
assert.ok(refused instanceof PawlError && refused.code === 'DETERMINISM')
