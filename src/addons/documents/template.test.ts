import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PawlError, PermanentError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Json } from '../../core/base/value.ts'
import { TIMEOUT } from '../../core/definitions/context.ts'
import type { TemplateScope } from './evaluate.ts'
import { ROOTS } from './expression.ts'
import { type GraphProblem, Problems } from './problems.ts'
import { render, Templates } from './template.ts'

function compiled(value: Json) {
  const problems = new Problems()
  const made = new Templates(problems).compile(value, ['with'], ROOTS)
  problems.throwIfAny(undefined)
  return made
}

function problemsOf(value: Json): readonly GraphProblem[] {
  try {
    compiled(value)
    return []
  } catch (error) {
    return ((error as PawlError).details as { problems: GraphProblem[] }).problems
  }
}

const input = {
  city: 'Bonn',
  n: 5,
  yes: true,
  no: false,
  nothing: null,
  list: [10, { deep: 'x' }],
  'any name': 1,
  'a-b': 2,
  when: new Date(0),
}
const sight: TemplateScope = {
  input: () => input,
  nodes: { fetch: { body: { items: ['a', 'b'] } }, 'my node': 1, late: TIMEOUT },
  item: { id: 'i' },
  index: 3,
  result: [1, 2],
}
const filled = (value: Json): unknown => render(compiled(value).template, sight)

describe('a template alone is the value itself', () => {
  test.each<[string, unknown]>([
    ['{{input.city}}', 'Bonn'],
    ['{{ input.n }}', 5],
    ['{{ input.list }}', input.list],
    ['{{ input.when }}', input.when],
    ['{{ input.list[1].deep }}', 'x'],
    ["{{ input['any name'] }}", 1],
    ['{{ input["any name"] }}', 1],
    ['{{ input.a-b }}', 2],
    ['{{ input.list.length }}', 2],
    ['{{ input.nothing }}', null],
    ['{{ nodes.fetch.body.items[0] }}', 'a'],
    ["{{ nodes['my node'] }}", 1],
    ['{{ item.id }}', 'i'],
    ['{{ index }}', 3],
    ['{{ result[1] }}', 2],
    ['{{ 5 }}', 5],
    ['{{ -1.5e2 }}', -150],
    ["{{ 'it\\'s' }}", "it's"],
    ['{{ "a\\n\\"b\\\\" }}', 'a\n"b\\'],
    ['{{ true }}', true],
    ['{{ null }}', null],
    ['{{ input.missing ?? [] }}', []],
    // A default for what is missing or null, and it belongs to what is right before it.
    ["{{ input.missing ?? 'd' }}", 'd'],
    ["{{ input.nothing ?? input.city ?? 'd' }}", 'Bonn'],
    ['{{ input.city.name.more ?? 1 }}', 1],
    ['{{ nodes.gone.x ?? null }}', null],
    ['{{ input.missing ?? 1 < 2 }}', true],
    // Types are compared, too.
    ['{{ input.n == 5 }}', true],
    ["{{ input.n == '5' }}", false],
    ["{{ input.n != '5' }}", true],
    ['{{ input.nothing == null }}', true],
    ['{{ input.list != null }}', true],
    ['{{ input.n >= 5 and input.n <= 5 and not (input.n > 5 or input.n < 5) }}', true],
    ["{{ 'a' < 'b' }}", true],
    ['{{ not input.no and not not input.yes }}', true],
    ['{{ input.no or input.no or input.yes }}', true],
    ['{{ input.yes or input.missing }}', true],
    ['{{ nodes.late == timeout }}', true],
    ['{{ nodes.fetch == timeout }}', false],
    ['{{ nodes.late }}', 'timeout'],
    // What looks like the end of it, in quotes.
    ["{{ '}}' }}", '}}'],
    ["{{ '{{' }}", '{{'],
  ])('%s', (text, value) => {
    expect(filled(text)).toEqual(value)
  })
})

describe('within a text it is inserted', () => {
  test.each<[string, string]>([
    ['https://x/{{ input.city }}/{{ input.n }}', 'https://x/Bonn/5'],
    [' {{ input.yes }}', ' true'],
    ['{{ input.list }}!', '[10,{"deep":"x"}]!'],
    ['{{ input.when }}.', '1970-01-01T00:00:00.000Z.'],
    ['{{ nodes.late }}.', 'timeout.'],
    ["a {{ '{{' }} b }} c", 'a {{ b }} c'],
    ['{ {} }', '{ {} }'],
    ['}}', '}}'],
  ])('%s', (text, value) => {
    expect(filled(text)).toBe(value)
  })

  test('anywhere in data, but not in the names of fields', () => {
    const value = { a: [{ b: '{{ input.n }}' }], '{{ input.n }}': 'x', plain: [1, null] }
    expect(filled(value)).toEqual({ a: [{ b: 5 }], '{{ input.n }}': 'x', plain: [1, null] })
  })
})

describe('what cannot be filled in fails for good, and says where', () => {
  test.each<[string, RegExp]>([
    ['{{ input.missing }}', /^with: there is no input\.missing; to allow this, .* default/],
    ['{{ input.city.name }}', /there is no input\.city\.name, because input\.city is text/],
    ['{{ nodes.gone.x }}', /nodes\.gone has no result/],
    ['{{ input.list[5] }}', /there is no input\.list\[5\]/],
    ['{{ input.list["0"] }}', /there is no input\.list\["0"\]/],
    ['{{ input.list.at }}', /there is no input\.list\.at/],
    ['{{ input[0] }}', /there is no input\[0\]/],
    ['{{ input.nothing }}!', /null cannot be inserted into text; give a default/],
    ['{{ input.n and true }}', /`and` expects true or false, got a number/],
    ['{{ not input.nothing }}', /`not` expects true or false, got null/],
    ["{{ input.n < '6' }}", /`<` expects two numbers or two texts, got a number and text/],
    ['{{ input.list == result }}', /lists and objects cannot be compared/],
    ['{{ input.missing == null }}', /there is no input\.missing/],
  ])('%s', (text, message) => {
    expect(() => filled(text)).toThrow(PermanentError)
    expect(() => filled(text)).toThrow(message)
  })

  test('texts that would grow without bound', () => {
    const nodes = { big: 'x'.repeat(200_000) }
    const { template } = compiled(Array.from({ length: 10 }, () => '{{ nodes.big }}.'))
    expect(() => render(template, { input: () => null, nodes })).toThrow(/more than 1048576/)
  })
})

describe('mistakes are found before anything runs', () => {
  test.each<[string, RegExp]>([
    ['{{ }}', /column 4: a value is missing before `}}`/],
    ['a {{ input.x', /column 5: the `}}` is missing/],
    ["{{ 'a }}", /column 4: the closing ' is missing/],
    ['{{ input. }}', /column 9: a name is missing after `.`/],
    ['{{ input.0 }}', /list indexes as \[0\]/],
    ['{{ input[x] }}', /column 10: expected a quoted name or a list index/],
    ['{{ input[-1] }}', /column 10/],
    ['{{ input[1.5] }}', /column 10/],
    ['{{ [1, 2] }}', /the only list literal is \[\]/],
    ['{{ input[0 }}', /a `\]` is missing/],
    ['{{ (input.x }}', /a `\)` is missing/],
    ['{{ input.x input.y }}', /column 12: unexpected 'input' after a value/],
    ['{{ input.x + 1 }}', /column 12: unexpected '\+' after a value: arithmetic is not supported/],
    ['{{ input.a && input.b }}', /write `and`/],
    ['{{ !input.a }}', /write `not`/],
    ['{{ input.a === 1 }}', /write `==`/],
    ['{{ input.a | upper }}', /filters are not supported/],
    ['{{ input.a ? 1 : 2 }}', /`\?\?`/],
    ['{{ 1 < 2 < 3 }}', /comparisons cannot be chained: join them with `and`/],
    ['{{ {{ input.a }} }}', /to write \{\{ itself/],
    ['{{ fetch.body }}', /column 4: unknown name 'fetch'; expected input, nodes\.<id>/],
    ['{{ upper(input.a) }}', /functions are not supported/],
    ['{{ input.a() }}', /functions are not supported/],
    ['{{ nodes }}', /name a node/],
    ['{{ nodes[0] }}', /name a node/],
    ['{{ input.__proto__ }}', /the name '__proto__' is not allowed/],
    ["{{ input['constructor'].x }}", /the name 'constructor' is not allowed/],
    ['{{ input.a.prototype }}', /the name 'prototype' is not allowed/],
    ["{{ 'a\\x' }}", /unknown escape/],
    ['{{ 1e999 }}', /too large/],
  ])('%s', (text, message) => {
    const [problem, ...more] = problemsOf({ a: [text] })
    expect(problem).toMatchObject({ path: 'with.a[0]', code: 'TEMPLATE' })
    expect(problem?.message).toMatch(message)
    expect(more).toEqual([])
  })

  test.each<[string, string, RegExp]>([
    ['parentheses', `{{ ${'('.repeat(40)}1${')'.repeat(40)} }}`, /nested more than 32/],
    ['negations', `{{ ${'not '.repeat(40)}true }}`, /nested more than 32/],
    ['a long path', `{{ input.${'a.'.repeat(1_500)}a }}`, /more than 2000 characters/],
    ['a control character', '{{ \u0000 }}', /unexpected '.+' where a value is expected/],
    ['half of a surrogate pair', '{{ \ud800 }}', /unexpected '.+' where a value is expected/],
  ])('%s', (_name, text, message) => {
    expect(problemsOf(text)).toMatchObject([{ code: 'TEMPLATE' }])
    expect(problemsOf(text)[0]?.message).toMatch(message)
    expect(problemsOf(text)[0]?.message.isWellFormed()).toBe(true)
  })

  test('a field of a forbidden name, a text that is too long, too many expressions', () => {
    const poisoned = JSON.parse('{"a":{"__proto__":1}}') as Json
    expect(problemsOf(poisoned)).toMatchObject([{ path: 'with.a.__proto__', code: 'FORBIDDEN_NAME' }])
    const long = 'x'.repeat(limits.graphTextLengthMax + 1)
    expect(problemsOf([long])).toMatchObject([{ path: 'with[0]', code: 'LIMIT' }])
    const many = new Array<string>(limits.graphExpressionsMax + 1).fill('{{input}}')
    expect(problemsOf(many)).toMatchObject([{ code: 'LIMIT' }])
  })
})

describe('properties', () => {
  const name = fc.constantFrom('input', 'a', 'length', 'toString', 'nodes', 'x', 'hasOwnProperty')
  const key = fc.oneof(
    name.map((each) => `.${each}`),
    name.map((each) => `['${each}']`),
    fc.nat(3).map((each) => `[${each}]`),
  )
  const root = fc.constantFrom('input', 'nodes.a', 'item', 'index', 'result')
  const path = fc.tuple(root, fc.array(key, { maxLength: 4 })).map(([at, keys]) => at + keys.join(''))
  const operand = fc.oneof(path, fc.constantFrom('1', "'a'", 'true', 'null', 'timeout'))
  const operator = fc.constantFrom(' ?? ', ' == ', ' and ', ' or ', ' < ', ' ', '(', ' not ')
  const expression = fc
    .tuple(operand, fc.array(fc.tuple(operator, operand), { maxLength: 4 }))
    .map(([first, rest]) => `{{ ${first}${rest.flat().join('')} }}`)

  test('whatever is written is either refused with its place or compiled', () => {
    fc.assert(
      fc.property(fc.oneof(expression, fc.string({ unit: 'binary' }), fc.string()), (text) => {
        for (const problem of problemsOf(`{{${text}`)) expect(problem.path).toBe('with')
      }),
    )
  })

  /** A value that fails the test if anything but its own data is read. */
  function guarded(value: object): object {
    return new Proxy(value, {
      get: (_target, property) => {
        throw new Error(`${String(property)} was read past its descriptor`)
      },
      getPrototypeOf: () => {
        throw new Error('the prototype was asked for')
      },
      has: () => {
        throw new Error('`in` was used')
      },
    })
  }

  test('the evaluator reads own properties that hold data, and nothing else', () => {
    const inherited = Object.create({ a: 'inherited', x: 'inherited' }) as object
    Object.defineProperty(inherited, 'nodes', {
      enumerable: true,
      get: () => {
        throw new Error('a getter was called')
      },
    })
    const data = guarded({ a: guarded({ x: 1 }), input: guarded([inherited]), x: inherited })
    const world: TemplateScope = {
      input: () => data,
      nodes: { a: data },
      item: data,
      index: 1,
      result: [1],
    }
    fc.assert(
      fc.property(expression, (text) => {
        if (problemsOf(text).length > 0) return
        try {
          const value = render(compiled(text).template, world)
          // By hand: `expect` itself looks into what it is given.
          if (value === 'inherited' || typeof value === 'function') throw new Error(text)
        } catch (error) {
          if (!(error instanceof PermanentError)) throw error
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('text without braces is what it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(!JSON.stringify(value).includes('{{') && !/__proto__|prototype|constructor/.test(JSON.stringify(value)))
        expect(filled(value as Json)).toEqual(value)
      }),
    )
  })
})
