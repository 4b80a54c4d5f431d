import { expect, test } from 'vitest'
import { connectionOptions } from './connection.ts'
import { placeOf } from './place.ts'

const base = 'postgres://user:secret@host:5432/database'

test('what is pawl’s own is read, and the rest goes to the driver', () => {
  const place = placeOf(
    `${base}?schema=mine&pool=5&sslmode=verify-full&listen=${encodeURIComponent('postgres://direct/database')}`,
  )
  expect(place).toEqual({
    url: `${base}?sslmode=verify-full`,
    listenUrl: 'postgres://direct/database',
    schema: '"mine"',
    channel: 'pawl_mine',
    pool: 5,
    options: '',
  })
})

test.each<[string, RegExp]>([
  ['shcema=staging', /no parameter 'shcema'; it has .*Did you mean 'schema'\?/],
  ['pol=8', /Did you mean 'pool'\?/],
  ['ssl_mode=require', /Did you mean 'sslmode'\?/],
  ['colour=blue', /no parameter 'colour'; it has schema, pool, listen, options/],
  ['schema=Bad', /schema 'Bad' is not a name/],
  ['pool=2', /pool must be a whole number/],
  ['listen=nowhere', /parameter `listen` cannot be read/],
])('faults 4.7: ?%s is refused', (query, message) => {
  expect(() => placeOf(`${base}?${query}`)).toThrow(
    expect.objectContaining({ code: 'STORE_URL_INVALID', message: expect.stringMatching(message) }),
  )
})

test('faults 4.7: what libpq and the driver know is taken', () => {
  const known =
    'sslmode=disable&host=/tmp&application_name=x&connect_timeout=5&options=-c%20work_mem%3D1MB&sslrootcert=a&user=u&port=1'
  expect(() => placeOf(`${base}?${known}`)).not.toThrow()
})

test('stores D11: options in the URL stand before those that pawl relies on', () => {
  const place = placeOf(`${base}?options=-c%20work_mem%3D8MB%20-c%20default_transaction_isolation%3Dserializable`)
  expect(place.url).toBe(base)
  expect(connectionOptions(place, 'pawl').options).toMatch(
    /work_mem=8MB .*=serializable .*default_transaction_isolation=read\\ committed/,
  )
  expect(connectionOptions(place, 'pawl', true)).not.toHaveProperty('options')
})
