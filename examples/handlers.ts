// Steps that need no code: a request to a service that is busy at first, with a secret the run does not know, and a
// webhook that its receiver can believe.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { open, workflow } from 'pawl'
import { callExternalService, notifyWebhook, verifyWebhook } from 'pawl/handlers'

// In a real program both belong to others, and use https.
const requests: { path: string; headers: IncomingHttpHeaders; body: string }[] = []
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  requests.push({ path: request.url ?? '', headers: request.headers, body: await text(request) })
  response.setHeader('content-type', 'application/json')
  response.statusCode = requests.length === 1 ? 503 : 200
  response.end(JSON.stringify({ receipt: 'R1' }))
}
const server = createServer((request, response) => void answer(request, response))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const guarded = { hosts: ['127.0.0.1'], allowPrivate: ['127.0.0.1'] }
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const call = callExternalService({
  ...guarded,
  secrets: { billing: 'token-of-billing' },
  activity: { retry: { initial: '50ms' } },
})
const notify = notifyWebhook({ ...guarded, secret })

const checkout = workflow('checkout', async (ctx, cents: number) => {
  const { body } = await ctx.run(call, {
    url: `${origin}/charges`,
    headers: { authorization: { secret: 'billing', prefix: 'Bearer ' } },
    body: { cents },
  })
  await ctx.run(notify, { url: `${origin}/hooks`, event: 'order.paid', payload: body })
  return body
})

const pawl = await open('sqlite:./pawl.db', { workflows: [checkout], activities: [call, notify] })
pawl.work()
const run = await pawl.start(checkout, 1999)
const result = await run.result()
let history = ''
for await (const event of run.history()) history += JSON.stringify(event)
console.log(
  result,
  requests.map(({ path }) => path),
) // { receipt: 'R1' } [ '/charges', '/charges', '/hooks' ]
await pawl.close()
server.close()

const [first, second, hook] = requests
assert.deepEqual(result, { receipt: 'R1' })
assert.equal(first?.headers['idempotency-key'], second?.headers['idempotency-key'])
assert.equal(second?.headers.authorization, 'Bearer token-of-billing')
assert.ok(!history.includes('token-of-billing'))
assert.ok(hook)
console.log('webhook', verifyWebhook(hook.headers, hook.body, secret).id)
assert.deepEqual(JSON.parse(hook.body), { type: 'order.paid', data: { receipt: 'R1' } })
