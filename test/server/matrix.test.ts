// Who may use which operation: every operation of the table with every kind of token.
import fc from 'fast-check'
import { server } from 'pawl/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CALL } from '../../src/operations/protocol.ts'
import { type OperationName, pathFields, routes } from '../../src/operations/routes.ts'
import { otherRoutes } from '../../src/server/other-routes.ts'
import {
  type Answer,
  type Api,
  MISSING,
  openWorld,
  quiet,
  samples,
  send,
  type World,
  wireOf,
  withToken,
} from './support.ts'

/**
 * The status of each operation with a token of the scope `read`, `operate` and `admin`, written by hand: an operation
 * without a row fails. The inputs name nothing that exists.
 */
const expected: Readonly<Record<OperationName, readonly [read: number, operate: number, admin: number]>> = {
  'runs.list': [200, 200, 200],
  'runs.count': [200, 200, 200],
  'runs.groups': [200, 200, 200],
  'runs.histogram': [200, 200, 200],
  'runs.get': [404, 404, 404],
  'runs.why': [404, 404, 404],
  'runs.whyMany': [200, 200, 200],
  'runs.history': [404, 404, 404],
  'runs.steps': [404, 404, 404],
  'runs.timeline': [404, 404, 404],
  'runs.result': [404, 404, 404],
  'runs.query': [404, 404, 404],
  'runs.updateResult': [404, 404, 404],
  'runs.export': [403, 403, 200],
  'live.run': [404, 404, 404],
  'live.runs': [200, 200, 200],
  'streams.list': [404, 404, 404],
  'streams.read': [404, 404, 404],
  'live.stream': [404, 404, 404],
  'runs.start': [403, 201, 201],
  'runs.startMany': [403, 201, 201],
  'runs.signalWithStart': [403, 201, 201],
  'runs.updateWithStart': [403, 201, 201],
  'runs.signal': [403, 404, 404],
  'runs.update': [403, 404, 404],
  'runs.trigger': [403, 404, 404],
  'runs.cancel': [403, 404, 404],
  'runs.terminate': [403, 404, 404],
  'runs.pause': [403, 404, 404],
  'runs.resume': [403, 404, 404],
  'runs.retry': [403, 404, 404],
  'runs.reset': [403, 404, 404],
  'runs.fork': [403, 404, 404],
  'runs.migrate': [403, 404, 404],
  'runs.discard': [403, 404, 404],
  'completions.resolve': [403, 404, 404],
  'completions.reject': [403, 404, 404],
  'batches.preview': [403, 201, 201],
  'batches.list': [200, 200, 200],
  'batches.get': [404, 404, 404],
  'batches.start': [403, 404, 404],
  'batches.stop': [403, 404, 404],
  'schedules.list': [200, 200, 200],
  'schedules.get': [404, 404, 404],
  'schedules.set': [403, 204, 204],
  'schedules.update': [403, 404, 404],
  'schedules.delete': [403, 404, 404],
  'schedules.pause': [403, 404, 404],
  'schedules.resume': [403, 404, 404],
  'schedules.trigger': [403, 404, 404],
  'schedules.slots': [404, 404, 404],
  'schedules.backfill': [403, 404, 404],
  'views.list': [200, 200, 200],
  'views.set': [403, 204, 204],
  'views.delete': [403, 204, 204],
  'workflows.list': [200, 200, 200],
  'definitions.list': [200, 200, 200],
  'definitions.get': [404, 404, 404],
  'definitions.submit': [403, 201, 201],
  'builds.list': [200, 200, 200],
  'builds.get': [200, 200, 200],
  'builds.checks': [200, 200, 200],
  'builds.rollOut': [403, 403, 204],
  'builds.retire': [403, 403, 204],
  'retention.get': [200, 200, 200],
  'retention.set': [403, 403, 204],
  'retention.remove': [403, 403, 204],
  'retention.purge': [403, 403, 200],
  'workers.list': [200, 200, 200],
  'queues.list': [200, 200, 200],
  'workers.work': [403, 200, 200],
  'health.get': [200, 200, 200],
  'audit.list': [403, 403, 200],
  'tokens.list': [403, 403, 200],
  'tokens.create': [403, 403, 201],
  'tokens.revoke': [403, 403, 404],
  'me.get': [200, 200, 200],
  'openapi.get': [200, 200, 200],
}

const names = Object.keys(routes) as OperationName[]
const scopes = ['read', 'operate', 'admin'] as const
const HOUR_MS = 3_600_000

let world: World
const tokens: Record<string, string> = {}

beforeAll(async () => {
  world = await openWorld()
  const { api } = world
  for (const scope of scopes) {
    tokens[scope] = (await api.tokens.create({ name: scope, scope, namespace: 'default' })).token
    tokens[`other ${scope}`] = (await api.tokens.create({ name: `o-${scope}`, scope, namespace: 'other' })).token
  }
  const admin = { name: 'gone', scope: 'admin', namespace: 'default' } as const
  tokens['expired'] = (await api.tokens.create({ ...admin, expiresAt: new Date(Date.now() - HOUR_MS) })).token
  const { id, token } = await api.tokens.create(admin)
  await api.tokens.revoke(id)
  tokens['revoked'] = token
  tokens['unserved'] = (await api.tokens.create({ ...admin, namespace: 'elsewhere' })).token
  tokens['wrong'] = `${String(tokens['admin']).slice(0, -40)}${'0'.repeat(40)}`
  tokens['unknown'] = `pawl_${'0'.repeat(12)}_${'0'.repeat(40)}`
})

afterAll(() => world[Symbol.asyncDispose]())

/** A server of its own, so that the limit of wrong tokens is not reached. */
function another(): Api {
  return server({ default: world.engine, other: world.other }, { logger: quiet })
}

test('I3 I7: every operation is in the table of this test, and none that does not exist', () => {
  expect(Object.keys(expected).toSorted()).toEqual(names.toSorted())
  expect(Object.keys(samples).toSorted()).toEqual(names.toSorted())
})

describe.each(names)('%s', (name) => {
  // Every test starts runs of its own.
  const wireFor = (scope: string) => {
    const { workflowId, ...rest } = samples[name]
    return wireOf(name, typeof workflowId === 'string' ? { ...rest, workflowId: `${workflowId}-${scope}` } : rest)
  }
  /** The same by the name of the operation, with the whole input in the body. */
  const namedFor = (scope: string) => {
    const { workflowId, ...rest } = samples[name]
    const input = typeof workflowId === 'string' ? { ...rest, workflowId: `${workflowId}-named-${scope}` } : rest
    const headers = { 'content-type': 'application/json' }
    return { method: 'POST', target: `${CALL}${name}`, body: JSON.stringify(input), headers }
  }
  const wire = wireFor('none')
  const isOpen = name === 'openapi.get'

  test('is refused without a token, and with one that is malformed, wrong, expired or revoked', async () => {
    const api = another()
    const isRefused = (answer: Answer, what: string): void => {
      expect(answer.status, what).toBe(isOpen ? 200 : 401)
      if (isOpen) return
      expect(answer.json).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 })
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="pawl"')
    }
    isRefused(await send(api, wire), 'none')
    for (const header of ['', 'Bearer', 'Bearer ', `Basic ${tokens['admin']}`, String(tokens['admin'])]) {
      isRefused(await send(api, { ...wire, headers: { ...wire.headers, authorization: header } }), header)
    }
    for (const kind of ['wrong', 'unknown', 'expired', 'revoked', 'unserved'])
      isRefused(await send(api, withToken(wire, tokens[kind])), kind)
    isRefused(await send(another(), namedFor('none')), 'none, by name')
    isRefused(await send(another(), withToken(namedFor('none'), tokens['revoked'])), 'revoked, by name')
  })

  test.each(scopes.map((scope, at) => [scope, expected[name][at]] as const))('with %s is %i', async (scope, status) => {
    const answer = await send(another(), withToken(wireFor(scope), tokens[scope]))
    expect(answer.status, answer.text).toBe(status)
    if (status === 403) expect(answer.json).toMatchObject({ code: 'FORBIDDEN' })
    const named = await send(another(), withToken(namedFor(scope), tokens[scope]))
    expect(named.status, named.text).toBe(status)
  })
})

/** The status of the routes under names of other engines, with no token and with each scope. They name nothing that exists. */
const others: Readonly<Record<string, readonly [none: number, read: number, operate: number, admin: number]>> = {
  'POST /v1/workflow': [401, 403, 422, 422],
  'POST /v1/workflow/trigger/{execution_id}': [401, 403, 404, 404],
  'GET /v1/workflow/{execution_id}': [401, 404, 404, 404],
  'GET /v1/workflow/{execution_id}/nodes': [401, 404, 404, 404],
  'GET /v1/health': [401, 200, 200, 200],
  'GET /api/durable/workers': [401, 200, 200, 200],
  'GET /api/durable/workers/{id}': [401, 404, 404, 404],
  'GET /api/durable/workflows': [401, 200, 200, 200],
  'GET /api/durable/workflows/{id}': [401, 404, 404, 404],
  'GET /api/durable/workflows/{id}/events': [401, 404, 404, 404],
  'POST /api/durable/workflows/{id}/signal': [401, 403, 404, 404],
  'POST /api/durable/workflows/{id}/cancel': [401, 403, 404, 404],
  'GET /api/durable/health': [401, 200, 200, 200],
}

test('routes under the names of other engines have the scopes of their operations', async () => {
  expect(otherRoutes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(Object.keys(others).toSorted())
  for (const [route, expectedStatuses] of Object.entries(others)) {
    const [method = '', path = ''] = route.split(' ')
    const target = path.replace(/\{\w+\}/, MISSING)
    const body = path.endsWith('/signal') ? '{"signal_name":"go"}' : '{}'
    const headers = { 'content-type': 'application/json' }
    const statuses: number[] = []
    for (const token of [undefined, ...scopes]) {
      const wire = { method, target, headers, ...(method === 'POST' && { body }) }
      statuses.push((await send(another(), withToken(wire, token && tokens[token]))).status)
    }
    expect(statuses, route).toEqual(expectedStatuses)
    const hidden = await send(
      another(),
      withToken({ method, target, headers, ...(method === 'POST' && { body }) }, tokens['other admin']),
    )
    expect(hidden.status, route).toBe(expectedStatuses[3])
  }
})

test('a run of another namespace is missing, byte for byte', async () => {
  const { engine } = world
  const secret = await engine.start({ is: 'workflow', name: 'waits' } as never, 1, { workflowId: 'secret' })
  await engine.schedules.set('secret', { workflow: { is: 'workflow', name: 'waits' } as never, cron: '0 3 * * *' })
  const api = another()
  const own = await send(api, withToken(wireOf('runs.get', { run: secret.runId }), tokens['read']))
  expect(own.status).toBe(200)
  const missing = `${secret.runId.slice(0, -4)}${secret.runId.endsWith('0000') ? '1111' : '0000'}`
  const pairs = [
    ['run', secret.runId, missing],
    ['run', 'w:secret', 'w:public'],
    ['schedule', 'secret', 'public'],
  ] as const
  let compared = 0
  // It would create the schedule.
  for (const name of names.filter((each) => each !== 'schedules.set')) {
    for (const [field, there, nowhere] of pairs.filter(([each]) => pathFields(routes[name].path).includes(each))) {
      const ask = async (value: string): Promise<string> => {
        const wire = wireOf(name, { ...samples[name], [field]: value })
        const { status, text, headers } = await send(api, withToken(wire, tokens['other admin']))
        const kept = [...headers].filter(([header]) => header !== 'x-request-id')
        const bare = value.replace(/^w:/, '')
        return JSON.stringify([status, kept, text.replace(/"requestId":"[^"]+"/, '').replaceAll(bare, 'IT')])
      }
      const hidden = await ask(there)
      expect(hidden, name).toBe(await ask(nowhere))
      expect(hidden, name).toMatch(/^\[404,/)
      compared++
    }
  }
  expect(compared).toBeGreaterThan(40)
  expect((await engine.get(secret.runId).describe()).endedAt).toBeUndefined()
})

test('a query goes to the code of the own namespace alone, also where another process has the code', async () => {
  const asked: string[] = []
  const api = server(
    { default: world.engine, other: world.other },
    { logger: quiet, query: async ({ run }) => asked.push(run) },
  )
  const { runId } = await world.engine.start({ is: 'workflow', name: 'waits' } as never, 1, { workflowId: 'asked' })
  for (const run of [runId, 'w:asked']) {
    const ask = wireOf('runs.query', { run, name: 'total' })
    expect(await send(api, withToken(ask, tokens['other admin']))).toMatchObject({ status: 404 })
    expect(await send(api, withToken(ask, tokens['read']))).toMatchObject({ status: 200 })
  }
  expect(asked).toEqual([runId, runId])
})

test('a webhook of a namespace that does not exist is answered like one with another token, byte for byte', async () => {
  const ask = async (method: string, namespace: string): Promise<string> => {
    const request = { method, target: `/webhooks/${namespace}/guessed`, headers: {} }
    const { status, headers, text } = await send(another(), request)
    const kept = [...headers].filter(([header]) => header !== 'x-request-id')
    return JSON.stringify([status, kept, text.replace(/"requestId":"[^"]+"/, '')])
  }
  for (const method of ['POST', 'GET']) {
    expect(await ask(method, 'nowhere')).toBe(await ask(method, 'default'))
    expect(await ask(method, 'other')).toBe(await ask(method, 'default'))
  }
})

test('no field, header or path chooses the namespace', async () => {
  const api = another()
  const token = tokens['other read']
  for (const headers of [{ 'x-namespace': 'default' }, { namespace: 'default' }, { 'pawl-namespace': 'default' }]) {
    const { json } = await send(api, withToken({ ...wireOf('runs.count', { workflow: 'waits' }), headers }, token))
    expect(json).toEqual({ count: expect.any(Number) })
    expect(Number(json['count'])).toBeLessThanOrEqual(await world.other.count({ workflow: 'waits' }))
  }
  const field = await send(api, withToken(wireOf('runs.count', { namespace: 'default' }), token))
  expect(field).toMatchObject({ status: 400, json: { code: 'INPUT_INVALID' } })
})

test('no Authorization header but the token itself lets a request in', async () => {
  const token = String(tokens['admin'])
  const near = fc.oneof(
    fc.string({ unit: 'binary-ascii', maxLength: 300 }),
    fc.nat(token.length - 1).map((at) => token.slice(0, at) + token.slice(at + 1)),
    fc.tuple(fc.nat(token.length - 1), fc.constantFrom('a', '0', '9', 'z', '_', '.', ' ')).map(([at, char]) => {
      const changed = token.slice(0, at) + char + token.slice(at + 1)
      return changed === token ? `${token}x` : changed
    }),
    fc.constantFrom(token.toUpperCase(), `${token}${token}`, `${token},${token}`, `"${token}"`, `${token}\u007f`),
    fc.constantFrom('__proto__', 'constructor', 'pawl__', 'null', 'undefined', `pawl_${'é'.repeat(12)}_x`),
  )
  const schemes = fc.constantFrom(
    'Bearer ',
    'bearer  ',
    'BEARER ',
    'Bearer\t',
    'Basic ',
    '',
    'Bearer Bearer ',
    'Token ',
  )
  const property = fc.asyncProperty(schemes, near, async (scheme, text) => {
    let headers: Headers
    try {
      headers = new Headers({ authorization: scheme + text })
    } catch {
      return
    }
    const request = new Request('http://localhost/api/v1/me', { headers })
    const { status } = await another().fetch(request)
    expect(status).toBe(401)
  })
  await fc.assert(property, { numRuns: 1_000 })
  const { status } = await send(another(), withToken(wireOf('me.get', {}), token))
  expect(status).toBe(200)
})
