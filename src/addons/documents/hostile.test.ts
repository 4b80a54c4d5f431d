// Hostile documents. Each must be rejected cheaply and with a problem that names the limit. The time limit of the test is
// far above what a rejection takes, and far below what it takes where a limit is missing.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { parseGraph } from './parse.ts'
import type { GraphProblem } from './problems.ts'

/** The codes of its problems; undefined if there is none. Anything else that is thrown goes through. */
function refusal(document: unknown): string[] | undefined {
  try {
    parseGraph(document)
    return undefined
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    expect(error.code).toBe('DEFINITION_INVALID')
    expect(error.message.length).toBeLessThan(limits.messageLengthMax)
    expect(error.message.isWellFormed()).toBe(true)
    const { problems } = error.details as { problems: GraphProblem[] }
    expect(problems.length).toBeLessThanOrEqual(limits.graphProblemsMax)
    return problems.map(({ code }) => code)
  }
}

const million = 1_000_000
const node = (more: object): unknown => ({ name: 'g', nodes: [{ id: 'a', handler: 'h', ...more }] })

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = wrap(value)
  return value
}

function cyclic(): unknown {
  const self: Record<string, unknown> = { name: 'g' }
  self['nodes'] = [self]
  return self
}

/** Each level twice the one below: small to hold, endless to copy. */
const doubled = nested(40, (inner) => [inner, inner])

class Graph {
  name = 'g'
  nodes = []
}

const values: readonly (readonly [string, () => unknown, string])[] = [
  ['nothing', () => undefined, 'NOT_DATA'],
  ['null', () => null, 'WRONG_TYPE'],
  ['a list', () => [], 'WRONG_TYPE'],
  ['a number', () => 5, 'WRONG_TYPE'],
  ['a function', () => () => 5, 'NOT_DATA'],
  ['a symbol', () => Symbol('x'), 'NOT_DATA'],
  ['a bigint', () => node({ with: 5n }), 'NOT_DATA'],
  ['a date', () => node({ with: new Date(0) }), 'NOT_DATA'],
  ['not a number', () => node({ with: Number.NaN }), 'NOT_DATA'],
  ['a map', () => node({ with: new Map([['a', 1]]) }), 'NOT_DATA'],
  ['an instance of a class', () => new Graph(), 'NOT_DATA'],
  ['an error', () => new Error('x'), 'NOT_DATA'],
  ['itself inside', cyclic, 'NOT_DATA'],
  ['lists 100,000 deep', () => node({ with: nested(100_000, (x) => [x]) }), 'NOT_DATA'],
  ['objects 100,000 deep', () => node({ with: nested(100_000, (a) => ({ a })) }), 'NOT_DATA'],
  ['deeper than a graph may be', () => node({ with: nested(150, (x) => [x]) }), 'LIMIT'],
  ['what doubles 40 times', () => node({ with: doubled }), 'LIMIT'],
  ['100,000 nodes', () => ({ name: 'g', nodes: new Array(100_000).fill({}) }), 'LIMIT'],
  ['a long text', () => node({ with: 'x'.repeat(million) }), 'LIMIT'],
  ['many megabytes', () => node({ with: new Array(20).fill('x'.repeat(million)) }), 'LIMIT'],
  ['a sparse list of four billion', () => node({ with: new Array(2 ** 32 - 1) }), 'LIMIT'],
  ['a sparse list', () => node({ after: new Array(3) }), 'NOT_DATA'],
  [
    'a getter that throws',
    () => ({
      get name() {
        throw new Error('boo')
      },
    }),
    'NOT_DATA',
  ],
  [
    'a proxy that throws',
    () =>
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('boo')
          },
        },
      ),
    'NOT_DATA',
  ],
  ['a proxy for a function', () => new Proxy(() => 1, {}), 'NOT_DATA'],
  ['__proto__ as a field', () => JSON.parse('{"__proto__":{"name":"g"}}'), 'MISSING_FIELD'],
  ['__proto__ in data', () => node({ with: JSON.parse('{"__proto__":1}') }), 'FORBIDDEN_NAME'],
  ['__proto__ as an id', () => node({ id: '__proto__' }), 'FORBIDDEN_NAME'],
  ['__proto__ as a rule', () => node({ rule: '__proto__' }), 'INVALID_VALUE'],
  ['__proto__ as a retry', () => node({ retry: '__proto__' }), 'INVALID_VALUE'],
  ['constructor as a retry', () => node({ retry: 'constructor' }), 'INVALID_VALUE'],
  ['constructor as a dependency', () => node({ after: ['constructor'] }), 'UNKNOWN_DEPENDENCY'],
  ['half of a surrogate pair in an id', () => node({ id: '\ud800' }), 'INVALID_VALUE'],
  ['half of a surrogate pair in a field', () => node({ '\udc00': 1 }), 'UNKNOWN_FIELD'],
  ['NUL in a name', () => node({ handler: 'a\u0000b' }), 'INVALID_VALUE'],
  ['an escape sequence in an id', () => node({ id: '\u001b[31mred' }), 'INVALID_VALUE'],
  ['an escape sequence in a dependency', () => node({ after: ['\u001b[2J'] }), 'UNKNOWN_DEPENDENCY'],
  ['a name as long as it likes', () => node({ id: 'x'.repeat(200_000) }), 'INVALID_VALUE'],
  ['a field as long as it likes', () => node({ ['x'.repeat(200_000)]: 1 }), 'UNKNOWN_FIELD'],
  ['a duration beyond all bounds', () => node({ delay: 1e300 }), 'INVALID_VALUE'],
  ['a duration as a list', () => node({ delay: ['1s'] }), 'INVALID_VALUE'],
  ['null for what has no null', () => node({ retry: { factor: null } }), 'INVALID_VALUE'],
  ['more at once than can be counted', () => node({ each: [], parallel: 1e300 }), 'INVALID_VALUE'],
  ['a template that never ends', () => node({ with: `{{ ${'('.repeat(200_000)}` }), 'TEMPLATE'],
  ['nothing but braces', () => node({ with: '{'.repeat(200_000) }), 'TEMPLATE'],
  ['quotes that never close', () => node({ with: `{{ '${'\\\\'.repeat(100_000)}` }), 'TEMPLATE'],
  ['mistakes in 50,000 templates', () => node({ with: new Array(50_000).fill('{{ x }}') }), 'TEMPLATE'],
]

describe('D1: hostile values', () => {
  test.each(values)('%s', (_name, make, code) => {
    expect(refusal(make())).toContain(code)
  })

  test('no prototype was changed by any of them', () => {
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(({} as { name?: unknown }).name).toBeUndefined()
  })
})

/** As much of it as a text may have. */
const full = (text: string): string => text.repeat(Math.floor(limits.graphBytesMax / text.length))
/** So much of it that it is parsed to the end. */
const much = (text: string): string => text.repeat(100_000)

const texts: readonly (readonly [string, () => string, string])[] = [
  ['nothing', () => '', 'WRONG_TYPE'],
  ['nothing but spaces', () => full(' '), 'WRONG_TYPE'],
  ['nothing but lines', () => full('\n'), 'LIMIT'],
  ['nothing but comments', () => full('#\n'), 'LIMIT'],
  ['ten megabytes', () => 'x'.repeat(10 * million), 'LIMIT'],
  ['fewer characters than bytes', () => '€'.repeat(limits.graphBytesMax / 2), 'LIMIT'],
  ['NUL', () => 'name: \u0000', 'MISSING_FIELD'],
  ['half of a surrogate pair', () => 'name: \ud800', 'INVALID_VALUE'],
  ['JSON that is a list a million deep', () => full('['), 'LIMIT'],
  [
    'JSON that closes as often',
    () => '['.repeat(limits.graphBytesMax / 2) + ']'.repeat(limits.graphBytesMax / 2),
    'NOT_DATA',
  ],
  ['JSON with a field twice', () => '{"name":"a","name":"b"}', 'SYNTAX'],
  ['the same, escaped', () => String.raw`{"name":"a","n\u0061me":"b"}`, 'SYNTAX'],
  ['JSON with a comma in it', () => '{"x":",\\"{","x":1}', 'SYNTAX'],
  ['JSON cut off', () => '{"name":"g","nodes":[{"id":', 'SYNTAX'],
  ['maps a quarter of a million deep', () => full('{a: '), 'LIMIT'],
  ['dashes', () => full('- '), 'LIMIT'],
  ['question marks', () => full('? '), 'LIMIT'],
  ['colons', () => full(': '), 'LIMIT'],
  ['anchors', () => much('&a '), 'SYNTAX'],
  ['tags', () => much('!a '), 'SYNTAX'],
  ['documents', () => full('---\n'), 'LIMIT'],
  ['directives', () => full('%a b\n'), 'LIMIT'],
  ['commas', () => `[${much(',')}]`, 'SYNTAX'],
  ['brackets that close', () => full(']'), 'LIMIT'],
  ['two documents', () => 'name: a\n---\nname: b\n', 'SYNTAX'],
  ['a directive', () => '%a b\n', 'SYNTAX'],
  ['a bracket that closes', () => ']', 'SYNTAX'],
  ['quotes', () => much('"'), 'SYNTAX'],
  ['wrong escapes', () => `"${much('\\x')}"`, 'SYNTAX'],
  ['50,000 fields', () => Array.from({ length: 50_000 }, (_, i) => `k${i}:`).join('\n'), 'UNKNOWN_FIELD'],
  ['the same field 100,000 times', () => much('a:\n'), 'SYNTAX'],
  ['references to an anchor', () => `[&a b${much(',*a')}]`, 'LIMIT'],
  ['an anchor inside itself', () => 'name: g\nnodes: &a [*a]', 'SYNTAX'],
  ['a reference to nothing', () => 'name: *a', 'SYNTAX'],
  [
    'a billion laughs',
    () => {
      const levels = Array.from(
        { length: 12 },
        (_, i) => `b${i + 1}: &b${i + 1} [${new Array(10).fill(`*b${i}`).join(',')}]`,
      )
      return `b0: &b0 lol\n${levels.join('\n')}`
    },
    'LIMIT',
  ],
  ['code', () => 'name: !!js/function "function () { throw 1 }"', 'SYNTAX'],
  ['binary data', () => 'name: !!binary aGVsbG8=', 'SYNTAX'],
  ['a set', () => 'name: !!set {a, b}', 'SYNTAX'],
  ['a merge key', () => 'name: g\nnodes:\n  - <<: {id: a}\n    handler: h', 'UNKNOWN_FIELD'],
  ['a list as a key', () => '[a, b]: c', 'SYNTAX'],
  ['yes, in the YAML of old', () => 'name: g\nnodes: [{id: a, handler: h, when: yes}]', 'WRONG_TYPE'],
  ['YAML of old', () => '%YAML 1.1\n---\nname: g', 'SYNTAX'],
  ['infinity', () => 'name: .inf', 'NOT_DATA'],
  ['tabs for indentation', () => 'name: g\nnodes:\n\t- id: a', 'SYNTAX'],
]

describe('D1: hostile texts', () => {
  test.each(texts)('%s', (_name, make, code) => {
    expect(refusal(make())).toContain(code)
  })

  test('a byte order mark is not in the way', () => {
    expect(refusal('\ufeffname: g\nnodes: [{id: a, handler: h}]')).toBeUndefined()
    expect(refusal('\ufeff{"name":"g","nodes":[{"id":"a","handler":"h"}]}')).toBeUndefined()
  })

  test('anchors may be used, and what they name is data of its own', () => {
    const text = 'name: g\nnodes:\n  - {id: a, handler: h, with: &w {x: 1}}\n  - {id: b, handler: h, with: *w}'
    const { document } = parseGraph(text)
    const { nodes } = document as { nodes: { with: object }[] }
    expect(nodes[1]?.with).toEqual({ x: 1 })
    expect(nodes[1]?.with).not.toBe(nodes[0]?.with)
  })
})

describe('D1: nothing but a PawlError', () => {
  const bounds = { numRuns: 200 }

  test('for any value', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
    })
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), anything), (value) => void refusal(value)),
      bounds,
    )
  })

  test('for any text', () => {
    const lines = fc.array(
      fc.constantFrom(
        'name: g',
        'nodes:',
        '- id: a',
        '  handler: h',
        '  with: {{ x }}',
        '&a',
        '*a',
        '[',
        '}',
        '"',
        '  - ',
        ': ',
      ),
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      lines.map((each) => each.join('\n')),
    )
    fc.assert(
      fc.property(text, (each) => void refusal(each)),
      bounds,
    )
  })

  const good = {
    name: 'g',
    parameters: { city: { type: 'string', required: true } },
    nodes: [
      { id: 'a', handler: 'input' },
      {
        id: 'b',
        handler: 'h',
        after: ['a'],
        retry: { maxAttempts: 3 },
        with: { x: '{{ input.city }}' },
      },
      { id: 'c', handler: 'h', after: ['b'], each: '{{ nodes.b }}', compensate: { handler: 'u' } },
      { id: 'd', wait: 's', timeout: '1d', after: ['b'] },
      { id: 'e', workflow: 'w', after: ['c', 'd'], when: "{{ nodes.b.x == 'y' }}" },
    ],
    output: { e: '{{ nodes.e }}' },
  }

  /** All places in a value. */
  function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
    if (typeof value !== 'object' || value === null) return [path]
    return [path, ...Object.entries(value).flatMap(([key, each]) => placesIn(each, [...path, key]))]
  }

  function replaced(value: unknown, path: readonly string[], by: unknown): unknown {
    const [key, ...rest] = path
    if (key === undefined) return by
    const copy = structuredClone(value) as Record<string, unknown>
    copy[key] = replaced(copy[key], rest, by)
    return copy
  }

  test('for a good graph in which anything was replaced', () => {
    expect(refusal(good)).toBeUndefined()
    const places = placesIn(good)
    const by = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('{{ nodes.a }}', '{{ item }}', 'a', 'e', ['a'], {}, null, '10m', -1),
    )
    fc.assert(
      fc.property(fc.constantFrom(...places), by, (place, value) => {
        const changed = replaced(good, place, value)
        const codes = refusal(changed)
        if (codes !== undefined) return
        // What is accepted is accepted as it is stored, and is the same.
        const parsed = parseGraph(changed)
        const again = parseGraph(parsed.document)
        expect(again.documentHash).toBe(parsed.documentHash)
        expect(again.plan.hash).toBe(parsed.plan.hash)
      }),
      { numRuns: 500 },
    )
  })
})

test.each([
  ['blank lines', '\n'.repeat(900_000), /more than 100000 lines/],
  ['empty objects', `a: [${'{},'.repeat(300_000)}`, /more than 200000 brackets, braces and commas/],
])('faults 4.10: YAML of 0.9 MB of %s is refused before it is parsed', (_, text, message) => {
  expect(() => parseGraph(text)).toThrow(message)
})

test('faults 4.10: a large document of many lines and brackets is taken', () => {
  const node = (_: unknown, index: number): string =>
    `  - id: n${index}\n    handler: keep\n    with:\n      - {a: [1, 2], b: "{{ input.x }}"}\n\n`
  const text = `name: large\nnodes:\n${Array.from({ length: 9_000 }, node).join('')}`
  expect(parseGraph(text).plan.nodes.size).toBe(9_000)
})
