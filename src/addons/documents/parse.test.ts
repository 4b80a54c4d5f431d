import { describe, expect, test } from 'vitest'
import { PawlError, PermanentError } from '../../core/base/errors.ts'
import { TIMEOUT } from '../../core/definitions/context.ts'
import type { ActivityContext } from '../../core/definitions/contract.ts'
import type { GraphNode, GraphScope } from '../../core/definitions/graph-plan.ts'
import { parseGraph } from './parse.ts'
import type { GraphProblem } from './problems.ts'

const report = `
name: daily_report
parameters:
  city: { type: string, required: true }
  dry: { type: boolean, default: false }
nodes:
  - id: start
    handler: input
  - id: fetch
    handler: call_external_service
    dependencies: [start]
    config: { url: "https://weather.example/{{ input.city }}", tags: [daily, "{{ input.dry }}"] }
    timeout: 10s
    retry: { maxAttempts: 3, initial: 1s }
  - id: notify
    handler: send_mail
    after: [fetch]
    when: "{{ nodes.fetch.count >= 10 and not input.dry }}"
    each: "{{ nodes.fetch.people }}"
    parallel: 4
    with: { to: "{{ item.mail }}", text: "{{ index }}: {{ nodes.start.city }}" }
    compensate: { handler: take_back, with: { of: "{{ result }}" }, timeout: 1m, ownFailure: true }
  - { id: approval, wait: approval, timeout: 7d, after: [notify], rule: allDone, delay: 1m }
  - { id: archive, workflow: archiving, after: [approval], timeout: 1d, queue: slow, priority: 5 }
  - { id: done, handler: output, after: [archive, fetch] }
`

function problemsOf(document: unknown, handlers?: readonly string[]): readonly GraphProblem[] {
  try {
    parseGraph(document, {
      activities: handlers && new Map(handlers.map((name) => [name, undefined])),
    })
    return []
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'DEFINITION_INVALID') throw error
    return (error.details as { problems: GraphProblem[] }).problems
  }
}

function nodeOf(document: unknown, id: string): GraphNode {
  const node = parseGraph(document).plan.nodes.get(id)
  if (node === undefined) throw new Error(`there is no ${id}`)
  return node
}

function given(node: GraphNode, scope: GraphScope): unknown {
  const { work } = node
  if (work.type === 'wait') throw new Error('a wait is given nothing')
  return work.type === 'step' ? work.body(scope as ActivityContext & GraphScope) : work.input(scope)
}

function graph(...nodes: object[]): object {
  return { name: 'g', nodes }
}

const step = (id: string, ...after: string[]): object => ({ id, handler: 'work', after })

describe('a plan', () => {
  const { plan } = parseGraph(report)

  test('D1: has every node with its work and options', () => {
    const works = [...plan.nodes.values()].map(({ work }) => work)
    expect(works).toMatchObject([
      { type: 'step' },
      {
        type: 'activity',
        activity: 'call_external_service',
        options: { startToClose: '10s', retry: { maxAttempts: 3, initial: '1s' } },
      },
      { type: 'activity', activity: 'send_mail', options: {} },
      { type: 'wait', signal: 'approval', timeoutMs: 604_800_000 },
      {
        type: 'child',
        workflow: 'archiving',
        options: { runTimeout: '1d', queue: 'slow', priority: 5 },
      },
      { type: 'step' },
    ])
    expect(plan.nodes.get('approval')).toMatchObject({ rule: 'allDone', delayMs: 60_000 })
    expect(plan.nodes.get('notify')).toMatchObject({
      each: { parallel: 4 },
      undo: { activity: 'take_back', ownFailure: true, options: { startToClose: '1m' } },
    })
  })

  test('D1: a node sees what it comes after, and the ancestors its templates name', () => {
    expect(plan.nodes.get('notify')?.sees).toEqual(['fetch', 'start'])
    expect(plan.nodes.get('approval')?.sees).toEqual(['notify'])
  })

  test('shapes say what steps are; the hash is of them, in whatever order', () => {
    expect(plan.shapes).toContainEqual(['notify', 'activity:send_mail each', 'fetch'])
    expect(plan.shapes).toContainEqual(['approval', 'wait:approval allDone', 'notify'])
    expect(plan.shapes).toContainEqual(['archive', 'child:archiving', 'approval'])
    expect(plan.shapes).toContainEqual(['done', 'step', 'archive', 'fetch'])
    const one = parseGraph(graph(step('a'), step('b'), step('c', 'a', 'b')))
    const other = parseGraph(graph(step('b'), step('c', 'b', 'a'), step('a')))
    expect(one.plan.hash).toBe(other.plan.hash)
    expect(one.documentHash).not.toBe(other.documentHash)
    expect(parseGraph(graph(step('a'), step('b'), step('c', 'a'))).plan.hash).not.toBe(one.plan.hash)
  })
})

describe('the document that is stored', () => {
  const { document, documentHash, plan } = parseGraph(report)

  test('D3: has the fields under their own names, and parses to the same plan', () => {
    const { nodes } = document as { nodes: object[] }
    expect(nodes[1]).toMatchObject({ after: ['start'], startToClose: '10s' })
    expect(nodes[4]).toMatchObject({ runTimeout: '1d' })
    const again = parseGraph(document)
    expect(again.document).toEqual(document)
    expect(again.documentHash).toBe(documentHash)
    expect(again.plan.hash).toBe(plan.hash)
    expect(parseGraph(JSON.stringify(document)).documentHash).toBe(documentHash)
  })

  test('D3: its hash differs when anything does, and not by the order of fields', () => {
    const a = parseGraph({ name: 'g', nodes: [{ id: 'a', handler: 'h', with: { x: 1, y: 2 } }] })
    const b = parseGraph({ nodes: [{ with: { y: 2, x: 1 }, handler: 'h', id: 'a' }], name: 'g' })
    const c = parseGraph({ name: 'g', nodes: [{ id: 'a', handler: 'h', with: { x: 1, y: 3 } }] })
    expect(a.documentHash).toBe(b.documentHash)
    expect(a.documentHash).not.toBe(c.documentHash)
    expect(a.plan.hash).toBe(c.plan.hash)
  })

  test('is a copy: what becomes of the one that was given does not matter', () => {
    const source = { name: 'g', nodes: [{ id: 'a', handler: 'h', with: { list: [1] } }] }
    const parsed = parseGraph(source)
    source.nodes[0]?.with.list.push(2)
    expect(parsed.document).toEqual({
      name: 'g',
      nodes: [{ id: 'a', handler: 'h', with: { list: [1] } }],
    })
  })

  test('fields that are undefined are not there, and $schema is left out', () => {
    const source = { $schema: 'graph.schema.json', name: 'g', description: undefined }
    const parsed = parseGraph({ ...source, nodes: [step('a')] })
    expect(parsed.document).toEqual({ name: 'g', nodes: [step('a')] })
  })
})

describe('what a node is given', () => {
  const scope = { input: { city: 'Bonn' }, results: { fetch: { count: 3 }, start: { city: 'B' } } }

  test('A14: its `with`, filled in', () => {
    expect(given(nodeOf(report, 'fetch'), scope)).toEqual({
      url: 'https://weather.example/Bonn',
      tags: ['daily', false],
    })
    const item = { item: { mail: 'a@example.org' }, index: 7 }
    expect(given(nodeOf(report, 'notify'), { ...scope, ...item })).toEqual({
      to: 'a@example.org',
      text: '7: B',
    })
  })

  test('A14: without it, the results of what it comes after, by id; those that failed have none', () => {
    const node = nodeOf(graph(step('a'), step('b'), step('c'), step('d', 'a', 'b', 'c')), 'd')
    const results = { a: 1, b: TIMEOUT }
    expect(given(node, { input: 0, results })).toEqual({ a: 1, b: 'timeout' })
  })

  test('A14: without it and as the first, what the run was started with', () => {
    const document = { ...graph(step('a')), parameters: { n: { default: 5 } } }
    expect(given(nodeOf(document, 'a'), { input: { m: 1 }, results: {} })).toEqual({ m: 1, n: 5 })
    expect(given(nodeOf(graph(step('a')), 'a'), { input: 'x', results: {} })).toBe('x')
  })

  test('without it and for each of a list, the item', () => {
    const node = nodeOf(graph({ id: 'a', handler: 'h', each: [1, '{{ input.x }}'] }), 'a')
    expect(given(node, { input: {}, results: {}, item: 'i', index: 0 })).toBe('i')
    expect(node.each?.over({ input: { x: 2 }, results: {} })).toEqual([1, 2])
  })

  test('A12: `input` gives the input with defaults, or fails for good', () => {
    const node = nodeOf(report, 'start')
    expect(given(node, { input: { city: 'Bonn' }, results: {} })).toEqual({
      city: 'Bonn',
      dry: false,
    })
    const refused = (input: unknown): unknown => {
      try {
        return given(node, { input, results: {} })
      } catch (error) {
        return error
      }
    }
    expect(refused({ dry: 'yes' })).toBeInstanceOf(PermanentError)
    expect(String(refused({ dry: 'yes' }))).toMatch(/'city' is missing; 'dry' is text, expected true or false/)
    expect(String(refused('Bonn'))).toMatch(/the input is text; expected an object with city, dry/)
    expect(parseGraph(report).inputOf({ city: 'Bonn' })).toEqual({ city: 'Bonn', dry: false })
  })

  test('A12: `output` gives its `with`, or what it comes after gave', () => {
    expect(given(nodeOf(report, 'done'), scope)).toEqual({ fetch: { count: 3 } })
    const shaped = graph(step('a'), {
      id: 'o',
      handler: 'output',
      after: ['a'],
      with: ['{{ nodes.a }}'],
    })
    expect(given(nodeOf(shaped, 'o'), { input: 0, results: { a: 1 } })).toEqual([1])
  })

  test('what undoes it is given its `with`, or the result', () => {
    const undone = (compensate: object): unknown => {
      const { undo } = nodeOf(graph({ id: 'a', handler: 'h', compensate }), 'a')
      if (undo === undefined || !('activity' in undo)) throw new Error('no undo')
      return undo.activityInput({ input: { n: 1 }, results: {}, result: { id: 7 } })
    }
    expect(undone({ handler: 'u' })).toEqual({ id: 7 })
    expect(undone({ handler: 'u', with: '{{ result.id }} {{ input.n }}' })).toBe('7 1')
  })

  test('a condition is true or false, and anything else a mistake', () => {
    const node = nodeOf(graph({ id: 'a', handler: 'h', when: '{{ input.x }}' }), 'a')
    const when = (x: unknown): unknown => node.when?.({ input: { x }, results: {} })
    expect(when(true)).toBe(true)
    expect(when(false)).toBe(false)
    expect(() => when('yes')).toThrow('nodes[0].when: expected true or false, got text')
    expect(() => when(undefined)).toThrow(/input\.x has no value/)
    const listed = nodeOf(graph({ id: 'a', handler: 'h', each: '{{ input }}' }), 'a')
    expect(() => listed.each?.over({ input: 5, results: {} })).toThrow(/expected a list/)
  })
})

describe('what the run gives', () => {
  const outputOf = (document: object, results: Record<string, unknown>): unknown =>
    parseGraph(document).plan.output?.({ input: { n: 1 }, results })
  const out = (id: string): object => ({ id, handler: 'output', after: ['a'] })

  test('is what `output` says', () => {
    const document = { ...graph(step('a')), output: { sum: '{{ nodes.a.sum }}' } }
    expect(outputOf(document, { a: { sum: 5 } })).toEqual({ sum: 5 })
  })

  test('A12: or what the `output` node gave, or several by id', () => {
    expect(outputOf(graph(step('a'), out('o')), { a: 1, o: 2 })).toBe(2)
    expect(outputOf(graph(step('a'), out('o')), { a: 1 })).toBe(null)
    expect(outputOf(graph(step('a'), out('o'), out('p')), { a: 1, o: 2, p: 3 })).toEqual({
      o: 2,
      p: 3,
    })
  })

  test('or the results of all nodes', () => {
    expect(outputOf(graph(step('a'), step('b')), { a: 1, b: TIMEOUT })).toEqual({
      a: 1,
      b: 'timeout',
    })
  })
})

describe('problems', () => {
  test('D1: all of them are told at once, with their places', () => {
    const found = problemsOf(
      graph(
        { id: 'a', handler: 'h', after: ['b', 'x'], rule: 'most' },
        { id: 'b', handler: 'h', after: ['a', 'b'], delay: '1 day' },
        { id: 'c', wait: 's', handler: 'h' },
        { id: 'd', handler: 'h', retry: { maxAttempts: 0, tries: 1 } },
      ),
    )
    const places = (problems: readonly GraphProblem[]): string[] =>
      problems.map(({ path, code }) => `${path} ${code}`).toSorted()
    expect(places(problemsOf(graph(step('a'), step('a'), { handler: 'h' })))).toEqual([
      'nodes[1].id DUPLICATE_ID',
      'nodes[2] MISSING_FIELD',
    ])
    expect(places(found)).toEqual([
      'nodes[0].after[0] CYCLE',
      'nodes[0].after[1] UNKNOWN_DEPENDENCY',
      'nodes[0].rule INVALID_VALUE',
      'nodes[1].after[1] SELF_DEPENDENCY',
      'nodes[1].delay INVALID_VALUE',
      'nodes[2] CONFLICTING_FIELDS',
      'nodes[3].retry.maxAttempts INVALID_VALUE',
      'nodes[3].retry.tries UNKNOWN_FIELD',
    ])
  })

  test('D1: the message can be read, and is bounded', () => {
    expect(() => parseGraph(graph(step('a', 'bb'), step('b')))).toThrow(
      "graph 'g' has 1 problem:\n  nodes[0].after[0]: there is no node 'bb'; did you mean 'b'?",
    )
    const many = graph(...Array.from({ length: 500 }, (_, index) => step(`n${index}`, `x${index}`)))
    expect(problemsOf(many)).toHaveLength(100)
    expect(() => parseGraph(many)).toThrow(/has 500 problems:[^]*and 480 more$/)
  })

  test('D1: an alias is told of by the name that was written', () => {
    const [found] = problemsOf(graph({ id: 'a', handler: 'h', dependencies: ['b'] }))
    expect(found?.path).toBe('nodes[0].dependencies[0]')
    const both = { id: 'a', handler: 'h', dependencies: [], after: [] }
    expect(problemsOf(graph(both))[0]?.code).toBe('CONFLICTING_FIELDS')
  })

  test('A12: handlers are looked for if it is said which there are', () => {
    const document = graph(
      { id: 'a', handler: 'chrage', compensate: { handler: 'refund' } },
      { id: 'b', handler: 'output', after: ['a'] },
    )
    expect(problemsOf(document)).toEqual([])
    expect(problemsOf(document, ['charge', 'refund'])).toEqual([
      {
        path: 'nodes[0].handler',
        code: 'UNKNOWN_HANDLER',
        message: "unknown activity 'chrage'; did you mean 'charge'?",
      },
    ])
    expect(problemsOf(document, ['chrage'])[0]?.path).toBe('nodes[0].compensate.handler')
  })
})
