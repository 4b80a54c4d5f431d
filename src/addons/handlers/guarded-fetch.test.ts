// Hostile inputs, names and servers. Servers are real; a STUB resolves names, because no test may query real name
// servers.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { certificate } from '../../../test/support/certificate.ts'
import { json, refusal, serve, stepContext } from '../../../test/support/handlers.ts'
import { limits } from '../../core/base/limits.ts'
import { type CallInput, callExternalService, type HttpOptions } from './call-external-service.ts'
import type { Lookup } from './guard.ts'

const call = (input: CallInput, options: HttpOptions = {}, context = stepContext()) =>
  callExternalService(options).handler(input, context)

const loopback = [{ address: '127.0.0.1', family: 4 }]
const world = [{ address: '93.184.216.34', family: 4 }]

/** STUB of name servers: every name is at these addresses. */
const at =
  (addresses: Awaited<ReturnType<Lookup>>): Lookup =>
  async () =>
    addresses

describe('A12: where a handler does not go', () => {
  test.each([
    'http://127.0.0.1:PORT/',
    'http://2130706433:PORT/',
    'http://0x7f000001:PORT/',
    'http://0177.0.0.1:PORT/',
    'http://127.1:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://[::ffff:7f00:1]:PORT/',
    'http://[64:ff9b::7f00:1]:PORT/',
    'http://localhost:PORT/',
    'http://localhost.:PORT/',
    'http://0.0.0.0:PORT/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://①②⑦.⓪.⓪.①:PORT/',
  ])('%s', async (url) => {
    const server = await serve(json('inside'))
    const refused = await refusal(call({ url: url.replace('PORT', String(server.port)) }))
    expect(refused).toMatchObject({ kind: 'permanent', code: 'ADDRESS_REFUSED' })
    expect(server.seen).toEqual([])
  })

  test('not to metadata although private addresses are allowed', async () => {
    for (const host of ['169.254.169.254', '[::ffff:169.254.169.254]', '0.0.0.0', '224.0.0.1']) {
      const refused = await refusal(call({ url: `http://${host}/` }, { allowPrivate: true }))
      expect(refused).toMatchObject({ code: 'ADDRESS_REFUSED' })
      expect(refused.message).toMatch(/No handler may connect to it/)
    }
  })

  test.each([
    ['file:///etc/passwd', 'URL_REFUSED', /begins with 'file:'/],
    ['ftp://example.com/', 'URL_REFUSED', /begins with 'ftp:'; expected 'http:' or 'https:'/],
    ['javascript:alert(1)', 'URL_REFUSED', /begins with 'javascript:'/],
    ['data:text/plain,x', 'URL_REFUSED', /begins with 'data:'/],
    ['/relative', 'URL_REFUSED', /cannot be parsed/],
    ['https://user:geheim@example.com/', 'URL_REFUSED', /contains credentials/],
    [`https://example.com/${'a'.repeat(limits.httpUrlLengthMax)}`, 'URL_REFUSED', /characters/],
    ['https://other.test/', 'HOST_REFUSED', /'other.test' is not one of the hosts/],
    ['https://example.com.evil.test/', 'HOST_REFUSED', /Add it to 'hosts'/],
  ])('%.40s', async (url, code, message) => {
    const refused = await refusal(call({ url }, { hosts: ['example.com', '*.example.com'] }))
    expect(refused).toMatchObject({ kind: 'permanent', code })
    expect(refused.message).toMatch(message)
    expect(refused.message).not.toContain('geheim')
  })

  test('not to a name that is at a private address, nor to one that is there as well', async () => {
    const server = await serve(json('inside'))
    const url = `http://innocent.test:${server.port}/`
    for (const addresses of [loopback, [...world, ...loopback], [{ address: '::1', family: 6 }]]) {
      const refused = await refusal(call({ url }, { lookup: at(addresses) }))
      expect(refused).toMatchObject({ code: 'ADDRESS_REFUSED' })
      expect(refused.message).toMatch(/'innocent.test' resolves to .*not a public address/)
    }
    expect(server.seen).toEqual([])
  })

  test('a name is asked for once, and what was judged is what is connected to', async () => {
    const server = await serve(json('inside'))
    const answers = [loopback, world]
    const lookup: Lookup = async () => answers.shift() ?? []
    const url = `http://rebinding.test:${server.port}/`
    const output = await call({ url }, { lookup, allowPrivate: ['rebinding.test'] })
    expect(output.body).toBe('inside')
    expect(answers).toEqual([world])
    expect(server.seen[0]?.headers['host']).toBe(`rebinding.test:${server.port}`)
  })

  test('a name that cannot be resolved, and one without an address, are tried again', async () => {
    const lookup: Lookup = async () => {
      throw Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
    }
    for (const each of [lookup, at([])]) {
      const refused = await refusal(call({ url: 'https://nowhere.test/' }, { lookup: each }))
      expect(refused).toMatchObject({ kind: 'retryable', code: 'NETWORK_FAILED' })
    }
  })
})

describe('A12: redirects', () => {
  const open: HttpOptions = { allowPrivate: ['first.test', 'second.test'], lookup: at(loopback) }

  test('are followed as fetch does, each kind with its method', async () => {
    const server = await serve((request, response) => {
      const status = Number(request.url?.slice(1))
      if (status >= 300) response.writeHead(status, { location: '/200' }).end()
      else response.end()
    })
    for (const status of [301, 302, 303, 307, 308]) {
      await call({ url: `http://first.test:${server.port}/${status}`, body: 'x' }, open)
    }
    const ends = server.seen.filter(({ url }) => url === '/200')
    expect(ends.map(({ method, body, headers }) => [method, body, headers['content-type']])).toEqual([
      ['GET', '', undefined],
      ['GET', '', undefined],
      ['GET', '', undefined],
      ['POST', '"x"', 'application/json'],
      ['POST', '"x"', 'application/json'],
    ])
  })

  test.each([
    ['http://127.0.0.1:PORT/', 'ADDRESS_REFUSED'],
    ['http://[::ffff:127.0.0.1]:PORT/', 'ADDRESS_REFUSED'],
    ['http://169.254.169.254/latest/', 'ADDRESS_REFUSED'],
    ['//third.test:PORT/', 'ADDRESS_REFUSED'],
    ['file:///etc/passwd', 'URL_REFUSED'],
    ['http://user:pw@second.test/', 'URL_REFUSED'],
    ['http://', 'URL_REFUSED'],
  ])('to %s are refused', async (location, code) => {
    const inside = await serve(json('inside'))
    const server = await serve((_request, response) => {
      response.writeHead(302, { location: location.replace('PORT', String(inside.port)) }).end()
    })
    const refused = await refusal(call({ url: `http://first.test:${server.port}/` }, open))
    expect(refused).toMatchObject({ kind: 'permanent', code })
    expect(inside.seen).toEqual([])
  })

  test('to a host that is not on the list are refused, and so is one too many', async () => {
    const server = await serve((request, response) => {
      const location = request.url === '/away' ? 'http://second.test/' : '/again'
      response.writeHead(307, { location }).end()
    })
    const origin = `http://first.test:${server.port}`
    const listed = { ...open, hosts: ['first.test'] }
    const away = await refusal(call({ url: `${origin}/away` }, listed))
    expect(away).toMatchObject({ code: 'HOST_REFUSED' })
    const seen = server.seen.length
    expect(await refusal(call({ url: `${origin}/` }, listed))).toMatchObject({
      kind: 'permanent',
      code: 'REDIRECT_REFUSED',
    })
    expect(server.seen.length - seen).toBe(1 + limits.httpRedirectsMax)
    const none = await refusal(call({ url: `${origin}/` }, { ...listed, maxRedirects: 0 }))
    expect(none.message).toMatch(/this handler follows no redirects/)
  })

  test('to another origin carry no secret and no header of the input, but the key', async () => {
    const second = await serve(json('ok'))
    const first = await serve((request, response) => {
      const location = request.url === '/' ? '/same' : `http://second.test:${second.port}/`
      response.writeHead(307, { location }).end()
    })
    const options = { ...open, hosts: ['*.test'], secrets: { token: 's3cret' } }
    const headers = {
      authorization: { secret: 'token', prefix: 'Bearer ' },
      'x-api-key': 'plain-but-private',
      cookie: 'a=b',
      accept: 'application/json',
    }
    await call({ url: `http://first.test:${first.port}/`, headers, body: 1 }, options)
    for (const { headers: sent } of first.seen) {
      expect(sent).toMatchObject({
        authorization: 'Bearer s3cret',
        'x-api-key': 'plain-but-private',
      })
    }
    expect(first.seen.map(({ url }) => url)).toEqual(['/', '/same'])
    expect(JSON.stringify(second.seen)).not.toMatch(/s3cret|plain-but-private|a=b/)
    expect(second.seen[0]?.headers).toMatchObject({
      accept: 'application/json',
      'idempotency-key': 'run:1:step#1',
    })
  })
})

describe('A12: TLS', () => {
  const usual = getCACertificates()
  beforeAll(() => setDefaultCACertificates([...usual, certificate]))
  afterAll(() => setDefaultCACertificates(usual))
  const open: HttpOptions = {
    allowPrivate: ['secure.test', 'wrong.test', 'plain.test'],
    lookup: at(loopback),
  }

  test('the name that was asked for is the one that is checked, at the judged address', async () => {
    const server = await serve(json('secure'), true)
    const output = await call({ url: `https://secure.test:${server.port}/` }, open)
    expect(output.body).toBe('secure')
    const wrong = await refusal(call({ url: `https://wrong.test:${server.port}/` }, open))
    expect(wrong).toMatchObject({
      code: 'NETWORK_FAILED',
      details: { network: 'ERR_TLS_CERT_ALTNAME_INVALID' },
    })
  })

  test('a redirect does not lead out of it', async () => {
    const plain = await serve(json('plain'))
    const server = await serve((_request, response) => {
      response.writeHead(302, { location: `http://plain.test:${plain.port}/` }).end()
    }, true)
    const refused = await refusal(call({ url: `https://secure.test:${server.port}/` }, open))
    expect(refused).toMatchObject({ kind: 'permanent', code: 'REDIRECT_REFUSED' })
    expect(plain.seen).toEqual([])
  })
})

describe('A12: bounds', () => {
  const local: HttpOptions = { allowPrivate: true }

  test('a body that does not end is cut off, and refused', async () => {
    let closed: Promise<unknown> | undefined
    const server = await serve((_request, response) => {
      closed = once(response, 'close')
      const chunk = Buffer.alloc(65_536, 'x')
      const more = (): void => void response.write(chunk, () => response.destroyed || more())
      more()
    })
    const refused = await refusal(call({ url: server.origin }, local))
    expect(refused).toMatchObject({ kind: 'permanent', code: 'RESPONSE_TOO_LARGE' })
    await closed
    const small = await refusal(call({ url: server.origin, maxBytes: 10 }, local))
    expect(small.message).toMatch(/more than 10 bytes/)
  })

  test('an answer that says no does, however long it goes on', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(503)
      const more = (): void => void response.write('no! '.repeat(1_000), () => response.destroyed || more())
      more()
    })
    const refused = await refusal(call({ url: server.origin }, local))
    expect(refused).toMatchObject({ kind: 'retryable', code: 'STATUS_UNAVAILABLE' })
    expect(String(refused.details['body']).length).toBeLessThanOrEqual(limits.httpErrorBytesMax)
  })

  test('a body of just so many bytes is taken', async () => {
    const server = await serve((_request, response) => response.end('x'.repeat(10)))
    expect(await call({ url: server.origin, maxBytes: 10 }, local)).toMatchObject({ status: 200 })
  })

  test('headers that come too late, a body that trickles, a name that nobody resolves: time is over', async () => {
    const silent = await serve(() => {})
    const trickling = await serve((_request, response) => {
      const timer = setInterval(() => response.write('.'), 5)
      response.on('close', () => clearInterval(timer))
    })
    const unresolved: Lookup = () => new Promise(() => {})
    const slow = [
      call({ url: silent.origin, timeout: '60ms' }, local),
      call({ url: trickling.origin, timeout: '60ms' }, local),
      call({ url: 'https://never.test/', timeout: '60ms' }, { lookup: unresolved }),
    ]
    for (const each of slow) {
      expect(await refusal(each)).toMatchObject({ kind: 'retryable', code: 'TIMED_OUT' })
    }
    expect([silent.seen.length, trickling.seen.length]).toEqual([1, 1])
  })

  test('headers that are too large are refused', async () => {
    const server = await serve((_request, response) => {
      response.setHeader('x-large', 'x'.repeat(limits.httpHeaderBytesMax)).end()
    })
    expect(await refusal(call({ url: server.origin }, local))).toMatchObject({
      kind: 'permanent',
      code: 'RESPONSE_TOO_LARGE',
    })
  })

  test('what speaks no HTTP is tried again', async () => {
    const server = createServer((socket) => socket.end('220 mail.test ESMTP\r\n'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    const refused = await refusal(call({ url: `http://127.0.0.1:${port}/` }, local))
    expect(refused).toMatchObject({ kind: 'retryable', code: 'NETWORK_FAILED' })
  })

  test('a request that is too large is not sent', async () => {
    const server = await serve(json(1))
    const input = { url: server.origin, text: 'x'.repeat(11) }
    const refused = await refusal(call(input, { ...local, maxRequestBytes: 10 }))
    expect(refused).toMatchObject({ kind: 'permanent', code: 'REQUEST_TOO_LARGE' })
    const headers = { 'x-large': 'x'.repeat(limits.httpHeaderBytesMax) }
    expect(await refusal(call({ url: server.origin, headers }, local))).toMatchObject({
      code: 'REQUEST_TOO_LARGE',
    })
    expect(server.seen).toEqual([])
  })

  test('a cancelled step closes its connection', async () => {
    const stop = new AbortController()
    let closed: Promise<unknown> | undefined
    const server = await serve((_request, response) => {
      closed = once(response, 'close')
      stop.abort(new Error('cancelled'))
    })
    const context = stepContext({ signal: stop.signal })
    await expect(call({ url: server.origin }, local, context)).rejects.toThrow('cancelled')
    await closed
    await expect(call({ url: server.origin }, local, context)).rejects.toThrow('cancelled')
    expect(server.seen.length).toBe(1)
  })
})
