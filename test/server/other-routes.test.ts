// D2, D3, I3, I4, I7: the routes of other engines, and webhooks as URLs.
import { activity, type Engine, open, workflow } from 'pawl'
import { server } from 'pawl/server'
import { afterEach, beforeEach, expect, test } from 'vitest'

const double = activity('double', async (given: { n: number }) => given.n * 2)
const hooked = workflow('hooked', async (ctx) => {
  const hook = ctx.webhook<unknown>('answer')
  ctx.setAttributes({ url: hook.url })
  return ctx.wait(hook)
})
const graph = {
  name: 'doubling',
  parameters: { n: { type: 'number' } },
  nodes: [{ id: 'twice', handler: 'double', with: { n: '{{ input.n }}' } }],
}

let engine: Engine
let api: ReturnType<typeof server>

beforeEach(async () => {
  engine = await open('memory:', { workflows: [hooked], activities: [double] })
  engine.work({ signals: false })
  api = server(engine, { open: true })
})

afterEach(async () => {
  await api.close()
  await engine.close()
})

async function ask(path: string, body?: unknown, headers: Record<string, string> = {}) {
  const given =
    body === undefined ? {} : { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) }
  const type = { 'content-type': 'application/json', ...headers }
  const response = await api.fetch(new Request(`http://localhost${path}`, { ...given, headers: type }))
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

test('D2, D3, I7: a graph is submitted without running, and triggered with parameters as often as it is submitted', async () => {
  const [first, second] = [await ask('/v1/workflow', graph), await ask('/v1/workflow', graph)]
  expect([first.status, first.body['workflow_definition_id']]).toEqual([201, 'doubling@1'])
  expect(second.body['workflow_definition_id']).toBe('doubling@1')
  expect(second.body['execution_id']).not.toBe(first.body['execution_id'])
  const id = String(first.body['execution_id'])
  expect((await ask(`/v1/workflow/${id}`)).body).toMatchObject({ status: 'PENDING', workflow: 'doubling' })
  expect((await ask(`/v1/workflow/trigger/${id}`, { input_params: { n: 21 } })).body).toMatchObject({
    status: 'RUNNING',
  })
  await engine.get(id).result()
  expect((await ask(`/v1/workflow/${id}`)).body).toMatchObject({ status: 'COMPLETED' })
  const { body } = await ask(`/v1/workflow/${id}/nodes`)
  expect(body['nodes']).toMatchObject([{ node_id: 'twice', status: 'COMPLETED', attempts: 1 }])
  expect(await ask('/v1/workflow', { name: 'x' })).toMatchObject({ status: 422, body: { code: 'DEFINITION_INVALID' } })
  expect(await ask(`/v1/workflow/trigger/${id}`, { params: 1 })).toMatchObject({ status: 400 })
  expect((await ask('/v1/health')).body).toMatchObject({ status: 'healthy', workers: { alive: 1, dead: [] } })
})

test('I3, I4: what operators of a fleet ask for, under the names they know', async () => {
  const run = await engine.start(hooked, undefined, { workflowId: 'h1' })
  await expect.poll(async () => (await run.why()).reason).toBe('webhook')
  expect((await ask('/api/durable/workers')).body).toMatchObject({ total: 1, summary: { active: 1, stale: 0 } })
  expect((await ask('/api/durable/workers/nobody')).status).toBe(404)
  expect((await ask('/api/durable/workflows?status=running&type=hooked')).body).toMatchObject({
    workflows: [{ id: run.runId, workflow_id: 'h1', workflow_type: 'hooked', status: 'running' }],
  })
  expect((await ask('/api/durable/workflows?status=lost')).status).toBe(400)
  const { body } = await ask(`/api/durable/workflows/${run.runId}/events`)
  expect((body['events'] as object[])[0]).toMatchObject({ type: 'RunStarted', seq: 0 })
  expect((await ask('/api/durable/health')).body).toMatchObject({ running_workflows: 1, active_workers: 1 })
  expect((await ask('/api/durable/workflows/h1/cancel', { reason: 'no need' })).status).toBe(202)
  await expect(run.result()).rejects.toThrow('no need')
  expect((await ask('/api/durable/dlq')).status).toBe(404)
})

test('a webhook is a URL: JSON or text settles it, once, without a token of the API', async () => {
  const locked = server(engine, { token: 'the-token-of-the-settings' })
  const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const request = new Request(`http://localhost${path}`, { method: 'POST', body, headers })
    return (await locked.fetch(request)).status
  }
  const json = { 'content-type': 'application/json' }
  const start = async () => {
    const run = await engine.start(hooked)
    const url = async () => (await run.describe()).attributes['url']
    await expect.poll(url).toMatch(/^\/webhooks\//)
    return { run, url: String(await url()) }
  }
  const first = await start()
  expect(await post(first.url, '{"ok":true}', { ...json, origin: 'http://localhost' })).toBe(403)
  expect((await locked.fetch(new Request(`http://localhost${first.url}`))).status).toBe(405)
  expect(await post(first.url, '{"ok":true}', json)).toBe(202)
  expect(await first.run.result()).toEqual({ ok: true })
  const second = await start()
  expect(await post(second.url, 'plain words', { 'content-type': 'text/plain' })).toBe(202)
  expect(await second.run.result()).toEqual({ contentType: 'text/plain', body: 'plain words' })
  expect(await post('/webhooks/guessed', '{}', json)).toBe(404)
  expect(await post('/webhooks', '{}', json)).toBe(404)
  expect(await post(`${second.url}/more`, '{}', json)).toBe(404)
  await locked.close()
})
