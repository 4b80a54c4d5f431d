// A server, and a client that reaches it over HTTP: it starts a run, answers it, and has its result, through a restart.
import assert from 'node:assert/strict'
import { open, signal, workflow } from 'pawl'
import { connect } from 'pawl/client'
import { server } from 'pawl/server'

interface Order {
  readonly id: string
  readonly due: Date
}

const approved = signal<{ readonly by: string }>('approved')
const order = workflow('order', async (ctx, { id, due }: Order) => {
  const { by } = await ctx.wait(approved)
  return { text: `${id} approved by ${by}`, due }
})

// One process has the store, a worker and the server.
const engine = await open('sqlite:./pawl.db', { workflows: [order] })
engine.work()
const token = 'at-least-16-random-characters'
const first = server(engine, { token })
const { url, port } = await first.listen({ port: 0 })

// Another process needs only the address and a token. Dates, maps and other values arrive as they were sent.
await using pawl = connect(url, { token })
const due = new Date('2030-01-01')
const run = await pawl.start(order, { id: 'A1', due }, { workflowId: 'order-A1' })
const result = run.result()

// The server restarts. The client repeats its calls until the server is there again.
await first.close()
const second = server(engine, { token })
await second.listen({ port })

await pawl.get({ workflowId: 'order-A1' }).signal(approved, { by: 'ann' })
assert.deepEqual(await result, { text: 'A1 approved by ann', due })
console.log((await result).text, '·', (await pawl.health()).status)

await second.close()
await engine.close()
