// Every operation over HTTP, on a server that listens; and what HTTP asks of a server besides.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { open, signal } from 'pawl'
import { encrypt } from 'pawl/codecs'
import { server } from 'pawl/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { type OperationName, type Route, routes } from '../../src/operations/routes.ts'
import { document, validator } from './answers.ts'
import { json, type Raw, sendRaw } from './raw-requests.ts'
import {
  type Answer,
  answerOf,
  callerOf,
  charge,
  type Input,
  openWorld,
  quiet,
  samples,
  type World,
  wireOf,
  workflows,
} from './support.ts'

let world: World
let url: string
let port: number
let token: string
const check = validator()
/** Operations that succeeded. */
const succeeded = new Set<OperationName>()

beforeAll(async () => {
  world = await openWorld({ origins: ['https://app.example'] })
  token = (await world.api.tokens.create({ name: 'tests', scope: 'admin', namespace: 'default' })).token
  const listening = await world.api.listen({ port: 0 })
  url = listening.url
  port = listening.port
})

afterAll(() => world[Symbol.asyncDispose]())

function raw(request: Raw): Promise<Answer> {
  return sendRaw(port, token, request)
}

async function call(
  name: OperationName,
  input: Input = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const { method, target, ...rest } = wireOf(name, input, { authorization: `Bearer ${token}`, ...headers })
  const response = await fetch(url + target, {
    method,
    headers: rest.headers,
    ...(rest.body !== undefined && { body: rest.body }),
  })
  const answer = await answerOf(response)
  expect(check({ name, method }, answer), name).toBeUndefined()
  return answer
}

/** Calls an operation, and expects what its description promises. */
async function ok(
  name: OperationName,
  input: Input = {},
  status: number = routes[name].success,
): Promise<Answer['json']> {
  const answer = await call(name, input)
  expect(answer.status, `${name}: ${answer.text}`).toBe(status)
  succeeded.add(name)
  return answer.json
}

const start = async (workflow: string, more: Input = {}): Promise<string> =>
  String((await ok('runs.start', { workflow, ...more }))['runId'])

describe('I3 I7: every operation, called successfully', () => {
  test('runs: start, wait, read', async () => {
    const started = await ok('runs.start', { workflow: 'double', input: 1, wait: '10s' })
    expect(started).toMatchObject({ isNew: true, outcome: { status: 'completed', output: 2 } })
    const run = started['runId']
    expect(await ok('runs.get', { run })).toMatchObject({ status: 'completed', input: 1, output: 2 })
    expect(await ok('runs.result', { run, wait: '5s' })).toMatchObject({ status: 'completed', output: 2 })
    expect((await ok('runs.history', { run, limit: 1 }))['next']).toBe(0)
    expect(JSON.stringify(await ok('runs.history', { run, payloads: false }))).not.toContain('"output"')
    await ok('runs.steps', { run })
    await ok('runs.timeline', { run })
    expect(await ok('streams.list', { run })).toEqual({ items: [] })
    expect(await ok('streams.read', { run, name: 'tokens' })).toEqual({ items: [], parts: [], closed: true })
    await ok('runs.why', { run })
    const { items } = await ok('runs.whyMany', { runs: [run, 'w:none'] })
    expect(items).toMatchObject([
      { run, why: {} },
      { run: 'w:none', error: { code: 'RUN_NOT_FOUND' } },
    ])
    expect(await ok('runs.list', { workflow: 'double', status: ['completed'], limit: 1 })).toMatchObject({
      items: [{ runId: run }],
    })
    expect(await ok('runs.count', { workflow: 'double' })).toEqual({ count: 1 })
    expect(await ok('runs.groups', { by: 'status', workflow: 'double' })).toMatchObject({
      items: [{ key: 'completed', count: 1 }],
    })
    const exported = await call('runs.export', { workflow: 'double' })
    expect(exported.status).toBe(200)
    expect(exported.headers.get('content-type')).toBe('application/x-ndjson')
    expect(
      exported.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([{ status: 'completed' }])
    succeeded.add('runs.export')
  })

  test('runs: messages', async () => {
    const run = await start('waits', { input: 5 })
    const { messageId, result } = await ok('runs.update', { run, name: 'add', payload: 2, wait: '10s' })
    expect(result).toBe(7)
    expect(await ok('runs.updateResult', { run, messageId })).toEqual({ messageId, result: 7 })
    expect(await ok('runs.query', { run, name: 'total' })).toEqual({ result: 7 })
    expect(await ok('runs.signal', { run, name: 'go', payload: null })).toEqual({ accepted: true })
    expect(await ok('runs.result', { run, wait: '10s' })).toMatchObject({ status: 'completed', output: 7 })
    const late = await call('runs.result', { run: await start('waits'), wait: '1ms' })
    expect(late).toMatchObject({ status: 202, json: { status: 'live', why: {} } })
    const many = await ok('runs.startMany', { workflow: 'double', runs: [{ input: 1 }, { input: 2 }] })
    expect(many).toMatchObject({ items: [{ isNew: true }, { isNew: true }] })
    const sign = { workflow: 'waits', workflowId: 'sws', signal: 'go' }
    await ok('runs.signalWithStart', sign)
    const add = { workflow: 'waits', workflowId: 'uws', update: 'add', payload: 3, input: 1, wait: '10s' }
    expect(await ok('runs.updateWithStart', add)).toMatchObject({ isNew: true, result: 4 })
    expect(await ok('runs.updateWithStart', add, 200)).toMatchObject({ isNew: false, result: 7 })
    const pending = await start('double', { input: 3, pending: true })
    await ok('runs.trigger', { run: pending, input: 4 })
    expect(await ok('runs.result', { run: pending, wait: '10s' })).toMatchObject({ output: 8 })
  })

  test('runs: operate', async () => {
    const [cancelled, terminated, paused] = [await start('waits'), await start('waits'), await start('waits')]
    await ok('runs.cancel', { run: cancelled, reason: 'a test' })
    expect(await ok('runs.result', { run: cancelled, wait: '10s' })).toMatchObject({
      status: 'cancelled',
      reason: 'a test',
    })
    await ok('runs.terminate', { run: terminated, reason: 'a test' })
    expect(await ok('runs.result', { run: terminated, wait: '10s' })).toMatchObject({ status: 'failed' })
    await ok('runs.pause', { run: paused, note: 'a test' })
    await expect.poll(async () => (await ok('runs.get', { run: paused }))['status']).toBe('paused')
    await ok('runs.resume', { run: paused })
    const failed = await start('fails')
    expect(await ok('runs.result', { run: failed, wait: '10s' })).toMatchObject({
      status: 'failed',
      failure: { message: 'as planned' },
    })
    await ok('runs.retry', { run: failed })
    await ok('runs.result', { run: failed, wait: '10s' })
    await ok('runs.reset', { run: failed, step: 'charge' })
    await ok('runs.result', { run: failed, wait: '10s' })
    const { runId } = await ok('runs.fork', { run: failed, step: 'charge' })
    expect(runId).not.toBe(failed)
  })

  test('runs: discard what cannot be read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-http-'))
    const keyed = (byte: number) => [encrypt({ keys: { k1: new Uint8Array(32).fill(byte) }, current: 'k1' })]
    const opened = (byte: number) =>
      open(`sqlite:${join(folder, 'pawl.db')}`, { workflows, activities: [charge], codecs: keyed(byte), logger: quiet })
    const [engine, stranger] = [await opened(1), await opened(2)]
    engine.work({ signals: false })
    const api = server(engine, { open: true })
    const caller = callerOf(api)
    const { runId: run } = (await caller('runs.start', { workflow: 'waits' })).json
    await stranger.get(String(run)).signal(signal<number>('other'), 1, { messageId: 'm1' })
    await expect
      .poll(async () => (await caller('runs.why', { run })).json['messageId'], { timeout: 10_000 })
      .toBe('signal:m1')
    const answer = await caller('runs.discard', { run, messageId: 'signal:m1', note: 'a test' })
    expect(check({ name: 'runs.discard', method: 'POST' }, answer)).toBeUndefined()
    expect(answer.status).toBe(202)
    succeeded.add('runs.discard')
    for (const each of [api, engine, stranger]) await each.close()
    await rm(folder, { recursive: true })
  })

  test('graphs, webhooks', async () => {
    const document = { name: 'data', nodes: [{ id: 'only', wait: 'go' }] }
    const { definitionHash } = await ok('definitions.submit', { document })
    expect(await ok('definitions.list')).toEqual({ items: ['data'] })
    expect(await ok('definitions.get', { name: 'data' })).toMatchObject({ items: [{ version: 1, definitionHash }] })
    const run = await start('data')
    await expect.poll(async () => (await ok('runs.get', { run }))['status']).toBe('waiting')
    await ok('runs.pause', { run })
    await expect.poll(async () => (await ok('runs.get', { run }))['status']).toBe('paused')
    const next = await ok('definitions.submit', { document: { ...document, nodes: [{ id: 'other', wait: 'go' }] } })
    await ok('runs.migrate', { run, definitionHash: next['definitionHash'], steps: { only: 'other' } })
    const hook = async (): Promise<string> => {
      const hooked = await start('hooked')
      const shown = async () => (await ok('runs.get', { run: hooked }))['attributes']?.['token']
      await expect.poll(shown).toBeDefined()
      return String(await shown())
    }
    await ok('completions.resolve', { token: await hook(), payload: 1 })
    await ok('completions.reject', { token: await hook(), reason: 'a test' })
  })

  test('batches', async () => {
    const runs = (await ok('runs.startMany', { workflow: 'waits', runs: [{ input: 1, attributes: { set: 'b' } }] }))[
      'items'
    ] as unknown as { runId: string }[]
    const filter = { workflow: 'waits', attributes: { set: 'b' } }
    const preview = await ok('batches.preview', { filter, operation: 'terminate', limit: 10, reason: 'a test' })
    expect(preview).toMatchObject({
      state: 'preview',
      matched: 1,
      byWorkflow: { waits: 1 },
      sample: [{ runId: runs[0]?.runId }],
    })
    const batch = preview['id']
    await ok('batches.start', { batch })
    const state = async () => (await ok('batches.get', { batch }))['state']
    await expect.poll(state, { timeout: 10_000 }).toBe('done')
    expect(await ok('runs.result', { run: runs[0]?.runId, wait: '10s' })).toMatchObject({ status: 'failed' })
    const other = await ok('batches.preview', { filter, operation: 'pause', limit: 10 })
    await ok('batches.stop', { batch: other['id'] })
    expect(await ok('batches.list')).toMatchObject({ items: [{ id: other['id'] }, { id: batch }] })
  })

  test('schedules', async () => {
    const schedule = 'nightly'
    await ok('schedules.set', { schedule, workflow: 'double', cron: '0 3 * * *', input: 1, timeZone: 'Europe/Berlin' })
    expect(await ok('schedules.get', { schedule })).toMatchObject({ id: schedule, workflow: 'double', paused: false })
    expect(await ok('schedules.list')).toMatchObject({ items: [{ id: schedule }] })
    await ok('schedules.update', { schedule, overlap: 'skip', timeZone: null })
    for (const verb of ['pause', 'resume', 'trigger'] as const) await ok(`schedules.${verb}`, { schedule })
    const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-03T00:00:00Z' }
    expect(await ok('schedules.slots', { schedule, ...range })).toMatchObject({ more: false })
    expect(await ok('schedules.backfill', { schedule, ...range })).toEqual({ slots: 2 })
    await ok('schedules.delete', { schedule })
  })

  test('the server, its builds and its tokens', async () => {
    expect(await ok('health.get')).toMatchObject({ status: 'healthy', store: 'memory' })
    expect(await ok('workers.work', { for: '2s', linger: 0 })).toMatchObject({ ended: 'idle' })
    expect(await ok('workers.list')).toMatchObject({ items: [{ alive: true }] })
    const read = ['runs.histogram', 'views.set', 'views.list', 'views.delete', 'workflows.list', 'queues.list'] as const
    for (const name of read) await ok(name, samples[name])
    expect(await ok('me.get')).toEqual({ name: 'tests', scope: 'admin' })
    await ok('builds.rollOut', { build: 'b1', percent: 5 })
    expect(JSON.stringify(await ok('builds.list'))).toContain('b1')
    expect([await ok('builds.get', { build: 'b1' }), await ok('builds.checks')]).toEqual([
      { known: true },
      { items: [] },
    ])
    await ok('retention.set', { keep: '100d' })
    expect(await ok('retention.get')).toMatchObject({ retention: { policy: { keep: '100d' } } })
    expect(await ok('retention.purge', { policy: { keep: '100d' } })).toMatchObject({ purged: 0 })
    await ok('retention.remove')
    await ok('builds.retire', { build: 'b1' })
    const made = await ok('tokens.create', { name: 'ada', scope: 'read', expiresAt: '2099-01-01T00:00:00Z' })
    expect(made['token']).toMatch(/^pawl_/)
    expect(JSON.stringify(await ok('tokens.list'))).not.toContain(String(made['token']).slice(-40))
    await ok('tokens.revoke', { token: made['id'] })
    expect(await ok('audit.list', { limit: 1 })).toMatchObject({ items: [{ by: 'tests', operation: 'tokens.revoke' }] })
    await ok('openapi.get')
  })

  test('none was left out but streams, which live.test.ts reads', () => {
    const answered = Object.entries(routes).filter(([, route]) => !('form' in route && route.form === 'events'))
    expect([...succeeded].toSorted()).toEqual(answered.map(([name]) => name).toSorted())
  })
})

test('the document is valid OpenAPI 3.1, and has every operation', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never)
  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
  const ids = Object.values(document.paths).flatMap((path) => Object.values(path as never as { operationId: string }[]))
  expect(ids.map(({ operationId }) => operationId).toSorted()).toEqual(
    Object.keys(routes)
      .map((name) => name.replace('.', '_'))
      .toSorted(),
  )
})

describe('idempotency', () => {
  const keyed = (Object.entries(routes) as [OperationName, Route][]).filter(([, { key }]) => key !== undefined)

  test.each(keyed)('%s with one key twice, at once and later: one effect, equal answers', async (name) => {
    const run = await start('waits', { workflowId: `for ${name}` })
    const inputs: Partial<Record<OperationName, Input>> = {
      'runs.start': { workflow: 'waits', input: 1, workflowId: name },
      'runs.signalWithStart': { workflow: 'waits', workflowId: name, signal: 'counted', payload: 1 },
      'runs.updateWithStart': { workflow: 'waits', workflowId: name, update: 'add', payload: 1, wait: '10s' },
      'runs.signal': { run, name: 'counted', payload: 1 },
      'runs.update': { run, name: 'add', payload: 1, wait: '10s' },
    }
    const input = inputs[name]
    expect(input, `${name} has no case here`).toBeDefined()
    const headers = { 'idempotency-key': `key of ${name}` }
    const send = (): Promise<Answer> => call(name, input, headers)
    const answers = [...(await Promise.all([send(), send(), send()])), await send()]
    const bare = answers.map(({ json: { ...body } }) => ({ ...body, isNew: undefined }))
    for (const { status, text } of answers) expect(status, text).toBeLessThan(300)
    expect(bare).toEqual(bare.map(() => bare[0]))
    const found = (
      await ok('runs.list', { workflowId: name === 'runs.signal' || name === 'runs.update' ? `for ${name}` : name })
    )['items'] as unknown as { runId: string }[]
    expect(found).toHaveLength(1)
    if (name !== 'runs.start') {
      const events = (await ok('runs.history', { run: found[0]?.runId }))['events'] as unknown as { type: string }[]
      expect(events.filter(({ type }) => /^(?:Signal|Update)Received$/.test(type))).toHaveLength(1)
    }
  })

  test('another input under the same key is refused for a start', async () => {
    const headers = { 'idempotency-key': 'one key' }
    const first = await call('runs.start', { workflow: 'double', input: 1 }, headers)
    expect(first.status).toBe(201)
    const other = await call('runs.start', { workflow: 'double', input: 2 }, headers)
    expect(other).toMatchObject({
      status: 409,
      json: { code: 'RUN_ALREADY_EXISTS', details: { runId: first.json['runId'] } },
    })
  })

  test('a signal with start without a workflow id, sent twice with one key, starts one run', async () => {
    const send = (): Promise<Answer> =>
      call('runs.signalWithStart', { workflow: 'waits', signal: 'x' }, { 'idempotency-key': 'once' })
    const [one, other] = [await send(), await send()]
    expect(other.json['runId']).toBe(one.json['runId'])
  })

  test('a signal or an update with start, sent again after the run has ended, starts no other run', async () => {
    const cases = [
      ['runs.signalWithStart', { workflow: 'waits', input: 1, workflowId: 'signalled', signal: 'go' }],
      [
        'runs.updateWithStart',
        { workflow: 'waits', input: 1, workflowId: 'updated', update: 'add', payload: 1, wait: '10s' },
      ],
    ] as const
    for (const [name, input] of cases) {
      const send = (): Promise<Answer> => call(name, input, { 'idempotency-key': 'again' })
      const first = await send()
      const run = first.json['runId']
      if (name === 'runs.updateWithStart') await ok('runs.signal', { run, name: 'go' })
      expect(await ok('runs.result', { run, wait: '10s' })).toMatchObject({ status: 'completed' })
      expect((await send()).json['runId'], name).toBe(run)
    }
  })

  test('the field and the header must agree; a key has 1 to 255 characters', async () => {
    for (const [key, more] of [
      ['a', { idempotencyKey: 'b' }],
      ['', {}],
      ['x'.repeat(256), {}],
    ] as const) {
      const answer = await call('runs.start', { workflow: 'double', input: 1, ...more }, { 'idempotency-key': key })
      expect(answer).toMatchObject({ status: 400, json: { code: 'INPUT_INVALID' } })
    }
  })
})

describe('requests that are refused', () => {
  const cases: readonly (readonly [what: string, request: Raw, status: number, code: string])[] = [
    ['an unknown path', { path: '/nothing' }, 404, 'ROUTE_NOT_FOUND'],
    ['a path with a slash too many', { path: '/runs/' }, 404, 'ROUTE_NOT_FOUND'],
    ['another version', { path: '/../v2/runs' }, 404, 'ROUTE_NOT_FOUND'],
    ['a field of Object.prototype as a path', { path: '/__proto__' }, 404, 'ROUTE_NOT_FOUND'],
    ['a broken escape in the path', { path: '/runs/%zz' }, 400, 'INPUT_INVALID'],
    ['no UTF-8 in the path', { path: '/runs/%ff' }, 400, 'INPUT_INVALID'],
    ['a broken escape in the query', { path: '/runs?workflow=%zz' }, 400, 'INPUT_INVALID'],
    ['no UTF-8 in the query', { path: '/runs?workflow=%ff' }, 400, 'INPUT_INVALID'],
    ['a field twice in the query', { path: '/runs?limit=1&limit=2' }, 400, 'INPUT_INVALID'],
    ['__proto__ in the query', { path: '/runs?__proto__=1' }, 400, 'INPUT_INVALID'],
    ['an unknown field in the query', { path: '/runs?limits=1' }, 400, 'INPUT_INVALID'],
    ['a query where there is a body', { path: '/runs?workflow=double', ...json({}) }, 400, 'INPUT_INVALID'],
    ['a field of the path in the body', { path: '/runs/w:a/cancel', ...json({ run: 'w:b' }) }, 400, 'INPUT_INVALID'],
    ['a field of the path in the query', { path: '/runs/w:a?run=w:b' }, 400, 'INPUT_INVALID'],
    ['a long URL', { path: `/runs?workflow=${'x'.repeat(limits.requestUrlLengthMax)}` }, 413, 'REQUEST_TOO_LARGE'],
    ['a method the path does not have', { path: '/runs', method: 'PUT' }, 405, 'METHOD_NOT_ALLOWED'],
    [
      'a form',
      { path: '/runs', method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' },
      415,
      'MEDIA_TYPE_UNSUPPORTED',
    ],
    [
      'text',
      { path: '/runs', method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' },
      415,
      'MEDIA_TYPE_UNSUPPORTED',
    ],
    ['a body without a type', { path: '/runs', method: 'POST', body: '{}' }, 415, 'MEDIA_TYPE_UNSUPPORTED'],
    ['no JSON', { path: '/runs', ...json('{') }, 400, 'INPUT_INVALID'],
    ['a list', { path: '/runs', ...json([]) }, 400, 'INPUT_INVALID'],
    ['no UTF-8', { path: '/runs', ...json({}), body: Buffer.from([0x7b, 0xff, 0x7d]) }, 400, 'INPUT_INVALID'],
    ['a million levels', { path: '/runs', ...json(`{"input":${'['.repeat(1_000_000)}`) }, 400, 'INPUT_INVALID'],
    ['__proto__ in the body', { path: '/runs', ...json('{"__proto__":{"workflow":"double"}}') }, 400, 'INPUT_INVALID'],
    [
      'a body that is too long',
      { path: '/runs', ...json({ workflow: 'double', input: 'x'.repeat(limits.requestBytesMax) }) },
      413,
      'REQUEST_TOO_LARGE',
    ],
    [
      'a value that is too long',
      { path: '/runs', ...json({ workflow: 'double', input: 'x'.repeat(1_100_000) }) },
      413,
      'PAYLOAD_TOO_LARGE',
    ],
    [
      'an origin that is not listed',
      { path: '/runs', headers: { origin: 'https://evil.example' } },
      403,
      'ORIGIN_REFUSED',
    ],
    ['the origin null', { path: '/runs', headers: { origin: 'null' } }, 403, 'ORIGIN_REFUSED'],
    ['a fetch of another site', { path: '/runs', headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'ORIGIN_REFUSED'],
    ['another name of the server', { path: '/runs', headers: { host: 'evil.example' } }, 421, 'HOST_REFUSED'],
    [
      'a host that begins like ours',
      { path: '/runs', headers: { host: 'localhost.evil.example:80' } },
      421,
      'HOST_REFUSED',
    ],
  ]

  test.each(cases)('%s', async (_, request, status, code) => {
    const answer = await raw(request)
    expect(answer.status, answer.text).toBe(status)
    expect(answer.json).toMatchObject({ code, status, requestId: answer.headers.get('x-request-id') })
    expect(check({ name: 'runs.list', method: request.method ?? 'GET' }, answer)).toBeUndefined()
    expect(({} as { workflow?: string }).workflow).toBeUndefined()
  })

  test('__proto__ in a value is data, and comes back', async () => {
    const answer = await raw({ path: '/runs', ...json('{"workflow":"waits","input":{"__proto__":{"a":1}}}') })
    expect(answer.status).toBe(201)
    const { text } = await raw({ path: `/runs/${answer.json['runId']}` })
    expect(text).toContain('"input":{"__proto__":{"a":1}}')
  })

  test('HEAD is GET without a body; OPTIONS and 405 list the methods', async () => {
    const [head, get] = [await raw({ path: '/me', method: 'HEAD' }), await raw({ path: '/me' })]
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
    for (const method of ['OPTIONS', 'PUT']) {
      const answer = await raw({ path: '/runs', method })
      expect(answer.status).toBe(method === 'OPTIONS' ? 204 : 405)
      expect(answer.headers.get('allow')).toBe('GET, POST, HEAD, OPTIONS')
    }
    expect(await raw({ path: '/nothing', method: 'OPTIONS' })).toMatchObject({ status: 404 })
  })

  test('a page of a listed origin may ask, and read the answer; no other may', async () => {
    const origin = 'https://app.example'
    const asked = await raw({
      path: '/runs',
      method: 'OPTIONS',
      headers: { origin, authorization: undefined, 'sec-fetch-site': 'cross-site' },
    })
    expect(asked.status).toBe(204)
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin)
    expect(asked.headers.get('access-control-allow-headers')).toMatch(/authorization.*idempotency-key/)
    expect(asked.headers.has('access-control-allow-credentials')).toBe(false)
    const answer = await raw({ path: '/me', headers: { origin } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
    const own = await raw({ path: '/me', headers: { origin: `http://127.0.0.1:${port}` } })
    expect(own.status).toBe(200)
    expect(own.headers.has('access-control-allow-origin')).toBe(false)
  })
})
