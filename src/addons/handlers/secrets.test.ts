import { describe, expect, test } from 'vitest'
import { json, refusal, serve, stepContext } from '../../../test/support/handlers.ts'
import { type CallInput, callExternalService, type HttpOptions } from './call-external-service.ts'

const call = (input: CallInput, options: HttpOptions) => callExternalService(options).handler(input, stepContext())

const asked = { authorization: { secret: 'billing', prefix: 'Bearer ' } }

describe('A12: secrets', () => {
  test('are put into headers by name, and may be asked for each time', async () => {
    const server = await serve(json(1))
    let rotations = 0
    const options = {
      allowPrivate: true,
      secrets: {
        billing: { value: 's3cret', hosts: ['127.0.0.1'] },
        rotating: { value: async () => `key-${++rotations}`, hosts: ['127.0.0.1'] },
      },
    }
    const headers = { ...asked, 'x-key': { secret: 'rotating' } }
    await call({ url: server.origin, headers }, options)
    await call({ url: server.origin, headers }, options)
    expect(server.seen.map(({ headers: sent }) => [sent['authorization'], sent['x-key']])).toEqual([
      ['Bearer s3cret', 'key-1'],
      ['Bearer s3cret', 'key-2'],
    ])
  })

  test('go only to hosts they are for, and nobody is told what they are', async () => {
    const server = await serve(json(1))
    const options = {
      allowPrivate: true,
      secrets: { billing: { value: 's3cret', hosts: ['billing.test'] } },
    }
    const refused = await refusal(call({ url: server.origin, headers: asked }, options))
    expect(refused).toMatchObject({
      kind: 'permanent',
      code: 'SECRET_REFUSED',
      details: { secret: 'billing', host: '127.0.0.1' },
    })
    expect(refused.message).not.toContain('s3cret')
    expect(server.seen).toEqual([])
  })

  test('that are for no host in particular need a list of hosts', async () => {
    expect(() => callExternalService({ secrets: { billing: 's3cret' } })).toThrow(
      expect.objectContaining({ code: 'DEFINITION_INVALID' }),
    )
    const server = await serve(json(1))
    const options = { allowPrivate: true, hosts: ['127.0.0.1'], secrets: { billing: 's3cret' } }
    await call({ url: server.origin, headers: asked }, options)
    expect(server.seen[0]?.headers['authorization']).toBe('Bearer s3cret')
  })

  test('do not go out into the world without TLS', async () => {
    const options: HttpOptions = {
      hosts: ['billing.test'],
      secrets: { billing: 's3cret' },
      // A STUB of name servers. Nothing connects to it: the refusal comes before.
      lookup: async () => [{ address: '93.184.216.34', family: 4 }],
    }
    const refused = await refusal(call({ url: 'http://billing.test/', headers: asked }, options))
    expect(refused).toMatchObject({ kind: 'permanent', code: 'SECRET_REFUSED' })
    expect(refused.message).toMatch(/without TLS/)
  })

  test.each([
    ['unknown', { a: { secret: 'other' } }, 'SECRET_UNKNOWN', /the secret 'other', which does not exist/],
    ['inherited', { a: { secret: 'toString' } }, 'SECRET_UNKNOWN', /the secret 'toString', which does not exist/],
    ['empty', { a: { secret: 'empty' } }, 'SECRET_UNKNOWN', /is empty/],
    ['two lines', { a: { secret: 'broken' } }, 'INPUT_INVALID', /characters that headers may not have/],
    ['no reference', { a: { value: 'x' } }, 'INPUT_INVALID', /unknown field `value`/],
  ])('%s: refused', async (_name, headers, code, message) => {
    const secrets = { empty: '', broken: 's3cret\r\nx-evil: 1' }
    const options = { hosts: ['billing.test'], secrets }
    const input = { url: 'https://billing.test/', headers } as unknown as CallInput
    const refused = await refusal(call(input, options))
    expect(refused).toMatchObject({ kind: 'permanent', code })
    expect(refused.message).toMatch(message)
    expect(refused.message).not.toContain('s3cret')
  })
})

describe('A12: headers of the input', () => {
  test.each([
    [{ 'x-a': 'a\r\nx-evil: 1' }],
    [{ 'x-a': 'a\nb' }],
    [{ 'x-a': 'a\0' }],
    [{ 'x-a': '\u{1f600}' }],
    [{ 'x-a: 1\r\nx-evil': 'a' }],
    [{ 'x a': 'a' }],
    [{ '': 'a' }],
    [{ Host: 'internal' }],
    [{ 'Content-Length': '3' }],
    [{ 'transfer-encoding': 'chunked' }],
    [{ connection: 'upgrade' }],
    [{ 'Proxy-Authorization': 'x' }],
    [{ 'accept-encoding': 'gzip' }],
    [{ 'X-A': '1', 'x-a': '2' }],
  ])('%j is refused', async (headers) => {
    const server = await serve(json(1))
    const input: CallInput = { url: server.origin, headers }
    expect(await refusal(call(input, { allowPrivate: true }))).toMatchObject({
      kind: 'permanent',
      code: 'INPUT_INVALID',
    })
    expect(server.seen).toEqual([])
  })
})
