// Requests made from the JSON Schemas of the operations: valid ones, near misses, and hostile ones.
import fc from 'fast-check'
import { type OperationName, type Route, routes } from '../../src/operations/routes.ts'
import { inputSchemas, propertiesOf } from '../../src/server/openapi.ts'
import { type Input, samples, type Wire, wireOf } from './support.ts'

/** A request, with a body that need not be text. */
export type FuzzedWire = Omit<Wire, 'body'> & { readonly name: OperationName; readonly body?: string | Uint8Array }

/** Ids and tokens of what exists, so that requests get further than to 404. */
export interface Known {
  readonly runs: readonly string[]
  readonly tokens: readonly string[]
}

type Schema = Readonly<Record<string, unknown>>

const nasty = [
  ...['', ' ', '\u0000', '\u001b[31m', '\ud800', '\udfff', '\u202e', '\ufeff', '%', '%zz', '..', '.', '/', '//', '\\'],
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'null', 'undefined', 'NaN', '-0', '1e999'],
  ...["' OR 1=1 --", '%_', '*', '{}', '[]', '"', '<script>alert(1)</script>', '${7*7}', '{{ input }}', '\r\nX: y'],
  ...['w:', 'w:\u0000', 'activity:charge', 'pawl.schedule', 'x'.repeat(300), 'x'.repeat(2_000), '💥'.repeat(150)],
  ...['P1Y', '1e9d', '-5s', '999999999999d', '2026-02-30T00:00:00Z', '9999-12-31T23:59:59Z', '+275760-09-13T00:00:00Z'],
  ...['0 0 30 2 *', '* * * * * *', '@hourly', `${'*,'.repeat(600)}*`, 'Europe/Nowhere', 'UTC'],
]
const numbers = [0, -0, -1, 1, 0.5, 1e21, 1e308, -1e308, 2 ** 31, 2 ** 53, 2 ** 53 + 2, Number.MAX_SAFE_INTEGER, 5e-324]

const nastyText = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...nasty) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  // With surrogates that stand alone.
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 10 }).map((units) => String.fromCharCode(...units)),
)
const poisoned = fc.constantFrom(
  ...['{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"polluted":true}}}', '{"toJSON":1,"then":2}'],
  ...['{"is":"workflow","name":"double"}', '{"is":"signal"}', '{"json":1,"notes":[["date"]]}', '{"length":-1}'],
)
const deep = fc
  .tuple(fc.constantFrom(10, 150, 199, 201, 230, 5_000), fc.boolean())
  .map(([levels, isList]) =>
    isList ? '['.repeat(levels) + ']'.repeat(levels) : `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`,
  )

/** Any JSON value, as a value or, marked by `Raw`, as the text itself. */
class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
const anything: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: nastyText },
  { weight: 3, arbitrary: fc.constantFrom(...numbers, true, false, null) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  poisoned.map((text) => new Raw(text)),
  deep.map((text) => new Raw(text)),
  fc.constantFrom('1e400', '-1e400', '123456789012345678901234567890', '1.0', '-0').map((text) => new Raw(text)),
)

/** A value that the schema allows, mostly. */
function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  const { type, anyOf, format, properties, items, examples, minimum, maximum } = schema
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as readonly unknown[]))
  if (Array.isArray(anyOf)) {
    const given = Array.isArray(examples) ? [fc.constantFrom(...(examples as readonly unknown[]))] : []
    return fc.oneof(...(anyOf as readonly Schema[]).map(valueOf), ...given)
  }
  switch (type) {
    case 'integer':
    case 'number': {
      const [min, max] = [Number(minimum ?? -1_000), Number(maximum ?? 1_000)]
      const edges = [min, max, min - 1, max + 1, min + 0.5]
      return fc.oneof(
        fc.integer({ min: Math.ceil(min), max: Math.max(min, Math.min(max, 2 ** 31)) }),
        fc.constantFrom(...edges),
      )
    }
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(items === undefined || items === true ? anything : valueOf(items as Schema), { maxLength: 4 })
    case 'object':
      return properties === undefined
        ? fc.oneof(attributes, anything)
        : objectOf(properties as Readonly<Record<string, Schema>>)
    case 'string':
      if (format !== 'date-time')
        return fc.oneof(fc.constantFrom('double', 'waits', 'charge', 'a', 'id-1', '10ms'), nastyText)
      return fc.oneof(
        fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
        nastyText,
      )
    default:
      return anything
  }
}

const attributes = fc.dictionary(
  fc.oneof(fc.constantFrom('region', 'total'), nastyText),
  fc.oneof(anything, fc.record({ gte: anything, lt: anything }, { requiredKeys: [] })),
  { maxKeys: 3 },
)

function objectOf(properties: Readonly<Record<string, Schema>>): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  const fields = Object.entries(properties).map(([name, schema]) => [name, valueOf(schema)] as const)
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] })
}

/** Long waits would only make the fuzz slow. */
const shortWait = fc.oneof(fc.constantFrom('0s', '1ms', 5, '20ms'), fc.constantFrom('soon', -1, null, {}, '\u0000'))

function inputOf(name: OperationName, { runs, tokens }: Known): fc.Arbitrary<Input> {
  const properties = propertiesOf(name)
  const real: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    run: fc.constantFrom(...runs),
    token: fc.constantFrom(...tokens),
    schedule: fc.constantFrom('nightly', 'weekly'),
    workflow: fc.constantFrom('double', 'waits', 'fails', 'hooked', 'pipeline', 'activity:charge', 'pawl.schedule'),
    workflowId: fc.constantFrom('with-signal', 'a', 'b'),
    name: fc.constantFrom('go', 'add', 'total', 'steps', 'data'),
    step: fc.constantFrom('charge', 'activity:charge#1', 'one'),
    messageId: fc.constantFrom('m1', 'm2', 'm3'),
    idempotencyKey: fc.constantFrom('k1', 'k2', 'k3'),
    cron: fc.constantFrom('0 3 * * *', '*/5 * * * *'),
    every: fc.constantFrom('1h', '30s'),
  }
  const fields = Object.entries(properties).map(([field, schema]) => {
    const usual = field === 'wait' ? shortWait : valueOf(schema)
    const known = real[field] ?? usual
    const hostile = field === 'wait' ? shortWait : anything
    return [field, fc.oneof({ weight: 6, arbitrary: known }, { weight: 3, arbitrary: usual }, hostile)] as const
  })
  const required = ((inputSchemas[name]['required'] ?? []) as readonly string[]).filter((field) => field in properties)
  const few = fc.record(Object.fromEntries(fields), { requiredKeys: [...required] })
  // Most optional fields are left out, because one that is wrong hides the others.
  const optional = Object.keys(properties).filter((field) => !required.includes(field))
  const chosen = fc.subarray(optional, { maxLength: Math.min(3, optional.length) })
  return fc.tuple(few, chosen, fc.constantFrom<Input>(samples[name], {})).map(([all, kept, sample]) => {
    const picked = Object.entries(all).filter(([field]) => required.includes(field) || kept.includes(field))
    return { ...sample, ...Object.fromEntries(picked) }
  })
}

const headers = fc.record(
  {
    'idempotency-key': fc.oneof(fc.constantFrom('k1', 'k2', '', 'x'.repeat(256)), fc.string({ maxLength: 20 })),
    accept: fc.constantFrom('application/vnd.pawl+json', '*/*', 'text/html', ''),
    'content-type': fc.constantFrom(
      ...['application/vnd.pawl+json', 'application/json; charset=utf-16', 'text/plain', '', ';', 'application/JSON'],
    ),
    'x-reason': fc.string({ maxLength: 30 }),
    'content-encoding': fc.constantFrom('gzip', 'identity'),
    range: fc.constant('bytes=0-1'),
    'if-none-match': fc.constant('*'),
    'x-http-method-override': fc.constant('DELETE'),
    'x-forwarded-host': fc.constant('evil.example'),
    __proto__: fc.constant('x'),
  },
  { requiredKeys: [] },
)

function jsonOf(input: unknown): string {
  const raws: string[] = []
  const text = JSON.stringify(input, (_, value: unknown) => {
    if (!(value instanceof Raw)) return value
    raws.push(value.text)
    return `\u0001raw${raws.length - 1}\u0001`
  })
  return (text ?? 'null').replace(/"\\u0001raw(\d+)\\u0001"/g, (_, at: string) => raws[Number(at)] ?? 'null')
}

/** Text as JSON would quote it in a URL. */
function rawless(input: Input): Input {
  const entries = Object.entries(input)
  return Object.fromEntries(entries.map(([name, value]) => [name, value instanceof Raw ? value.text : value]))
}

const spoiled: fc.Arbitrary<(body: string) => string | Uint8Array> = fc.oneof(
  fc.nat(200).map((at) => (body: string) => body.slice(0, at)),
  nastyText.map((text) => (body: string) => body.slice(0, 1) + text + body.slice(1)),
  poisoned.map((text) => (body: string) => body.replace(/}$/, `${body.length > 2 ? ',' : ''}${text.slice(1)}`)),
  anything.map((value) => () => jsonOf(value)),
  fc.constant((body: string) => `\ufeff${body}`),
  fc.constant((body: string) => body.replace(/^{("[^"]+":)/, '{$1 1,$1')),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => (body: string) => Buffer.concat([Buffer.from(body), bytes])),
  fc.constant((body: string) => Buffer.from(body, 'utf16le')),
  fc.constant((body: string) => `{"json":${body},"notes":[["map","input"],["date","payload"]]}`),
  fc
    .array(
      fc.tuple(
        fc.constantFrom('date', 'bigint', 'url', 'set', 'map', 'error', 'bytes', 'x'),
        fc.constantFrom('input', 'run', '__proto__', 0),
      ),
    )
    .map((notes) => (body: string) => `{"json":${body},"notes":${JSON.stringify(notes)}}`),
)

const spoiledTarget: fc.Arbitrary<(target: string) => string> = fc.oneof(
  nastyText.map(
    (text) => (target: string) => `${target}${target.includes('?') ? '&' : '?'}${encoded(text)}=${encoded(text)}`,
  ),
  fc.constant((target: string) => target.replace(/[?&]([^=&]+)=([^&]*)/, '$&&$1=$2')),
  fc
    .constantFrom(
      '%',
      '%zz',
      '%ff',
      '%c0%80',
      '%00',
      '%2e%2e',
      '%2f',
      '//',
      ';',
      '#',
      '?',
      '&&=',
      '=x',
      '+',
      '%ed%a0%80',
    )
    .map((text) => (target: string) => target + text),
  fc
    .constantFrom('%', '%ff', '%00', '%2F', ';v=1', '/..', '//')
    .map((text) => (target: string) => target.replace(/\/[^/?]+$/, `/x${text}`)),
  fc.constant((target: string) => target.replace('/api/v1', '/api/v2')),
  fc.constant((target: string) => target.toUpperCase()),
  fc.nat(9_000).map((length) => (target: string) => `${target}?${'q'.repeat(length)}`),
)

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'QUERY'] as const
const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

/** Requests for any operation. */
export function requests(known: Known): fc.Arbitrary<FuzzedWire> {
  const names = Object.keys(routes) as OperationName[]
  const each = names.map((name) =>
    fc
      .tuple(
        inputOf(name, known),
        seldom(headers),
        seldom(spoiled),
        seldom(spoiledTarget),
        seldom(fc.constantFrom(...METHODS)),
      )
      .map(([input, more = {}, spoil, bend, method]) => {
        const safe = wellFormed(rawless(input), name)
        const wire = wireOf(name, safe)
        const { run: _, ...rest } = input
        const inBody = Object.fromEntries(Object.entries(rest).filter(([field]) => !isInPath(name, field)))
        const body = wire.body === undefined ? undefined : spoil ? spoil(jsonOf(inBody)) : jsonOf(inBody)
        const target = bend ? bend(wire.target) : wire.target
        return {
          name,
          method: method ?? wire.method,
          target,
          headers: { ...wire.headers, ...more },
          ...(body !== undefined && { body }),
        }
      }),
  )
  return fc.oneof(...each)
}

function isInPath(name: OperationName, field: string): boolean {
  return (routes[name] as Route).path.includes(`{${field}}`)
}

/** A URL holds no surrogates that stand alone. */
function wellFormed(input: Input, name: OperationName): Input {
  const isUrl = (field: string): boolean => ['GET', 'DELETE'].includes(routes[name].method) || isInPath(name, field)
  const entries = Object.entries(input).map(([field, value]) => {
    if (!isUrl(field)) return [field, value]
    if (typeof value === 'string') return [field, value.toWellFormed()]
    if (typeof value === 'object' && value !== null) return [field, (JSON.stringify(value) ?? '').toWellFormed()]
    return [field, value]
  })
  return Object.fromEntries(entries) as Input
}
