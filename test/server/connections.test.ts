// What a server must survive on its sockets: slow, broken, ambiguous and idle connections, and its own end.

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Engine, PawlError } from 'pawl'
import { server } from 'pawl/server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { watchersOf } from '../../src/operations/handlers/live.ts'
import { type Api, callerOf, openEngine, quiet } from './support.ts'

let engine: Engine
let api: Api
let port: number

beforeAll(async () => {
  engine = await openEngine()
  api = server(engine, { logger: quiet })
  port = (await api.listen({ port: 0 })).port
})

afterAll(async () => {
  await api.close()
  await engine.close()
})

interface Line {
  readonly socket: Socket
  /** All that came until the server closed the connection, and how long that took. */
  readonly closed: Promise<{ readonly text: string; readonly ms: number }>
  /** What has come so far. */
  readonly text: () => string
}

async function dial(to = port): Promise<Line> {
  const socket = connect({ port: to, host: '127.0.0.1' })
  let text = ''
  const begun = performance.now()
  const closed = new Promise<{ text: string; ms: number }>((resolve) => {
    socket.on('data', (chunk) => (text += chunk.toString()))
    socket.on('error', () => {})
    socket.on('close', () => resolve({ text, ms: performance.now() - begun }))
  })
  await once(socket, 'connect')
  return { socket, closed, text: () => text }
}

const get = (path = '/me'): string => `GET /api/v1${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
const post = (headers: string, body = ''): string =>
  `POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`

/** The server still answers others. */
async function isWell(): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/me`, { signal: AbortSignal.timeout(2_000) })
  expect(answer.status).toBe(200)
}

function isRefusal(text: string, status: number, code: string): void {
  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(text).toContain(`"code":"${code}"`)
  expect(text.toLowerCase()).toContain('x-content-type-options: nosniff')
  expect(text.toLowerCase()).toContain('connection: close')
}

describe.concurrent('connections that are slow are cut within the limits', () => {
  const SLACK_MS = 3_000

  test('headers that come byte by byte', async () => {
    const { socket, closed } = await dial()
    socket.write('GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX: ')
    const drip = setInterval(() => socket.write('x'), 500)
    const { text: answer, ms } = await closed
    clearInterval(drip)
    isRefusal(answer, 408, 'REQUEST_TIMEOUT')
    expect(ms).toBeLessThan(limits.requestHeadersMs + SLACK_MS)
  }, 20_000)

  test('a connection that never sends anything', async () => {
    const { closed } = await dial()
    expect((await closed).ms).toBeLessThan(limits.requestHeadersMs + SLACK_MS)
  }, 20_000)

  test('a body that comes byte by byte', async () => {
    const { socket, closed } = await dial()
    socket.write(post('Content-Length: 1000', '{'))
    const drip = setInterval(() => socket.write(' '), 500)
    const { text, ms } = await closed
    clearInterval(drip)
    isRefusal(text, 408, 'REQUEST_TIMEOUT')
    expect(ms).toBeLessThan(limits.requestMs + SLACK_MS)
    await isWell()
  }, 45_000)

  test('one that is idle between requests', async () => {
    const { socket, closed } = await dial()
    socket.write(get())
    const { text, ms } = await closed
    expect(text).toMatch(/^HTTP\/1.1 200 /)
    expect(ms).toBeLessThan(15_000)
  }, 20_000)

  test('2,000 idle connections: the server answers others, and closes them', async () => {
    const before = process.memoryUsage().rss
    const lines: Line[] = []
    for (let at = 0; at < 20; at++) lines.push(...(await Promise.all(Array.from({ length: 100 }, () => dial()))))
    const begun = performance.now()
    for (let at = 0; at < 20; at++) await isWell()
    expect(performance.now() - begun).toBeLessThan(5_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000)
    await Promise.all(lines.map(({ closed }) => closed))
    await isWell()
  }, 40_000)
})

describe('requests that are ambiguous or too large', () => {
  const cases: readonly (readonly [what: string, bytes: string, status: number, code: string])[] = [
    ['two lengths', post('Content-Length: 2\r\nContent-Length: 3', '{}'), 400, 'INPUT_INVALID'],
    [
      'a length and chunks',
      post('Content-Length: 2\r\nTransfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n'),
      400,
      'INPUT_INVALID',
    ],
    ['a length that is no number', post('Content-Length: 0x2', '{}'), 400, 'INPUT_INVALID'],
    ['another transfer encoding', post('Transfer-Encoding: gzip', '{}'), 400, 'INPUT_INVALID'],
    ['chunks in disguise', post('Transfer-Encoding: xchunked', '{}'), 400, 'INPUT_INVALID'],
    ['a broken chunk', post('Transfer-Encoding: chunked', 'zz\r\n{}\r\n'), 400, 'INPUT_INVALID'],
    ['no Host', 'GET /api/v1/me HTTP/1.1\r\n\r\n', 400, ''],
    [
      'a header with a line break of its own',
      'GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n',
      400,
      'INPUT_INVALID',
    ],
    ['a header name with a space', 'GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX : a\r\n\r\n', 400, 'INPUT_INVALID'],
    [
      'long headers',
      `GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'REQUEST_TOO_LARGE',
    ],
    [
      'many headers',
      `GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\n${'x: y\r\n'.repeat(5_000)}\r\n`,
      431,
      'REQUEST_TOO_LARGE',
    ],
    ['no HTTP', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000', 400, 'INPUT_INVALID'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'INPUT_INVALID'],
    ['HTTP/0.9', 'GET /api/v1/me\r\n\r\n', 421, 'HOST_REFUSED'],
    ['an announced body that is far too long', post('Content-Length: 100000000000', '{'), 413, 'REQUEST_TOO_LARGE'],
  ]

  test.each(cases)('%s', async (_, bytes, status, code) => {
    const { socket, closed } = await dial()
    socket.write(bytes)
    const { text } = await closed
    if (code === '') expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    else isRefusal(text, status, code)
    await isWell()
  })

  test('a body in chunks that never ends is refused, and its sender reads the refusal', async () => {
    const { socket, closed, text } = await dial()
    socket.write(post('Transfer-Encoding: chunked'))
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    let sent = 0
    while (!socket.destroyed && text() === '') {
      sent += chunk.length
      if (!socket.write(chunk)) await Promise.race([once(socket, 'drain').catch(() => {}), closed])
    }
    isRefusal((await closed).text, 413, 'REQUEST_TOO_LARGE')
    expect(sent).toBeLessThan(limits.requestBytesMax * limits.requestDiscardFactor * 2 + 8_000_000)
    await isWell()
  })

  test('a body that is too long and ends is refused on a connection that can be used again', async () => {
    const { socket, text } = await dial()
    const body = 'x'.repeat(limits.requestBytesMax + 1)
    socket.write(post(`Content-Length: ${body.length}`, body) + get())
    await expect.poll(() => text().match(/HTTP\/1.1 (413|200) /g)).toEqual(['HTTP/1.1 413 ', 'HTTP/1.1 200 '])
    socket.destroy()
  })

  test('pipelined requests are answered in order', async () => {
    const { socket, text } = await dial()
    socket.write(get('/me') + get('/nothing') + get('/health') + get('/runs/%zz'))
    await expect
      .poll(() => text().match(/HTTP\/1.1 \d+/g))
      .toEqual([200, 404, 200, 400].map((each) => `HTTP/1.1 ${each}`))
    socket.destroy()
  })

  test('a client that sends request after request and reads no answer is cut off', async () => {
    const { socket, closed, text } = await dial()
    socket.write(get('/openapi.json').repeat(2_000))
    await closed
    expect(text().match(/HTTP\/1.1 200/g)?.length ?? 0).toBeLessThanOrEqual(limits.requestsPipelined)
    await isWell()
  })

  test('a stream whose answer waits behind another one ends with its connection', async () => {
    const { windows } = watchersOf(engine)
    const { socket, closed } = await dial()
    const run = await engine.start({ is: 'workflow', name: 'waits' } as never, 1)
    socket.write(get(`/runs/${run.runId}/result?wait=60s`) + get('/events?workflow=waits'))
    await expect.poll(() => windows.size).toBe(1)
    socket.destroy()
    await closed
    await expect.poll(() => windows.size).toBe(0)
  })

  test('bytes that follow a request and are none do not take its answer away', async () => {
    const { socket, closed } = await dial()
    socket.write(`${get('/health')}{"workflow":"double"}\r\n\r\n`)
    expect((await closed).text).toMatch(/^HTTP\/1.1 200 [^]*"healthy"/)
  })

  test('clients that go away in the middle leave nothing behind', async () => {
    const lines = await Promise.all(Array.from({ length: 200 }, () => dial()))
    for (const [at, { socket }] of lines.entries()) {
      if (at % 4 === 0) socket.write(post('Content-Length: 1000', '{"workflow":'))
      else if (at % 4 === 1) socket.write('GET /api/v1/ru')
      else socket.write(get('/runs/w:nobody/result?wait=60s'))
      if (at % 2 === 0) socket.resetAndDestroy()
      else socket.end()
    }
    await Promise.all(lines.map(({ closed }) => closed))
    await isWell()
  })
})

describe('close', () => {
  async function another(): Promise<{ readonly api: Api; readonly port: number; readonly url: string }> {
    const one = server(engine, { logger: quiet })
    return { api: one, ...(await one.listen({ port: 0 })) }
  }

  test('under load: requests in progress finish, waits return, later ones are refused, nothing hangs', async () => {
    const { api: one, port: at, url } = await another()
    const idle = await dial(at)
    const half = await dial(at)
    half.socket.write('GET /api/v1/me HT')
    const statuses: (number | string)[] = []
    let isClosing = false
    const client = async (): Promise<void> => {
      while (statuses.at(-1) !== 'refused') {
        try {
          const body = JSON.stringify({ workflow: 'double', input: 1, wait: '10s' })
          const answer = await fetch(`${url}/api/v1/runs`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          })
          await answer.text()
          statuses.push(answer.status)
        } catch {
          if (!isClosing) throw new Error('refused before the server closed')
          statuses.push('refused')
          return
        }
      }
    }
    const { runId } = await engine.start({ is: 'workflow', name: 'waits' } as never, 1)
    const waits = Array.from({ length: 20 }, () => fetch(`${url}/api/v1/runs/${runId}/result?wait=60s`))
    const clients = Array.from({ length: 20 }, client)
    // Until every wait has arrived, also on a busy machine.
    await delay(1_500)
    isClosing = true
    const begun = performance.now()
    await one.close()
    expect(performance.now() - begun).toBeLessThan(6_000)
    for (const answer of await Promise.all(waits)) {
      expect(answer.status).toBe(503)
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(await answer.json()).toMatchObject({ code: 'TRY_LATER' })
    }
    await Promise.all(clients)
    expect(new Set(statuses)).toEqual(new Set([201, ...(statuses.includes(503) ? [503] : []), 'refused']))
    expect(statuses.filter((each) => each === 201).length).toBeGreaterThan(20)
    await Promise.all([idle.closed, half.closed])
  })

  test('a mounted server answers 503 after it', async () => {
    const one = server(engine, { open: true, logger: quiet })
    const waiting = callerOf(one)('runs.updateWithStart', {
      workflow: 'waits',
      workflowId: 'w503',
      update: 'none',
      wait: '60s',
    })
    await delay(100)
    await one.close()
    expect(await waiting).toMatchObject({ status: 503, json: { code: 'TRY_LATER' } })
    expect(await callerOf(one)('me.get')).toMatchObject({ status: 503, json: { code: 'TRY_LATER' } })
  })

  test('twice is once; a closed server does not listen again; a port in use can be tried again', async () => {
    const { api: one, port: used } = await another()
    const two = server(engine, { logger: quiet })
    await expect(two.listen({ port: used })).rejects.toThrow(/another program uses that port/)
    await expect(two.listen({ port: 0 })).resolves.toMatchObject({ port: expect.any(Number) })
    await expect(two.listen({ port: 0 })).rejects.toThrow(/listens already/)
    await Promise.all([one.close(), one.close(), two.close()])
    await one.close()
    const again = one.listen({ port: 0 })
    await expect(again).rejects.toBeInstanceOf(PawlError)
    await expect(again).rejects.toThrow(/closed/)
  })
})
