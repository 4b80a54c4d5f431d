// One mistake in a graph that is right otherwise is one problem, at its place: what only follows from it is not told.
import { describe, expect, test } from 'vitest'
import { PawlError } from '../../core/base/errors.ts'
import type { Json } from '../../core/base/value.ts'
import { parseGraph } from './parse.ts'
import type { GraphProblem } from './problems.ts'

type Node = Record<string, Json>
interface Document {
  [field: string]: Json | Node[]
  nodes: Node[]
}

const handlers = new Map(['charge', 'send', 'undo'].map((name) => [name, undefined]))

/** The field that says what a node comes after, in either of its names. */
const makers: Readonly<Record<string, () => Document>> = {
  'one node': () => ({ name: 'one', nodes: [{ id: 'a', handler: 'charge', with: { x: 1 } }] }),
  'a chain by dependencies': () => ({
    name: 'chain',
    nodes: [
      { id: 'a', handler: 'input' },
      { id: 'b', handler: 'charge', dependencies: ['a'], config: { x: '{{ nodes.a.x }}' } },
      { id: 'c', handler: 'output', dependencies: ['b'], config: { y: '{{ nodes.a }}' } },
    ],
    output: '{{ nodes.c }}',
  }),
  'everything at once': () => ({
    name: 'all',
    description: 'everything',
    parameters: {
      city: { type: 'string', required: true },
      dry: { type: 'boolean', default: true },
    },
    nodes: [
      { id: 'start', handler: 'input' },
      {
        id: 'list',
        handler: 'charge',
        after: ['start'],
        with: { url: 'https://a/{{ input.city }}', on: '{{ nodes.start.on }}' },
        retry: { maxAttempts: 3, initial: '1s' },
        timeout: '10s',
      },
      {
        id: 'tell',
        handler: 'send',
        after: ['list'],
        when: '{{ nodes.list.count > 1 and not input.dry }}',
        each: '{{ nodes.list.people }}',
        parallel: 4,
        with: { to: '{{ item.mail }}', no: '{{ index }}', again: '{{ nodes.list.text }}' },
        compensate: { handler: 'undo', with: { of: '{{ result }}' }, timeout: '1m' },
      },
      { id: 'approval', wait: 'approval', timeout: '7d', after: ['tell'], rule: 'allDone' },
      { id: 'keep', workflow: 'archive', after: ['approval'], with: '{{ nodes.approval }}' },
      { id: 'done', handler: 'output', after: ['keep', 'list'], with: '{{ nodes.tell }}' },
    ],
    output: { last: '{{ nodes.done }}', all: '{{ nodes.list }}' },
  }),
}

function problemsOf(document: unknown): readonly GraphProblem[] {
  try {
    parseGraph(document, { activities: handlers })
    return []
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'DEFINITION_INVALID') throw error
    return (error.details as { problems: GraphProblem[] }).problems
  }
}

const orderIn = (node: Node): string => ('dependencies' in node ? 'dependencies' : 'after')
const parentsIn = (node: Node): string[] => (node[orderIn(node)] ?? []) as string[]

/** A mistake in one node: changes it, and gives where the problem must be; undefined if it cannot be made there. */
type Mistake = (node: Node, all: Node[], at: number) => string | RegExp | undefined

const withParent = (node: Node, id: Json): string => {
  const parents = [...parentsIn(node), id]
  node[orderIn(node)] = parents
  return `.${orderIn(node)}[${parents.length - 1}]`
}

const misspell =
  (field: string, wrong: string): Mistake =>
  (node) => {
    if (!(field in node)) return undefined
    node[wrong] = node[field] ?? null
    delete node[field]
    return `.${wrong}`
  }

const set =
  (field: string, value: Json, place = `.${field}`): Mistake =>
  (node) => {
    if (!(field in node)) return undefined
    node[field] = value
    return place
  }

const mistakes: Readonly<Record<string, Mistake>> = {
  'one more dependency, which is not there': (node) => withParent(node, 'nowhere'),
  'its first dependency misspelt': (node) => {
    const [first] = parentsIn(node)
    if (first === undefined) return undefined
    node[orderIn(node)] = [`${first}x`, ...parentsIn(node).slice(1)]
    return `.${orderIn(node)}[0]`
  },
  'a dependency on itself': (node) => withParent(node, node['id'] ?? null),
  'a cycle with the last': (node, all, at) => {
    const last = all.at(-1)
    if (last === undefined || at === all.length - 1) return undefined
    withParent(node, last['id'] ?? null)
    return /^nodes\[\d+\]\.(after|dependencies)\[\d+\]$/
  },
  'a dependency twice': (node) => {
    const [first] = parentsIn(node)
    return first === undefined ? undefined : withParent(node, first)
  },
  'a dependency that is no text': (node) => withParent(node, 5),
  'dependencies that are no list': (node) => {
    const [first] = parentsIn(node)
    if (first === undefined) return undefined
    node[orderIn(node)] = first
    return `.${orderIn(node)}`
  },
  'both words for dependencies': (node) => {
    if (parentsIn(node).length === 0) return undefined
    const other = orderIn(node) === 'after' ? 'dependencies' : 'after'
    node[other] = parentsIn(node)
    return '.dependencies'
  },
  'the id of another': (node, all, at) => {
    if (at === 0) return undefined
    node['id'] = all[0]?.['id'] ?? null
    return '.id'
  },
  'an id that nobody else uses': (node, all) => {
    const old = node['id']
    const isUsed = all.some((each) => parentsIn(each).includes(old as string))
    node['id'] = 'renamed'
    return isUsed ? /^nodes\[\d+\]\.(after|dependencies)\[\d+\]$/ : /^(output|nodes)/
  },
  'an id that is no text': set('id', 5),
  'an empty id': set('id', ''),
  'an id that is too long': set('id', 'x'.repeat(1_000)),
  'an id with a line break': set('id', 'a\nb'),
  'no id': (node) => {
    delete node['id']
    return ''
  },
  'a misspelt id': misspell('id', 'idd'),
  'no handler': (node) => {
    if (!('handler' in node)) return undefined
    delete node['handler']
    return ''
  },
  'a misspelt handler': misspell('handler', 'handlr'),
  'a handler by another word': misspell('handler', 'activity'),
  'a misspelt workflow': misspell('workflow', 'workflw'),
  'a misspelt wait': misspell('wait', 'wiat'),
  'a handler that nobody has': set('handler', 'chrage'),
  'a handler that is no text': set('handler', 5),
  'a handler that is too long': set('handler', 'x'.repeat(1_000)),
  'two things to do': (node) => {
    node['wait' in node ? 'handler' : 'wait'] = 'charge'
    return ''
  },
  'misspelt dependencies': (node) => misspell(orderIn(node), 'dependecies')(node, [], 0),
  'dependencies by another word': (node) => misspell(orderIn(node), 'depends_on')(node, [], 0),
  'a misspelt each': misspell('each', 'eahc'),
  'an each by another word': misspell('each', 'forEach'),
  'an each that is no list': set('each', 'people'),
  'a misspelt with': misspell('with', 'wiht'),
  'a misspelt config': misspell('config', 'confg'),
  'a misspelt when': misspell('when', 'wehn'),
  'a when that is no expression': set('when', 'yes {{ input.x }}'),
  'a misspelt rule': misspell('rule', 'ruel'),
  'a rule that nobody knows': set('rule', 'most'),
  'a misspelt retry': misspell('retry', 'retyr'),
  'a retry that cannot be': set('retry', { maxAttempts: 0 }, '.retry.maxAttempts'),
  'a retry with a misspelt field': set('retry', { maxAttempt: 1 }, '.retry.maxAttempt'),
  'a timeout that cannot be': set('timeout', 'soon'),
  'a compensate without handler': set('compensate', { with: 1 }, '.compensate'),
  'a compensate with a misspelt handler': set('compensate', { handlr: 'undo' }, '.compensate.handlr'),
  'a compensate that is no object': set('compensate', 'undo'),
  'a field that nobody knows': (node) => {
    node['color'] = 'red'
    return '.color'
  },
  'a field that is for others': (node) => {
    if (!('wait' in node)) return undefined
    node['retry'] = 'none'
    return '.retry'
  },
  'no object': (_, all, at) => {
    all[at] = 'node' as never
    return ''
  },
}

const inTemplates: Readonly<Record<string, string>> = {
  'a node that is not there': '{{ nodes.nowhere.x }}',
  'a root that is not there': '{{ nods.a }}',
  'no node': '{{ nodes }}',
  'an expression that ends too early': '{{ input.a > }}',
  'a template that does not end': '{{ input.a',
  'a name that is forbidden': '{{ input.__proto__ }}',
  'the result of nothing': '{{ result }}',
}

function graphs(): [string, () => Document][] {
  return Object.entries(makers)
}

describe.each(graphs())('users D9: one mistake is one problem: %s', (_, make) => {
  test('without a mistake there is none', () => {
    expect(problemsOf(make())).toEqual([])
  })

  test.each(Object.entries(mistakes))('%s', (_name, plant) => {
    for (const at of make().nodes.keys()) {
      const document = make()
      const place = plant(document.nodes[at] ?? {}, document.nodes, at)
      if (place === undefined) continue
      const problems = problemsOf(document)
      const is = typeof place === 'string' ? `nodes[${at}]${place}` : expect.stringMatching(place)
      // An id that no other node uses is no mistake, unless another node uses the old one.
      if (_name === 'an id that nobody else uses' && problems.length === 0) continue
      expect(problems, JSON.stringify(document.nodes[at])).toMatchObject([{ path: is }])
      expect(problems).toHaveLength(1)
    }
  })

  test.each(Object.entries(inTemplates))('in a template: %s', (_name, template) => {
    for (const at of make().nodes.keys())
      for (const field of ['with', 'config', 'when']) {
        const document = make()
        const node = document.nodes[at] ?? {}
        if (!(field in node)) continue
        node[field] = field === 'when' ? template : { a: { b: ['x', template] } }
        const path = `nodes[${at}].${field}${field === 'when' ? '' : '.a.b[1]'}`
        expect(problemsOf(document)).toMatchObject([{ path }])
      }
    if ('output' in make()) {
      const document = { ...make(), output: template }
      expect(problemsOf(document)).toMatchObject([{ path: 'output' }])
    }
  })

  test('a node that is left out is one problem, however often it is named', () => {
    for (const at of make().nodes.keys()) {
      const document = make()
      if (document.nodes.length === 1) return
      document.nodes.splice(at, 1)
      expect(problemsOf(document).length).toBeLessThanOrEqual(1)
    }
  })

  test('a template that names a node that does not come before, however often', () => {
    for (const at of make().nodes.keys()) {
      const document = make()
      const node = document.nodes[at] ?? {}
      const last = document.nodes.at(-1)
      const field = 'config' in node ? 'config' : 'with'
      if (!(field in node) || last === node) continue
      const name = `{{ nodes.${last?.['id'] as string} }}`
      node[field] = { a: name, b: name }
      const [problem, ...more] = problemsOf(document)
      expect(more).toEqual([])
      expect(problem).toMatchObject({ path: `nodes[${at}].${field}.a`, code: 'NOT_AN_ANCESTOR' })
      // In the word of the document.
      expect(problem?.message).toContain(`\`${orderIn(node)}\``)
    }
  })

  test('of the document itself', () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{ ...make(), color: 1 }, 'color'],
      [{ ...make(), name: '' }, 'name'],
      [{ ...make(), name: 'x'.repeat(1_000) }, 'name'],
      [{ ...make(), nodes: [] }, 'nodes'],
      [{ ...make(), nodes: 5 }, 'nodes'],
      [{ ...make(), description: 5 }, 'description'],
      [{ ...make(), parameters: { a: { type: 'strng' } } }, 'parameters.a.type'],
      [{ ...make(), parameters: { a: { typ: 'string' } } }, 'parameters.a.typ'],
      [{ ...make(), parameters: 5 }, 'parameters'],
    ]
    for (const [field, other] of [
      ['name', 'nam'],
      ['nodes', 'nods'],
      ['nodes', 'steps'],
      ['parameters', 'inputs'],
    ] as const) {
      const { [field]: value, ...rest } = make()
      if (value !== undefined) wrong.push([{ ...rest, [other]: value }, other])
    }
    for (const [document, path] of wrong) expect(problemsOf(document)).toMatchObject([{ path }])
    for (const field of ['name', 'nodes'] as const) {
      const { [field]: _, ...rest } = make()
      expect(problemsOf(rest)).toMatchObject([{ path: '', code: 'MISSING_FIELD' }])
    }
  })
})

test('users D9: messages use the word that the document uses', () => {
  const of = (nodes: Json): string => problemsOf({ name: 'g', nodes })[0]?.message ?? ''
  for (const word of ['after', 'dependencies']) {
    expect(of([{ id: 'a', handler: 'charge', [word]: ['a'] }])).toBe(
      `node 'a' depends on itself: remove it from \`${word}\``,
    )
    const ring = ['a', 'b'].map((id) => ({
      id,
      handler: 'charge',
      [word]: [id === 'a' ? 'b' : 'a'],
    }))
    expect(of(ring)).toBe(
      `a cycle: a → b → a; each depends on the one before, so none can start: remove one from its \`${word}\``,
    )
  }
})
