import { deepStrictEqual } from 'node:assert/strict'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PawlError, type PawlErrorCode } from './errors.ts'
import { limits } from './limits.ts'
import { decode, encode, type Json, type Note, type Payload } from './value.ts'

test('plain JSON is stored as it is, without notes', () => {
  const value = { a: [1, 'two', true, null], b: { c: {} }, d: [] }
  expect(encode(value, 'it')).toStrictEqual({ json: value })
  expect(roundTrip(value)).toStrictEqual(value)
  expect(encode('text', 'it')).toStrictEqual({ json: 'text' })
  expect(encode(null, 'it')).toStrictEqual({ json: null })
})

test.each<[string, unknown, Json, readonly Note[]]>([
  ['undefined', undefined, null, [['undefined']]],
  ['an undefined property', { a: undefined }, { a: null }, [['undefined', 'a']]],
  ['an undefined item', [undefined, 1], [null, 1], [['undefined', 0]]],
  ['NaN', Number.NaN, null, [['nan']]],
  ['infinity', [Number.POSITIVE_INFINITY], [null], [['infinity', 0]]],
  ['minus infinity', Number.NEGATIVE_INFINITY, null, [['-infinity']]],
  ['minus zero', { n: -0 }, { n: 0 }, [['-0', 'n']]],
  ['a bigint', 12345678901234567890n, '12345678901234567890', [['bigint']]],
  ['a negative bigint', -5n, '-5', [['bigint']]],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z', [['date']]],
  ['a date before our era', new Date(-8.64e15), '-271821-04-20T00:00:00.000Z', [['date']]],
  ['an invalid date', new Date(Number.NaN), null, [['date']]],
  ['a URL', new URL('https://a.example/b?c#d'), 'https://a.example/b?c#d', [['url']]],
  ['bytes', new Uint8Array([1, 2, 255]), 'AQL/', [['bytes']]],
  ['no bytes', new Uint8Array(), '', [['bytes']]],
  ['faults 4.8: an ArrayBuffer', new Uint8Array([1, 2, 255]).buffer, 'AQL/', [['buffer']]],
  ['a set', new Set([1, 'a']), [1, 'a'], [['set']]],
  ['a map', new Map<unknown, unknown>([['k', 1]]), [['k', 1]], [['map']]],
])('%s comes back as it went in', (_, value, json, notes) => {
  const payload = encode(value, 'it')
  expect(payload).toStrictEqual({ json, notes })
  expect(decode(stored(payload))).toStrictEqual(value)
})

test('kinds nest in one another', () => {
  const value = new Map<unknown, unknown>([
    [new Date(5), new Set([new Map([[1n, [undefined, -0]]])])],
    [{ object: 'key' }, new URL('http://a.example/')],
    [Number.NaN, { deep: [{ at: new Date(6) }] }],
  ])
  expect(roundTrip(value)).toStrictEqual(value)
})

test('an undefined property stays present, a hole becomes undefined', () => {
  expect(Object.keys(roundTrip({ a: undefined }) as object)).toEqual(['a'])
  const sparse: unknown[] = [1]
  sparse[2] = 3
  expect(roundTrip(sparse)).toStrictEqual([1, undefined, 3])
})

test('buffers come back as bytes with memory of their own', () => {
  const big = Buffer.from('xhellox')
  expect(roundTrip(big.subarray(1, 6))).toStrictEqual(new Uint8Array(Buffer.from('hello')))
  const back = roundTrip(big) as Uint8Array
  expect(Object.getPrototypeOf(back)).toBe(Uint8Array.prototype)
  expect(back.buffer.byteLength).toBe(7)
})

test('an error keeps its name, message, stack, cause, code and data', () => {
  const error = Object.assign(new TypeError('no', { cause: new RangeError('deep') }), {
    code: 'E_NO',
    when: new Date(3),
  })
  const back = roundTrip(error) as typeof error
  expect(back).toBeInstanceOf(Error)
  expect([back.name, back.message, back.stack]).toEqual(['TypeError', 'no', error.stack])
  expect([back.code, back.when]).toEqual(['E_NO', new Date(3)])
  expect((back.cause as Error).name).toBe('RangeError')
  expect((back.cause as Error).message).toBe('deep')
  expect(Object.keys(back)).toEqual(['code', 'when'])
})

test('errors of the platform are kept too', () => {
  const aggregate = roundTrip(new AggregateError([new Error('a'), 'b'], 'both')) as AggregateError
  expect(aggregate).toBeInstanceOf(AggregateError)
  expect(aggregate.message).toBe('both')
  expect((aggregate.errors as unknown[])[0]).toBeInstanceOf(Error)
  expect((aggregate.errors as unknown[])[1]).toBe('b')
  expect(roundTrip(new DOMException('stop', 'AbortError'))).toMatchObject({ name: 'AbortError' })
  const empty = roundTrip(new Error('', { cause: undefined })) as Error
  expect(Object.hasOwn(empty, 'cause')).toBe(true)
  expect(empty.name).toBe('Error')
})

test('data that looks like a note, or like a trap, comes back as data', () => {
  const value = JSON.parse(
    `{ "notes": [["date", "json"]], "json": "x", "$date": 5, "constructor": { "prototype": 1 },
       "__proto__": { "polluted": true, "__proto__": null }, "toJSON": "no", "hasOwnProperty": 1 }`,
  )
  const back = roundTrip(value) as object
  deepStrictEqual(back, value)
  expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
  expect(Object.hasOwn(back, '__proto__')).toBe(true)
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('kinds below a property named __proto__ come back', () => {
  const value = Object.defineProperty({}, '__proto__', {
    value: { at: new Date(9), un: undefined },
    enumerable: true,
    configurable: true,
    writable: true,
  })
  expect(roundTrip(value)).toStrictEqual(value)
})

test('any value made of the kinds comes back equal', () => {
  fc.assert(
    // Node's comparison: vitest's takes data named `constructor` for the class.
    fc.property(anyValue(), (value) => deepStrictEqual(roundTrip(value), value)),
    { numRuns: 500 },
  )
})

test('any JSON is its own payload', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value)
      const { json, notes } = encode(JSON.parse(text), 'it')
      expect(JSON.stringify(json)).toBe(text)
      expect(notes).toBeUndefined()
    }),
  )
})

test('a payload does not change with the value, nor a value with the payload', () => {
  const inner = { n: 1 }
  const value = {
    list: [1],
    map: new Map([['a', inner]]),
    at: new Date(0),
    raw: new Uint8Array(1),
  }
  const payload = encode(value, 'it')
  const before = JSON.stringify(payload)
  value.list.push(2)
  inner.n = 2
  value.at.setTime(5)
  value.raw[0] = 9
  expect(JSON.stringify(payload)).toBe(before)

  const first = decode(payload) as typeof value
  first.list.push(3)
  first.map.clear()
  expect(decode(payload)).toStrictEqual({
    list: [1],
    map: new Map([['a', { n: 1 }]]),
    at: new Date(0),
    raw: new Uint8Array(1),
  })
  expect(JSON.stringify(payload)).toBe(before)
})

test('a frozen payload can be decoded, and what comes out is not frozen', () => {
  const value = decode({ json: Object.freeze({ a: Object.freeze([1]) }) }) as { a: number[] }
  value.a.push(2)
  expect(value).toEqual({ a: [1, 2] })
})

test('an object met twice is written twice', () => {
  const shared = { n: 1 }
  expect(roundTrip({ a: shared, b: [shared, shared] })).toStrictEqual({
    a: { n: 1 },
    b: [{ n: 1 }, { n: 1 }],
  })
})

class Owner {
  readonly name = 'Ada'
}
class Later extends Date {}
class Names extends Map<string, string> {}
class List extends Array<number> {}

test.each<[string, unknown, RegExp]>([
  ['a function', () => 1, /is a function.*not code/],
  ['a symbol', Symbol('s'), /is a symbol.*use a string/],
  ['an instance', new Owner(), /instance of the class Owner.*return a plain object/],
  ['a date of a class', new Later(), /class Later/],
  ['a map of a class', new Names(), /class Names/],
  ['an array of a class', new List(), /class List/],
  ['an object of a class without a name', new (class {})(), /class without a name/],
  ['an object with a prototype of its own', Object.create({ a: 1 }), /plain object/],
  ['a weak map', new WeakMap(), /WeakMap.*use a Map/],
  ['a weak set', new WeakSet(), /WeakSet.*a Set/],
  ['a weak reference', new WeakRef({}), /WeakRef/],
  ['a promise', Promise.resolve(1), /is a Promise.*await it first/],
  ['a regular expression', /a/, /RegExp.*source/],
  ['other typed arrays', new Float64Array(1), /Float64Array.*Uint8Array/],
  ['big typed arrays', new BigInt64Array(1), /BigInt64Array.*Uint8Array/],
  ['clamped bytes', new Uint8ClampedArray(1), /Uint8ClampedArray.*Uint8Array/],
  ['a view', new DataView(new ArrayBuffer(1)), /DataView/],
  ['shared memory', new SharedArrayBuffer(1), /SharedArrayBuffer/],
  ['a boxed string', new String('a'), /class String/],
  ['query parameters', new URLSearchParams(), /class URLSearchParams/],
])('%s is refused with its path and what to do', (_, value, message) => {
  const error = refused({ items: [0, 1, 2, { owner: value }] }, 'NOT_SERIALISABLE')
  expect(error.message).toMatch(/^the result of step 'charge' at items\[3\]\.owner is /)
  expect(error.message).toMatch(message)
  expect(error.details).toEqual({ path: ['items', 3, 'owner'] })
  expect(refused(value, 'NOT_SERIALISABLE').message).toMatch(/^the result of step 'charge' is /)
})

test('paths in errors are short and quoted where needed', () => {
  const inMap = refused(new Map([['a b', { 'c d': () => 1 }]]), 'NOT_SERIALISABLE')
  expect(inMap.message).toContain(' at [0][1]["c d"] is')
  const long = refused({ ['k'.repeat(100_000)]: Symbol() }, 'NOT_SERIALISABLE')
  expect(long.message.length).toBeLessThan(300)
})

test('cycles are refused', () => {
  const node: { next?: unknown; list: unknown[] } = { list: [] }
  node.list.push({ back: node })
  expect(refused(node, 'NOT_SERIALISABLE').message).toMatch(/at list\[0\]\.back refers back/)
  const map = new Map<string, unknown>()
  map.set('self', map)
  refused(map, 'NOT_SERIALISABLE')
  const error = new Error('a')
  error.cause = error
  expect(refused(error, 'NOT_SERIALISABLE').message).toMatch(/at cause refers back/)
})

test('depth is bounded', () => {
  const deepest = nested(limits.payloadDepthMax)
  expect(roundTrip(deepest)).toStrictEqual(deepest)
  const error = refused(nested(limits.payloadDepthMax + 1), 'NOT_SERIALISABLE')
  expect(error.message).toContain('more than 200 levels')
  refused(nested(100_000), 'NOT_SERIALISABLE')
})

test('a map is two levels, itself and its pairs', () => {
  let value: unknown = new Map([[1, 2]])
  for (let level = 1; level < limits.payloadDepthMax - 1; level++) value = [value]
  expect(roundTrip(value)).toStrictEqual(value)
  refused([value], 'NOT_SERIALISABLE')
})

test('size is bounded in bytes of UTF-8, exactly', () => {
  const fits = 'a'.repeat(limits.payloadBytesMax - 2)
  expect(roundTrip(fits)).toBe(fits)
  const error = refused(`${fits}a`, 'PAYLOAD_TOO_LARGE')
  expect(error.message).toContain('takes 1048577 bytes as JSON, the limit is 1048576')
  refused('é'.repeat(limits.payloadBytesMax / 2), 'PAYLOAD_TOO_LARGE')
  refused('\u0000'.repeat(limits.payloadBytesMax / 5), 'PAYLOAD_TOO_LARGE')
  refused({ ['k'.repeat(limits.payloadBytesMax)]: 1 }, 'PAYLOAD_TOO_LARGE')
  refused(new Uint8Array(limits.payloadBytesMax), 'PAYLOAD_TOO_LARGE')
})

test('what is far too large is refused without being copied to the end', () => {
  let doubled: unknown = []
  for (let level = 0; level < 100; level++) doubled = [doubled, doubled]
  expect(refused(doubled, 'PAYLOAD_TOO_LARGE').message).toContain('more than 4194304 bytes')
  refused(new Array(1_000_000_000), 'PAYLOAD_TOO_LARGE')
  refused(new Array(10_000_000).fill(null), 'PAYLOAD_TOO_LARGE')
  refused('a'.repeat(100_000_000), 'PAYLOAD_TOO_LARGE')
})

test('notes count towards the size', () => {
  refused(new Array(150_000).fill(undefined), 'PAYLOAD_TOO_LARGE')
})

test('getters and proxies that throw are refused, and the cause kept', () => {
  const boom = new Error('boom')
  const thrower = {
    get a(): never {
      throw boom
    },
  }
  const error = refused({ x: thrower }, 'NOT_SERIALISABLE')
  expect(error.message).toContain(' at x cannot be read')
  expect(error.cause).toBe(boom)
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  refused({ proxy }, 'NOT_SERIALISABLE')
})

test('objects without a prototype are plain', () => {
  expect(roundTrip(Object.assign(Object.create(null), { a: 1 }))).toStrictEqual({ a: 1 })
})

test('values of another realm are what they are', () => {
  const foreign: unknown = runInNewContext(
    '({ list: [new Date(0)], map: new Map([[1, new Set([2])]]), raw: new Uint8Array([3]) })',
  )
  expect(roundTrip(foreign)).toStrictEqual({
    list: [new Date(0)],
    map: new Map([[1, new Set([2])]]),
    raw: new Uint8Array([3]),
  })
  const error = roundTrip(runInNewContext("new RangeError('far')")) as Error
  expect(error).toBeInstanceOf(Error)
  expect([error.name, error.message]).toEqual(['RangeError', 'far'])
})

test.each<[string, unknown]>([
  ['an unknown kind', { json: 1, notes: [['hologram']] }],
  ['notes that are no list', { json: 1, notes: {} }],
  ['a note that is no list', { json: 1, notes: ['date'] }],
  ['a note without a kind', { json: 1, notes: [[]] }],
  ['a date that is a number', { json: 1, notes: [['date']] }],
  ['a bigint of letters', { json: '1x', notes: [['bigint']] }],
  ['a bigint of nothing', { json: '', notes: [['bigint']] }],
  ['a URL that is none', { json: 'no', notes: [['url']] }],
  ['bytes of a list', { json: [1], notes: [['bytes']] }],
  ['a set of an object', { json: {}, notes: [['set']] }],
  ['a map of items', { json: [1], notes: [['map']] }],
  ['a map of long pairs', { json: [[1, 2, 3]], notes: [['map']] }],
  ['an error of text', { json: 'e', notes: [['error']] }],
  ['an error of a list', { json: [], notes: [['error']] }],
  ['an error of null', { json: { a: null }, notes: [['error', 'a']] }],
  ['endless nesting', { json: nested(100_000) }],
])('%s is a clear error', (_, payload) => {
  expect(() => decode(payload as Payload)).toThrow(/^a stored value cannot be read: /)
})

test('notes whose path is not there are ignored, and none reaches a prototype', () => {
  const notes: Note[] = [
    ['date', 'b'],
    ['undefined', '__proto__', 'polluted'],
    ['set', 'constructor', 'prototype'],
    ['error', 'a', 'length'],
    ['nan', 0],
  ]
  const before = Object.getOwnPropertyNames(Object.prototype)
  expect(decode({ json: { a: [1] }, notes })).toStrictEqual({ a: [1] })
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
})

test('any notes on any JSON decode or say why not', () => {
  const kinds = ['date', 'map', 'set', 'error', 'aggregate', 'bigint', 'undefined', 'url', 'bytes']
  const key = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'a', ''), fc.nat(3))
  const note = fc.tuple(fc.constantFrom(...kinds), fc.array(key, { maxLength: 3 }))
  const before = Object.getOwnPropertyNames(Object.prototype)
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(note), (json, drawn) => {
      const notes = drawn.map(([kind, path]): Note => [kind, ...path])
      try {
        decode({ json: json as Json, notes })
      } catch (error) {
        expect(error).toBeInstanceOf(PawlError)
      }
    }),
  )
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before)
})

function anyValue(): fc.Arbitrary<unknown> {
  const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'notes', '$date'))
  const leaf = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.boolean(),
    fc.bigInt(),
    fc.date({ noInvalidDate: false }),
    fc.uint8Array().map((bytes) => Uint8Array.from(bytes)),
    fc.webUrl().map((text) => new URL(text)),
    fc.constantFrom(null, undefined, -0, Number.NaN, Number.POSITIVE_INFINITY, '\ud800'),
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, leaf, tie('list'), tie('record'), tie('map'), tie('set')),
    list: fc.array(tie('value')),
    record: fc.array(fc.tuple(key, tie('value'))).map((entries) => Object.fromEntries(entries)),
    map: fc.array(fc.tuple(tie('value'), tie('value'))).map((entries) => new Map(entries)),
    set: fc.array(tie('value')).map((items) => new Set(items)),
  }))
  return value
}

function nested(levels: number): Json {
  let value: Json = []
  for (let level = 1; level < levels; level++) value = [value]
  return value
}

/** As a store would hold it. */
function stored(payload: Payload): Payload {
  return JSON.parse(JSON.stringify(payload)) as Payload
}

function roundTrip(value: unknown): unknown {
  return decode(stored(encode(value, 'it')))
}

function refused(value: unknown, code: PawlErrorCode): PawlError {
  try {
    encode(value, "the result of step 'charge'")
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError)
    expect((error as PawlError).code).toBe(code)
    return error as PawlError
  }
  throw new Error('it was not refused')
}
