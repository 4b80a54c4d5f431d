// What is written about graphs as data is true: the examples in the docs are taken, by pawl and by the schema for editors, and
// the two agree on what is not.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { parseGraph } from '../src/addons/documents/parse.ts'
import { PawlError } from '../src/core/base/errors.ts'

const docs = join(import.meta.dirname, '..', 'docs')
const page = await readFile(join(docs, 'guides', 'graphs-as-data.md'), 'utf8')
const text = await readFile(join(docs, 'reference', 'graph.schema.json'), 'utf8')
const schema = z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
const examples = [...page.matchAll(/```yaml\n([^]*?)```/g)].map((match) => match[1] ?? '')

function isTaken(document: unknown): boolean {
  try {
    parseGraph(document)
    return true
  } catch (error) {
    if (error instanceof PawlError && error.code === 'DEFINITION_INVALID') return false
    throw error
  }
}

describe('D1: the examples in the docs', () => {
  test('are there', () => {
    expect(examples).toHaveLength(3)
  })

  test.each(examples)('%s', (example) => {
    expect(() => parseGraph(example)).not.toThrow()
    expect(schema.safeParse(parse(example)).error).toBeUndefined()
    expect(schema.safeParse(parseGraph(example).document).error).toBeUndefined()
  })
})

describe('D1: the schema and pawl agree', () => {
  const graph = (node: object, more: object = {}): object => ({
    name: 'g',
    nodes: [
      { id: 'a', handler: 'h' },
      { id: 'b', ...node },
    ],
    ...more,
  })
  const documents: readonly (readonly [string, object, boolean])[] = [
    ['an activity', graph({ handler: 'h', after: ['a'], retry: 'none', startToClose: 500 }), true],
    ['a wait', graph({ wait: 's', timeout: 'P2DT6H', rule: 'allDone', when: true }), true],
    ['a workflow', graph({ workflow: 'w', parentClose: 'abandon', each: [1], parallel: 2 }), true],
    ['what undoes', graph({ handler: 'h', compensate: { handler: 'u', ownFailure: true } }), true],
    ['parameters', graph({ handler: 'input' }, { parameters: { x: { default: [] } } }), true],
    ['output', graph({ handler: 'output', with: null }, { output: null }), true],
    ['no name', { nodes: [{ id: 'a', handler: 'h' }] }, false],
    ['no nodes', { name: 'g', nodes: [] }, false],
    ['no id', { name: 'g', nodes: [{ handler: 'h' }] }, false],
    ['an unknown field', graph({ handler: 'h', needs: ['a'] }), false],
    ['an unknown field above', graph({ handler: 'h' }, { version: 1 }), false],
    ['nothing to do', graph({}), false],
    ['two things to do', graph({ handler: 'h', wait: 's' }), false],
    ['a wait that is tried again', graph({ wait: 's', retry: 'none' }), false],
    ['a wait for each', graph({ wait: 's', each: [1] }), false],
    ['an input with options', graph({ handler: 'input', queue: 'q' }), false],
    ['a workflow that is tried again', graph({ workflow: 'w', retry: 'none' }), false],
    ['an unknown rule', graph({ handler: 'h', rule: 'most' }), false],
    ['an unknown retry', graph({ handler: 'h', retry: 'twice' }), false],
    ['attempts below one', graph({ handler: 'h', retry: { maxAttempts: 0 } }), false],
    ['a duration without a unit', graph({ handler: 'h', delay: '10' }), false],
    ['a negative duration', graph({ handler: 'h', delay: -1 }), false],
    ['a priority beyond all bounds', graph({ handler: 'h', priority: 1_001 }), false],
    ['none at once', graph({ handler: 'h', each: [1], parallel: 0 }), false],
    ['a condition that is text', graph({ handler: 'h', when: 'yes' }), false],
    ['undoing by nothing', graph({ handler: 'h', compensate: {} }), false],
    ['dependencies as text', graph({ handler: 'h', after: 'a' }), false],
    ['an unknown type', graph({ handler: 'h' }, { parameters: { x: { type: 'text' } } }), false],
  ]

  test.each(documents)('%s', (_name, document, taken) => {
    expect(isTaken(document)).toBe(taken)
    expect(schema.safeParse(document).success).toBe(taken)
  })
})
