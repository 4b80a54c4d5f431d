// The same server inside other servers: Hono, Express and Fastify.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import type { Engine } from 'pawl'
import { server } from 'pawl/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Api, openEngine, quiet } from './support.ts'

interface Mounted {
  /** Where `/api/v1` is. */
  readonly url: string
  readonly send: (url: string, init?: RequestInit) => Promise<Response>
  readonly close: () => Promise<unknown>
}

type Mount = (api: Api) => Promise<Mounted>

async function listening(app: (...args: never[]) => unknown, below = ''): Promise<Mounted> {
  const node = createServer(app as never)
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}${below}`
  const close = (): Promise<unknown> => {
    node.closeAllConnections()
    return new Promise((resolve) => node.close(resolve))
  }
  return { url, send: fetch, close }
}

const ways: Readonly<Record<string, Mount>> = {
  Hono: async (api) => {
    const app = new Hono()
    app.all('/api/*', (c) => api.fetch(c.req.raw))
    const send = async (url: string, init?: RequestInit): Promise<Response> => app.request(new Request(url, init))
    return { url: 'http://localhost', send, close: async () => {} }
  },
  'Hono below a path': async (api) => {
    const app = new Hono()
    app.mount('/pawl', api.fetch)
    const send = async (url: string, init?: RequestInit): Promise<Response> => app.request(new Request(url, init))
    return { url: 'http://localhost/pawl', send, close: async () => {} }
  },
  'Express 5': (api) => listening(express().use(api.node)),
  'Express 5 at the path of the API': (api) => listening(express().use('/api', api.node)),
  'Express 5 below a path': (api) => listening(express().use('/pawl', api.node).use(express.json()), '/pawl'),
  'Fastify 5': async (api) => {
    const app = fastify()
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', (_request, _body, done) => done(null))
      scope.all('/api/*', (request, reply) => {
        reply.hijack()
        api.node(request.raw, reply.raw)
      })
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url, send: fetch, close: () => app.close() }
  },
  Node: (api) => listening(api.node),
}

let engine: Engine

beforeAll(async () => {
  engine = await openEngine()
})

afterAll(() => engine.close())

describe.each(Object.entries(ways))('%s', (_, mount) => {
  test('a request, a result, a refusal, an abort', async () => {
    const api = server(engine, { open: true, logger: quiet })
    const { url, send, close } = await mount(api)
    const post = (path: string, body: unknown, more: RequestInit = {}): Promise<Response> =>
      send(`${url}/api/v1${path}`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
        ...more,
      })
    const started = await post('/runs', { workflow: 'double', input: 1 })
    expect(started.status).toBe(201)
    const { runId } = (await started.json()) as { runId: string }
    const result = await send(`${url}/api/v1/runs/${runId}/result?wait=10s`)
    expect(await result.json()).toMatchObject({ status: 'completed', output: 2 })
    const exported = await send(`${url}/api/v1/runs/export?workflow=double`)
    expect(await exported.text()).toContain(runId)
    const missing = await send(`${url}/api/v1/runs/w:none`)
    expect(missing.status).toBe(404)
    expect(missing.headers.get('content-type')).toBe('application/problem+json')
    expect((await post('/runs', { workflow: 'double', input: 'x'.repeat(3_000_000) })).status).toBe(413)

    const waiting = (await (await post('/runs', { workflow: 'waits' })).json()) as { runId: string }
    const gone = new AbortController()
    const wait = send(`${url}/api/v1/runs/${waiting.runId}/result?wait=60s`, { signal: gone.signal })
    setTimeout(() => gone.abort(), 200)
    const ended = await wait.then(
      ({ status }) => status,
      (error: Error) => error.name,
    )
    expect(['AbortError', 503]).toContain(ended)
    // It would wait for requests in progress.
    const begun = performance.now()
    await api.close()
    expect(performance.now() - begun).toBeLessThan(2_000)
    await close()
  })
})

test('a body that Express has parsed is refused, with what to do', async () => {
  const api = server(engine, { open: true, logger: quiet })
  const { url, close } = await listening(express().use(express.json()).use(api.node))
  const answer = await fetch(`${url}/api/v1/runs`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ workflow: 'double', input: 1 }),
  })
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({
    code: 'INPUT_INVALID',
    detail: expect.stringContaining('express.json()'),
  })
  expect((await fetch(`${url}/api/v1/me`)).status).toBe(200)
  await close()
  await api.close()
})

test('a body that was read before `fetch` is refused, with what to do', async () => {
  const api = server(engine, { open: true, logger: quiet })
  const headers = { 'content-type': 'application/json' }
  const request = new Request('http://localhost/api/v1/runs', { method: 'POST', headers, body: '{}' })
  await request.text()
  const answer = await api.fetch(request)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ detail: expect.stringContaining('before body parsers') })
  await api.close()
})
