// The arithmetic of the pages around the runs: differences of texts, forms of schemas, what needs a person.
import { describe, expect, test } from 'vitest'
import { difference } from '../../ui/src/pages/definitions/lines.ts'
import { needsOf } from '../../ui/src/pages/overview/needs.ts'
import { couldBe, defaultOf, kindOf } from '../../ui/src/pages/start/schema.ts'

describe('A10: the difference between two versions', () => {
  const told = (before: string, after: string): string[] =>
    difference(before, after).map(({ is, text }) => `${{ same: ' ', added: '+', removed: '-' }[is]}${text}`)

  test('what is the same stays, what is gone comes before what is new', () => {
    expect(told('a\nb\nc', 'a\nx\nc')).toEqual([' a', '-b', '+x', ' c'])
    expect(told('a', 'a')).toEqual([' a'])
    expect(told('a\nb', 'b\nc')).toEqual(['-a', ' b', '+c'])
  })

  test('either text can be read off the difference, whatever the texts are', () => {
    const texts = ['', 'a', 'a\na', 'b\na\nc\na', 'a\nb\nc\nd', 'd\nc\nb\na', 'x\na\nb\ny\nc']
    for (const before of texts) {
      for (const after of texts) {
        const lines = difference(before, after)
        const left = lines.filter(({ is }) => is !== 'added').map(({ text }) => text)
        const right = lines.filter(({ is }) => is !== 'removed').map(({ text }) => text)
        expect([left.join('\n'), right.join('\n')]).toEqual([before, after])
      }
    }
  })

  test('very different large texts are compared at once', () => {
    const many = (word: string): string => Array.from({ length: 5_000 }, (_, n) => `${word}${n}`).join('\n')
    expect(difference(many('a'), many('b'))).toHaveLength(10_000)
  })
})

describe('A10: forms of JSON Schema', () => {
  test('the beginning has what is required, and the defaults', () => {
    const schema = {
      type: 'object',
      properties: {
        id: { type: 'string' },
        cents: { type: 'integer', minimum: 5 },
        region: { enum: ['eu', 'us'], default: 'us' },
        note: { type: 'string' },
      },
      required: ['id', 'cents'],
    } as const
    expect(defaultOf(schema)).toEqual({ id: '', cents: 5, region: 'us' })
  })

  test('what the form does not understand is a field for JSON', () => {
    expect(kindOf({ type: 'object' })).toBe('json')
    expect(kindOf({ type: ['string', 'null'] })).toBe('json')
    expect(kindOf({})).toBe('json')
  })

  test('a value finds its variant', () => {
    const by = (kind: string) => ({ type: 'object', properties: { by: { const: kind } } })
    expect([by('card'), by('cash')].map((variant) => couldBe(variant, { by: 'cash' }))).toEqual([false, true])
    expect(couldBe({ type: 'integer' }, 5)).toBe(true)
    expect(couldBe({ type: 'string' }, null)).toBe(false)
  })
})

test('I13: what holds up most runs comes first, and a slot that was missed long ago is history', () => {
  const oldest = new Date(0)
  const schedule = { workflow: 'w', paused: false, timing: { every: '1h' }, next: [], missed: 3 } as const
  const needs = needsOf({
    workers: [],
    queues: [{ queue: 'mail', kind: 'run', due: 9, oldest }],
    checks: [],
    paused: [{ key: 'paused:DETERMINISM', count: 2, oldest }],
    failed: [{ key: 'failed:Card declined', count: 5, oldest }],
    schedules: [
      { ...schedule, id: 'old', lastMissed: oldest },
      { ...schedule, id: 'new', lastMissed: new Date() },
    ],
  })
  expect(needs.map(({ what, count }) => [what, count])).toEqual([
    ['No living worker takes from queue mail', 9],
    ['5 runs failed in the last 24 hours', 5],
    ['Schedule new missed 3 slots', 3],
    ['2 runs paused', 2],
  ])
  expect(decodeURIComponent(needs[1]?.href ?? '')).toBe('/runs?q=failure:"Card declined" started:<24h')
})
