import { once } from 'node:events'
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { json, refusal, type Seen, serve, stepContext } from '../../../test/support/handlers.ts'
import { limits } from '../../core/base/limits.ts'
import { type CallInput, callExternalService, type HttpOptions } from './call-external-service.ts'

const call = (input: CallInput, options: HttpOptions = {}, context = stepContext()) =>
  callExternalService({ allowPrivate: true, ...options }).handler(input, context)

/** What is not an input at all, as a graph might have it. */
const callWith = (input: unknown, options: HttpOptions = {}) => call(input as CallInput, options)

describe('A12: call_external_service asks', () => {
  test('with a query, headers and JSON, and gives status, headers and what the JSON says', async () => {
    const server = await serve(json({ ok: true, items: [1] }))
    const output = await call({
      url: `${server.origin}/orders?a=1`,
      query: { b: 'x y', c: [1, 2], d: true },
      headers: { 'X-Tenant': 'acme' },
      body: { id: 'A1' },
    })
    expect(output).toMatchObject({ status: 200, body: { ok: true, items: [1] } })
    expect(output.headers['content-type']).toBe('application/json')
    expect(output.encoding).toBeUndefined()
    const [seen] = server.seen
    expect(seen).toMatchObject({
      method: 'POST',
      url: '/orders?a=1&b=x+y&c=1&c=2&d=true',
      body: '{"id":"A1"}',
    })
    expect(seen?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-tenant': 'acme',
      'idempotency-key': 'run:1:step#1',
      'accept-encoding': 'identity',
      host: `127.0.0.1:${server.port}`,
    })
  })

  test('GET by default; text as text; null is a body; a header of the input goes before ours', async () => {
    const server = await serve(json(1))
    const { origin: url } = server
    await call({ url })
    await call({ url, method: 'put', text: 'plain' })
    await call({ url, body: null })
    await call({
      url,
      text: '<a/>',
      headers: { 'Content-Type': 'text/xml', 'idempotency-key': 'mine' },
    })
    const told = ({ method, headers, body }: Seen) => [method, headers['content-type'], body]
    expect(server.seen.map(told)).toEqual([
      ['GET', undefined, ''],
      ['PUT', 'text/plain;charset=utf-8', 'plain'],
      ['POST', 'application/json', 'null'],
      ['POST', 'text/xml', '<a/>'],
    ])
    expect(server.seen[3]?.headers['idempotency-key']).toBe('mine')
  })

  test('the idempotency key can have another header, or none, and always fits into one', async () => {
    const server = await serve(json(1))
    const { origin: url } = server
    const odd = stepContext({ idempotencyKey: 'run:1:größe\u{1f600}' })
    await call({ url }, { idempotencyHeader: 'X-Request-Id' })
    await call({ url }, { idempotencyHeader: false })
    await call({ url }, {}, odd)
    await call({ url }, {}, odd)
    const [other, none, first, second] = server.seen.map(({ headers }) => headers)
    expect(other).toMatchObject({ 'x-request-id': 'run:1:step#1' })
    expect(Object.keys(none ?? {})).toEqual(expect.not.arrayContaining(['idempotency-key']))
    expect(first?.['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/)
    expect(second?.['idempotency-key']).toBe(first?.['idempotency-key'])
  })
})

describe('A12: call_external_service answers', () => {
  const bodies: readonly (readonly [string, string, string | Buffer, unknown])[] = [
    ['text', 'text/html', '<p>ä</p>', { body: '<p>ä</p>' }],
    ['JSON of another kind', 'application/problem+json; charset=utf-8', '{"a":1}', { body: { a: 1 } }],
    ['JSON that is none', 'application/json', '{"a":', { body: '{"a":' }],
    ['JSON that says it is text', 'text/plain', '{"a":1}', { body: '{"a":1}' }],
    ['nothing', 'application/json', '', { body: null }],
    ['bytes', 'image/png', Buffer.from([0x89, 0x50, 0xff]), { body: 'iVD/', encoding: 'base64' }],
  ]

  test.each(bodies)('%s', async (_name, type, body, expected) => {
    const server = await serve((_request, response) => {
      response.setHeader('content-type', type)
      response.end(body)
    })
    const { status, headers, ...content } = await call({ url: server.origin })
    expect(status).toBe(200)
    expect(headers['content-type']).toBe(type)
    expect(content).toEqual(expected)
  })

  test('204, and HEAD, have no body', async () => {
    const server = await serve((request, response) => {
      if (request.method === 'DELETE') response.writeHead(204).end()
      else response.writeHead(200, { 'content-length': '5' }).end('hello')
    })
    const { origin: url } = server
    expect(await call({ url, method: 'DELETE' })).toMatchObject({ status: 204, body: null })
    expect(await call({ url, method: 'HEAD' })).toMatchObject({ status: 200, body: null })
  })

  test('cookies are not recorded, other headers that come twice are one', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, [...['set-cookie', 'session=secret', 'x-a', '1', 'x-a', '2']] as string[])
      response.end()
    })
    const { headers } = await call({ url: server.origin })
    expect(headers).toMatchObject({ 'x-a': '1, 2' })
    expect(JSON.stringify(headers)).not.toContain('secret')
  })

  test('what is compressed although nobody asked for it stays so: there is no bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' })
      response.end(bomb)
    })
    const output = await call({ url: server.origin })
    expect(output).toMatchObject({ encoding: 'base64', body: bomb.toString('base64') })
  })
})

describe('A12: call_external_service judges', () => {
  test.each([408, 425, 429, 500, 502, 503, 504])('%i may pass', async (status) => {
    const server = await serve(json({ error: 'later' }, status))
    const { kind, code, details, afterMs } = await refusal(call({ url: server.origin }))
    expect({ kind, code, details, afterMs }).toEqual({
      kind: 'retryable',
      code: 'STATUS_UNAVAILABLE',
      details: { code: 'STATUS_UNAVAILABLE', status, body: '{"error":"later"}' },
      afterMs: undefined,
    })
  })

  test.each([400, 401, 403, 404, 409, 410, 422, 304])('%i does not', async (status) => {
    const server = await serve((_request, response) => response.writeHead(status).end())
    const { kind, code, details, message } = await refusal(call({ url: `${server.origin}/path?token=geheim` }))
    expect({ kind, code }).toEqual({ kind: 'permanent', code: 'STATUS_REFUSED' })
    expect(details).toEqual({ code: 'STATUS_REFUSED', status })
    expect(message).toBe(`GET ${server.origin}/path returned status ${status}`)
  })

  const dates = {
    date: 'Sun, 15 Nov 2026 12:00:00 GMT',
    'retry-after': 'Sun, 15 Nov 2026 12:01:30 GMT',
  }
  test.each([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['a date, by the clock of the server', dates, 90_000],
    ['a date that has passed', { ...dates, date: 'Sun, 15 Nov 2026 13:00:00 GMT' }, undefined],
    ['for ever, which is an hour', { 'retry-after': '9999999999' }, limits.retryAfterMsMax],
    ['at once', { 'retry-after': '0' }, undefined],
    ['nonsense', { 'retry-after': 'soon' }, undefined],
    ['less than nothing', { 'retry-after': '-5' }, undefined],
  ])('Retry-After: %s', async (_name, headers, expected) => {
    const server = await serve((_request, response) => {
      response.sendDate = false
      response.writeHead(429, headers).end()
    })
    const { kind, afterMs } = await refusal(call({ url: server.origin }))
    expect({ kind, afterMs }).toEqual({ kind: 'retryable', afterMs: expected })
  })

  test('expect says what a success is, and nothing else is one', async () => {
    const server = await serve(json({ error: 'no such order' }, 404))
    const { origin: url } = server
    const output = await call({ url, expect: [200, 404] })
    expect(output).toMatchObject({ status: 404, body: { error: 'no such order' } })
    const other = await serve(json('created', 201))
    expect(await refusal(call({ url: other.origin, expect: [200] }))).toMatchObject({
      kind: 'permanent',
      code: 'STATUS_REFUSED',
    })
  })

  test('a server that is not there, and one that goes away in the middle, are tried again', async () => {
    const gone = createServer((socket) => void socket.once('data', () => socket.destroy()))
    gone.listen(0, '127.0.0.1')
    await once(gone, 'listening')
    const { port } = gone.address() as { port: number }
    const url = `http://127.0.0.1:${port}/`
    expect(await refusal(call({ url }))).toMatchObject({
      kind: 'retryable',
      code: 'NETWORK_FAILED',
      details: { network: 'ECONNRESET' },
    })
    gone.close()
    await once(gone, 'close')
    expect(await refusal(call({ url }))).toMatchObject({
      kind: 'retryable',
      details: { network: 'ECONNREFUSED' },
    })
    const half = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => response.destroy())
    })
    expect(await refusal(call({ url: half.origin }))).toMatchObject({
      kind: 'retryable',
      code: 'NETWORK_FAILED',
    })
  })
})

const nonsense: readonly (readonly [string, unknown, RegExp])[] = [
  ['no input', undefined, /must be an object with `url`, .* not nothing/],
  ['a list', [], /not a list/],
  ['no URL', {}, /`url` of the input of 'call_external_service' is missing/],
  [
    'a name nobody knows',
    { url: 'https://x.test', haeders: {} },
    /unknown field `haeders` of .*; did you mean `headers`\?/,
  ],
  ['a method nobody knows', { url: 'https://x.test', method: 'TRACE' }, /expected one of GET/],
  ['a GET with a body', { url: 'https://x.test', method: 'GET', body: 1 }, /a body, which GET does not allow/],
  ['two bodies', { url: 'https://x.test', body: 1, text: 'a' }, /both 'body' and 'text'. Give one of them/],
  [
    'a query of objects',
    { url: 'https://x.test', query: { a: {} } },
    /`query.a` of .* is an object; expected a string/,
  ],
  [
    'a status that is none',
    { url: 'https://x.test', expect: [99] },
    /`expect` of .* expected a list of numbers from 200 to 599/,
  ],
  ['no time', { url: 'https://x.test', timeout: '0s' }, /`timeout` of .* is 0 ms/],
  ['an unreadable time', { url: 'https://x.test', timeout: 'soon' }, /`timeout` of .*soon/],
  ['more than may be', { url: 'https://x.test', maxBytes: 1e9 }, /`maxBytes` of .* is 1000000000/],
  ['a list as a header', { url: 'https://x.test', headers: { a: [] } }, /`headers.a` of .* not a list/],
]

test.each(nonsense)('A12: the input is checked: %s', async (_name, input, message) => {
  const refused = await refusal(callWith(input))
  expect(refused).toMatchObject({ kind: 'permanent', code: 'INPUT_INVALID' })
  expect(refused.message).toMatch(message)
})

test('A12: options that cannot be are refused at once', () => {
  const bad: HttpOptions[] = [
    { hosts: ['*'] },
    { allowPrivate: ['a:80'] },
    { idempotencyHeader: 'not a name' },
    { idempotencyHeader: 'Host' },
    { maxResponseBytes: limits.httpResponseBytesMax + 1 },
    { maxRedirects: -1 },
  ]
  for (const options of bad) {
    expect(() => callExternalService(options)).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
  }
  expect(() => callExternalService({ timeout: '1h' })).toThrow(/`timeout` of call_external_service/)
})
