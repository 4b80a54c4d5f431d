import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { json, refusal, type Seen, serve, stepContext } from '../../../test/support/handlers.ts'
import { notifyWebhook, type WebhookInput, type WebhookOptions } from './notify-webhook.ts'
import { signWebhook, verifyWebhook } from './webhook-signature.ts'

const notify = (input: WebhookInput, options: WebhookOptions = {}, context = stepContext()) =>
  notifyWebhook({ allowPrivate: true, ...options }).handler(input, context)

const secret = `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`

/** By the words of the Standard Webhooks specification, and not by our code. */
function signatureOf({ headers, body }: Seen, key: Buffer): string {
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

describe('A13: notify.webhook.v1', () => {
  test('sends the payload, signed as Standard Webhooks says', async () => {
    const server = await serve(json('thanks'))
    const output = await notify({ url: server.origin, payload: { order: 'A1' } }, { secret })
    const [seen] = server.seen
    if (!seen) throw new Error('nothing came')
    expect(seen).toMatchObject({ method: 'POST', body: '{"order":"A1"}' })
    const key = Buffer.from('a secret of twenty-four b')
    expect(seen.headers['webhook-signature']).toBe(signatureOf(seen, key))
    expect(seen.headers['content-type']).toBe('application/json')
    expect(seen.headers['webhook-id']).not.toContain('.')
    expect(output).toEqual({ status: 200, id: seen.headers['webhook-id'] })
    expect(verifyWebhook(seen.headers, seen.body, secret)).toEqual({
      id: output.id,
      timestamp: new Date(Number(seen.headers['webhook-timestamp']) * 1000),
    })
  })

  test('every attempt has the same id, another step has another; an event wraps the payload', async () => {
    const server = await serve(json(1))
    const { origin: url } = server
    const first = await notify({ url, payload: 1, event: 'order.paid' })
    const again = await notify({ url, payload: 1 }, {}, stepContext({ attempt: 2 }))
    const other = await notify({ url, payload: 1 }, {}, stepContext({ idempotencyKey: 'else' }))
    expect(again.id).toBe(first.id)
    expect(other.id).not.toBe(first.id)
    expect(server.seen.map(({ body }) => body)).toEqual(['{"type":"order.paid","data":1}', '1', '1'])
    expect(server.seen[0]?.headers['webhook-signature']).toBeUndefined()
  })

  test('each host has its own secret, the nearest first; without one nothing goes out', async () => {
    const server = await serve(json(1))
    const options: WebhookOptions = {
      secret: { '*.test': 'far', '*.b.test': ['new', 'old'], 'a.b.test': 'near' },
      lookup: async () => [{ address: '127.0.0.1', family: 4 }], // A STUB of name servers.
    }
    const send = (host: string) => notify({ url: `http://${host}:${server.port}/`, payload: 1 }, options)
    for (const host of ['x.test', 'x.b.test', 'a.b.test']) await send(host)
    const signed = server.seen.map((seen) => seen.headers['webhook-signature'])
    const expected = [['far'], ['new', 'old'], ['near']].map((keys, index) => {
      const seen = server.seen[index]
      return keys.map((key) => seen && signatureOf(seen, Buffer.from(key))).join(' ')
    })
    expect(signed).toEqual(expected)
    expect(await refusal(send('else.example'))).toMatchObject({
      kind: 'permanent',
      code: 'SECRET_UNKNOWN',
    })
    expect(server.seen.length).toBe(3)
  })

  test('a receiver that goes on talking has taken it; one that says no, or points elsewhere, has not', async () => {
    let closed: Promise<unknown> | undefined
    const talking = await serve((_request, response) => {
      closed = once(response, 'close')
      const more = (): void => void response.write('.'.repeat(9_999), () => response.destroyed || more())
      more()
    })
    expect(await notify({ url: talking.origin, payload: 1 })).toMatchObject({ status: 200 })
    await closed
    const answers = [
      [410, 'permanent', 'STATUS_REFUSED'],
      [503, 'retryable', 'STATUS_UNAVAILABLE'],
      [302, 'permanent', 'REDIRECT_REFUSED'],
    ] as const
    for (const [status, kind, code] of answers) {
      const { origin: url } = await serve((_request, response) => {
        response.writeHead(status, { location: talking.origin }).end()
      })
      expect(await refusal(notify({ url, payload: 1 }))).toMatchObject({ kind, code })
    }
    expect(talking.seen.length).toBe(1)
  })

  test('is guarded as every request is', async () => {
    const server = await serve(json(1))
    const input = { url: server.origin, payload: 1 }
    const refused = await refusal(notify(input, { allowPrivate: false }))
    expect(refused).toMatchObject({ code: 'ADDRESS_REFUSED' })
    expect(await refusal(notify(input, { hosts: ['hooks.test'] }))).toMatchObject({
      code: 'HOST_REFUSED',
    })
    expect(await refusal(notify({ url: server.origin } as WebhookInput))).toMatchObject({
      code: 'INPUT_INVALID',
    })
    const large = { url: server.origin, payload: 'x'.repeat(1_100_000) }
    expect(await refusal(notify(large))).toMatchObject({ code: 'REQUEST_TOO_LARGE' })
    expect(server.seen).toEqual([])
    for (const bad of ['', [], { 'a:80': 'x' }, { a: '' }]) {
      expect(() => notifyWebhook({ secret: bad })).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
    }
  })
})

describe('A13: verifyWebhook', () => {
  const now = 1_800_000_000_000
  const headers = (more: Record<string, string> = {}) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1800000000',
    'webhook-signature': signWebhook('msg_1', 1_800_000_000, '{"a":1}', 'key'),
    ...more,
  })
  const verify = (given = headers(), body = '{"a":1}', key: string | string[] = 'key', at = now) =>
    verifyWebhook(given, body, key, { now: at })

  test('the example of the specification', () => {
    const given = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const body = '{"test": 2432232314}'
    const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    expect(verifyWebhook(given, body, key, { now: 1_614_265_330_000 }).id).toBe(given['webhook-id'])
  })

  test('takes what was signed, by an old secret, too, from fetch, and as bytes', () => {
    expect(verify().id).toBe('msg_1')
    expect(verify(headers(), '{"a":1}', ['new', 'key']).id).toBe('msg_1')
    expect(verifyWebhook(new Headers(headers()), Buffer.from('{"a":1}'), 'key', { now }).id).toBe('msg_1')
    const several = `v1,AAAA v2,xyz ${headers()['webhook-signature']}`
    expect(verify(headers({ 'webhook-signature': several })).id).toBe('msg_1')
  })

  const signature = headers()['webhook-signature']
  test.each([
    ['another body', () => verify(headers(), '{"a":2}')],
    ['another secret', () => verify(headers(), '{"a":1}', 'other')],
    ['another id', () => verify(headers({ 'webhook-id': 'msg_2' }))],
    ['another time', () => verify(headers({ 'webhook-timestamp': '1800000001' }))],
    ['too old', () => verify(headers(), '{"a":1}', 'key', now + 301_000)],
    ['from the future', () => verify(headers(), '{"a":1}', 'key', now - 301_000)],
    ['a time that is none', () => verify(headers({ 'webhook-timestamp': 'NaN' }))],
    ['no signature', () => verify(headers({ 'webhook-signature': '' }))],
    ['an empty signature', () => verify(headers({ 'webhook-signature': 'v1,' }))],
    ['half a signature', () => verify(headers({ 'webhook-signature': signature.slice(0, 30) }))],
    ['another scheme', () => verify(headers({ 'webhook-signature': signature.replace('v1', 'v2') }))],
    ['no headers', () => verifyWebhook({}, '', 'key')],
  ])('refuses %s', (_name, verifying) => {
    expect(verifying).toThrow(/the webhook cannot be verified/)
  })

  test('an empty secret verifies nothing', () => {
    const signed = createHmac('sha256', '').update('msg_1.1800000000.{"a":1}').digest('base64')
    const given = headers({ 'webhook-signature': `v1,${signed}` })
    expect(() => verify(given, '{"a":1}', '')).toThrow(/is empty/)
    expect(() => verify(given, '{"a":1}', [])).toThrow(/is empty/)
    // Base64 of nothing.
    expect(() => verify(given, '{"a":1}', 'whsec_A')).toThrow(/is empty/)
  })
})
