// A serverless function: requests start runs, and a cron job calls `/work`, which works until nothing is due. Each call
// opens the store and releases everything, as if it had a process of its own.
import assert from 'node:assert/strict'
import { activity, open, type Worked, workflow } from 'pawl'

let calls = 0
const charge = activity('charge', { retry: { initial: '50ms' } }, async (id: string) => {
  if (++calls === 1) throw new Error('the bank is busy')
  return `receipt ${id}`
})
const order = workflow('order', async (ctx, id: string) => {
  const receipt = await ctx.run(charge, id)
  await ctx.sleep('1s')
  return `${receipt}, shipped`
})

async function handler(request: Request): Promise<Response> {
  await using pawl = await open('sqlite:./pawl.db', { workflows: [order], activities: [charge] })
  const { pathname } = new URL(request.url)
  if (pathname === '/work') {
    if (request.headers.get('authorization') !== 'Bearer secret of cron') return new Response('', { status: 401 })
    // Waits for the retry, which is due soon, and not for the timer.
    return Response.json(await pawl.workUntilIdle({ for: '10s', linger: '200ms' }))
  }
  const [, kind, id = ''] = pathname.split('/')
  assert.equal(kind, 'orders')
  const run = request.method === 'POST' ? await pawl.start(order, id, { workflowId: id }) : undefined
  const { status, output } = await pawl.get({ workflowId: id }).describe()
  return Response.json({ status, output }, { status: run ? 202 : 200 })
}

const request = async <T>(path: string, init?: RequestInit): Promise<T> =>
  (await handler(new Request(`https://shop.example${path}`, init))).json() as Promise<T>
const cron = (): Promise<Worked> => request('/work', { headers: { authorization: 'Bearer secret of cron' } })

console.log(await request('/orders/A1', { method: 'POST' })) // { status: 'pending' }
const first = await cron()
console.log(first.ended, first.steps) // idle 2: the step, and its retry
assert.deepEqual([first.ended, first.steps, first.runs], ['idle', 2, 0])

// The platform calls again when something is due.
await new Promise((resolve) => setTimeout(resolve, Date.parse(String(first.nextDue)) - Date.now()))
const second = await cron()
assert.deepEqual([second.ended, second.runs, second.nextDue], ['idle', 1, undefined])
const found = await request('/orders/A1')
assert.deepEqual(found, { status: 'completed', output: 'receipt A1, shipped' })
console.log(found)
