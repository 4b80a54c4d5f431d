import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { parseGraph } from './parse.ts'
import type { GraphProblem } from './problems.ts'

interface Step {
  readonly id: string
  readonly after: readonly string[]
  readonly with?: unknown
}

function graphOf(steps: readonly Step[]): unknown {
  return { name: 'g', nodes: steps.map((each) => ({ handler: 'h', ...each })) }
}

function problemsOf(document: unknown): readonly GraphProblem[] {
  try {
    parseGraph(document)
    return []
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'DEFINITION_INVALID') throw error
    return (error.details as { problems: GraphProblem[] }).problems
  }
}

const codesOf = (steps: readonly Step[]): string[] => problemsOf(graphOf(steps)).map(({ code }) => code)

const step = (id: string, ...after: string[]): Step => ({ id, after })

/** Edges lead from lower to higher numbers, and the list is shuffled. */
const dag = fc
  .tuple(
    fc.integer({ min: 2, max: 12 }),
    fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 30 }),
    fc.infiniteStream(fc.nat()),
  )
  .map(([size, pairs, keys]) => {
    const edges = new Set<string>()
    for (const [one, other] of pairs) {
      edges.add(`${Math.min(one, other) % size} ${Math.max(one, other) % size}`)
    }
    const parents = Array.from({ length: size }, (_, to) =>
      Array.from({ length: to }, (_, from) => from).filter((from) => edges.has(`${from} ${to}`)),
    )
    const order = parents.map((_, index) => ({ index, key: keys.next().value ?? 0 }))
    order.sort((a, b) => a.key - b.key || a.index - b.index)
    return { parents, order: order.map(({ index }) => index) }
  })

function ancestorsOf(node: number, parents: readonly (readonly number[])[]): Set<number> {
  const found = new Set<number>()
  const open = [...(parents[node] ?? [])]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue
    found.add(next)
    open.push(...(parents[next] ?? []))
  }
  return found
}

describe('D1: order', () => {
  test('a cycle is printed, in the order of waiting', () => {
    const [problem, ...more] = problemsOf(
      graphOf([step('start'), step('b', 'a'), step('c', 'b'), step('a', 'c', 'start'), step('end', 'start')]),
    )
    expect(problem?.path).toBe('nodes[1].after[0]')
    expect(problem?.message).toMatch(/^a cycle: b → c → a → b;/)
    expect(more.map(({ code }) => code)).toEqual([])
  })

  test('cycles that have nothing to do with each other are each told of once', () => {
    const steps = [
      step('x1', 'x2'),
      step('x2', 'x1'),
      step('y1', 'x1', 'y2'),
      step('y2', 'y1'),
      step('z', 'y2'),
      step('free'),
    ]
    const problems = problemsOf(graphOf(steps))
    const cycles = problems.filter(({ code }) => code === 'CYCLE')
    expect(cycles.map(({ message }) => message.split(';')[0])).toEqual([
      'a cycle: x1 → x2 → x1',
      'a cycle: y1 → y2 → y1',
    ])
    // That `z` can never begin follows from that.
    expect(problems).toEqual(cycles)
  })

  test.each<[string, readonly Step[], readonly string[]]>([
    ['itself', [step('a', 'a'), step('b')], ['SELF_DEPENDENCY']],
    ['users D9: one that is not there', [step('a', 'b')], ['UNKNOWN_DEPENDENCY']],
    ['one twice', [step('a'), step('b', 'a', 'a')], ['DUPLICATE_DEPENDENCY']],
    ['users D9: no beginning and no end', [step('a', 'b'), step('b', 'a')], ['CYCLE']],
    ['two of one id', [step('a'), step('a')], ['DUPLICATE_ID']],
    ['nothing at all', [], ['INVALID_VALUE']],
  ])('%s', (_name, steps, codes) => {
    expect(codesOf(steps).toSorted()).toEqual(codes)
  })

  test('what a template names must come before', () => {
    const found = problemsOf(
      graphOf([
        step('a'),
        { ...step('b', 'a'), with: ['{{ nodes.c }}', '{{ nodes.b }}', 'x {{ nodes.cc }}'] },
        { ...step('c', 'a'), with: '{{ nodes.a.x ?? nodes.a.y }}' },
      ]),
    )
    expect(found).toEqual([
      {
        path: 'nodes[1].with[1]',
        code: 'SELF_REFERENCE',
        message: "column 4: node 'b' refers to its own result",
      },
      {
        path: 'nodes[1].with[0]',
        code: 'NOT_AN_ANCESTOR',
        message: "column 4: node 'c' does not come before this node: add it to `after`",
      },
      {
        path: 'nodes[1].with[2]',
        code: 'UNKNOWN_NODE',
        message: "column 6: there is no node 'cc'; did you mean 'c'?",
      },
    ])
  })
})

describe('D1: properties', () => {
  test('graphs without a cycle are accepted, and nodes see exactly the ancestors they name', () => {
    fc.assert(
      fc.property(dag, ({ parents, order }) => {
        const steps = order.map((node) => ({
          id: `n${node}`,
          after: (parents[node] ?? []).map((parent) => `n${parent}`),
          with: [...ancestorsOf(node, parents)].map((each) => `{{ nodes.n${each} }}`),
        }))
        const { plan } = parseGraph(graphOf(steps))
        for (const node of order) {
          const sees = plan.nodes.get(`n${node}`)?.sees.toSorted()
          const expected = [...ancestorsOf(node, parents)].map((each) => `n${each}`)
          expect(sees).toEqual(expected.toSorted())
        }
      }),
    )
  })

  test('to name any other node is refused', () => {
    fc.assert(
      fc.property(dag, fc.nat(11), fc.nat(11), ({ parents, order }, from, to) => {
        fc.pre(from !== to && from < parents.length && to < parents.length)
        fc.pre(!ancestorsOf(from, parents).has(to))
        const steps = order.map((node) => ({
          id: `n${node}`,
          after: (parents[node] ?? []).map((parent) => `n${parent}`),
          ...(node === from && { with: { a: `{{ nodes.n${to}.x }}` } }),
        }))
        expect(codesOf(steps)).toEqual(['NOT_AN_ANCESTOR'])
      }),
    )
  })

  test('an edge back is refused with the cycle it makes', () => {
    fc.assert(
      fc.property(dag, fc.nat(), ({ parents, order }, choice) => {
        const pairs = order.flatMap((high) => [...ancestorsOf(high, parents)].map((low) => ({ low, high })))
        const { low, high } = pairs[choice % pairs.length] ?? { low: 0, high: 0 }
        fc.pre(low < high)
        const after = parents.map((list) => list.map((parent) => `n${parent}`))
        after[low]?.push(`n${high}`)
        const steps = order.map((node) => ({ id: `n${node}`, after: after[node] ?? [] }))
        const cycles = problemsOf(graphOf(steps)).filter(({ code }) => code === 'CYCLE')
        expect(cycles).toHaveLength(1)
        const names = /a cycle: ([^;]+);/.exec(cycles[0]?.message ?? '')?.[1]?.split(' → ') ?? []
        expect(names.at(-1)).toBe(names[0])
        const edges = names.slice(1).map((name, index) => [names[index] ?? '', name] as const)
        for (const [before, name] of edges) {
          expect(steps.find(({ id }) => id === name)?.after).toContain(before)
        }
        expect(edges).toContainEqual([`n${high}`, `n${low}`])
      }),
    )
  })
})

describe('D1: as large as it may be', () => {
  const size = limits.graphNodesMax
  const ids = Array.from({ length: size }, (_, index) => `n${index}`)

  test('a chain in which every node names the first', () => {
    const steps = ids.map((id, index) => ({
      ...step(id, ...ids.slice(Math.max(0, index - 1), index)),
      ...(index > 0 && { with: '{{ nodes.n0 }}' }),
    }))
    expect(parseGraph(graphOf(steps)).plan.nodes.get('n9999')?.sees).toEqual(['n9998', 'n0'])
  })

  test('a ring, printed in short', () => {
    const steps = ids.map((id, index) => step(id, ids[(index + size - 1) % size] ?? ''))
    const [cycle] = problemsOf(graphOf(steps))
    expect(cycle?.message).toMatch(/^a cycle: n0 → n1 → .* 9981 more .* → n9999 → n0;/)
  })

  test('more edges than may be', () => {
    const wide = ids.slice(0, 320).map((id) => id.replace('n', ''))
    const steps = wide.flatMap((id) => [step(id), { id: `to${id}`, after: wide }])
    expect(codesOf(steps)).toContain('LIMIT')
  })

  test('every node a mistake of its own', () => {
    const alike = ids.map((id) => `${'a'.repeat(54)}${id}`)
    const steps = alike.slice(0, 5_000).map((id) => step(id, `${id}x`.slice(0, 60)))
    expect(problemsOf(graphOf(steps))).toHaveLength(limits.graphProblemsMax)
  })
})
