// Graphs given as data, run to their end: what templates look up is what steps gave.
import { activity, graph, PermanentError, query, TIMEOUT } from 'pawl'
import { describe, expect, test } from 'vitest'
import { eventsOf, using, ways } from './support.ts'

const fetched = activity('fetch', async ({ city }: { city: string }) => ({
  body: { city, list: [1, 2, 3], nothing: null },
}))
const double = activity('double', async ({ n }: { n: number }) => n * 2)
const refund = activity('refund', async ({ of }: { of: string }) => void refunds.push(of))
const fail = activity('fail', { retry: 'none' }, async () => {
  throw new PermanentError('out of order')
})
const activities = [fetched, double, refund, fail]
const refunds: string[] = []

const report = `
name: report
parameters:
  city: { type: string, default: Oslo }
nodes:
  - { id: start, handler: input }
  - { id: get, handler: fetch, after: [start], with: { city: "{{ nodes.start.city }}" } }
  - { id: each, handler: double, after: [get], each: "{{ nodes.get.body.list }}", with: { n: "{{ item }}" } }
  - { id: large, handler: double, after: [each], when: "{{ nodes.each[2] >= 6 and not (nodes.get.body.city == 'Rome') }}", with: { n: "{{ nodes.each[2] }}" } }
  - { id: never, handler: double, after: [each], when: "{{ nodes.each[0] > 100 }}", with: { n: 1 } }
  - { id: approval, wait: approval, timeout: 1h, after: [get] }
  - id: done
    handler: output
    after: [large, approval]
    with: { text: "{{ nodes.get.body.city }} has {{ nodes.large }}", missing: "{{ nodes.get.body.nothing ?? 'none' }}" }
output: { result: "{{ nodes.done }}", skipped: "{{ nodes.never ?? false }}" }
`

describe.each(ways)('%s', (_, alwaysReplay) => {
  test('A12, A14: templates see what steps gave, in inputs, conditions, lists and the output', async () => {
    const definition = graph.parse(report)
    await using([definition], { alwaysReplay, activities }, async (engine) => {
      expect(await engine.execute(definition, {})).toEqual({
        result: { text: 'Oslo has 12', missing: 'none' },
        skipped: false,
      })
      expect(await engine.execute(definition, { city: 'Bergen' })).toMatchObject({
        result: { text: 'Bergen has 12' },
      })
    })
  })

  test('A14: a node that says nothing gets what it comes after gave, by id', async () => {
    const aggregate = activity('aggregate', async (given: unknown) => given)
    const definition = graph.parse({
      name: 'fan-in',
      nodes: [
        { id: 'a', handler: 'double', with: { n: 1 } },
        { id: 'b', handler: 'double', with: { n: 2 } },
        { id: 'both', handler: 'aggregate', after: ['a', 'b'] },
      ],
      output: '{{ nodes.both }}',
    })
    await using([definition], { alwaysReplay, activities: [...activities, aggregate] }, async (engine) => {
      expect(await engine.execute(definition, null)).toEqual({ a: 2, b: 4 })
    })
  })

  test('R7: a node of data is undone with its result; what has no value fails its node', async () => {
    refunds.length = 0
    const definition = graph.parse({
      name: 'undone',
      nodes: [
        {
          id: 'pay',
          handler: 'fetch',
          with: { city: 'Oslo' },
          compensate: { handler: 'refund', with: { of: '{{ result.body.city }}' } },
        },
        {
          id: 'next',
          handler: 'double',
          after: ['pay'],
          with: { n: '{{ nodes.pay.body.absent }}' },
        },
      ],
    })
    await using([definition], { alwaysReplay, activities }, async (engine) => {
      const run = await engine.start(definition, null)
      await expect(run.result()).rejects.toThrow('nodes.pay.body.absent')
      expect(refunds).toEqual(['Oslo'])
      expect(await eventsOf(run)).toContain('StepRefused activity:next#1')
      const steps = await run.query(query<void, { name: string; status: string }[]>('steps'))
      expect(steps.map(({ status }) => status)).toEqual(['succeeded', 'failed'])
    })
  })

  test('a wait that timed out is told apart from what came', async () => {
    const definition = graph.parse({
      name: 'waiting',
      nodes: [{ id: 'w', wait: 'never sent', timeout: '1h' }],
    })
    await using([definition], { alwaysReplay, activities }, async (engine) => {
      const given = await engine.execute(definition, null)
      expect([TIMEOUT, 'timeout']).toContain((given as { w: unknown }).w)
    })
  })
})
