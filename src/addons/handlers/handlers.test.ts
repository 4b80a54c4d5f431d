// The handlers as workflows use them: by their activity, and by name alone as a graph does.
import { ActivityError, activity, workflow } from 'pawl'
import {
  type CallInput,
  type CallOutput,
  callExternalService,
  handlers,
  type WebhookInput,
  type WebhookOutput,
} from 'pawl/handlers'
import { testEngine } from 'pawl/testing'
import { expect, onTestFinished, test } from 'vitest'
import { json, serve } from '../../../test/support/handlers.ts'

const namesOf = (all: ReturnType<typeof handlers>): string[] => all.map(({ name }) => name)

test('A12, A13: handlers() gives what needs no settings, and the rest if it has them', () => {
  const email = { smtp: 'smtp://mail.test', from: 'a@b.test', templates: {} }
  expect(namesOf(handlers())).toEqual(['call_external_service', 'notify.webhook.v1'])
  expect(namesOf(handlers({ http: false, webhook: false }))).toEqual([])
  expect(namesOf(handlers({ llm: { baseUrl: 'https://llm.test/v1' }, email }))).toEqual([
    'call_external_service',
    'llm_service',
    'notify.webhook.v1',
    'notify.email.v1',
  ])
  const second = callExternalService({ name: 'call_billing', activity: { queue: 'net' } })
  expect(second).toMatchObject({ name: 'call_billing', options: { queue: 'net' } })
})

test('A12: a run waits as long as the server asks, with one key for all attempts, also after a crash', async () => {
  const statuses = [503, 429, 200]
  const server = await serve((_request, response) => {
    response.writeHead(statuses.shift() ?? 500, { 'retry-after': '1800' }).end('done')
  })
  const call = callExternalService({ allowPrivate: true })
  const order = workflow('order', async (ctx, url: string) => {
    const { status, body } = await ctx.run(call, { url, body: { id: 'A1' } })
    return { status, body, at: ctx.now() }
  })
  const engine = await testEngine({ workflows: [order], activities: [call], skipTime: false })
  onTestFinished(() => engine.close())
  const begin = engine.clock.now()
  const run = await engine.start(order, server.origin)
  await engine.idle()
  await engine.crash()
  await engine.clock.advance('29m')
  expect(server.seen.length).toBe(1)
  await engine.clock.advance('62m')
  const { at, ...result } = await run.result()
  expect(result).toEqual({ status: 200, body: 'done' })
  expect(at - begin).toBeGreaterThanOrEqual(2 * 1800 * 1000)
  const keys = server.seen.map(({ headers }) => headers['idempotency-key'])
  expect(keys).toEqual(new Array(3).fill(`${run.runId}:1:activity:call_external_service#1`))
})

test('A12, A13: by name alone, as a graph has it; a refusal is data for the code', async () => {
  const server = await serve(json({ error: 'no such order' }, 404))
  const hook = await serve(json('ok'))
  const call = activity.declare<CallInput, CallOutput>('call_external_service')
  const notify = activity.declare<WebhookInput, WebhookOutput>('notify.webhook.v1')
  const order = workflow('order', async (ctx, urls: { service: string; hook: string }) => {
    try {
      return await ctx.run(call, { url: urls.service })
    } catch (error) {
      if (!(error instanceof ActivityError)) throw error
      const { failure, attempts } = error
      const payload = { type: failure.type, attempts, details: failure.details }
      return ctx.run(notify, { url: urls.hook, event: 'order.lost', payload })
    }
  })
  const activities = handlers({ http: { allowPrivate: true }, webhook: { allowPrivate: true } })
  const engine = await testEngine({ workflows: [order], activities })
  onTestFinished(() => engine.close())
  const urls = { service: server.origin, hook: hook.origin }
  expect(await engine.execute(order, urls)).toMatchObject({ status: 200 })
  expect(JSON.parse(hook.seen[0]?.body ?? '')).toEqual({
    type: 'order.lost',
    data: {
      type: 'PermanentError',
      attempts: 1,
      details: { code: 'STATUS_REFUSED', status: 404, body: '{"error":"no such order"}' },
    },
  })
})
