// What the pages around the runs ask a server for: runs over time, saved views, queues, workflows, slots of schedules.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationName } from '../../src/operations/routes.ts'
import { type Answer, type Call, callerOf, type Input, openWorld, type World } from './support.ts'

const DAY_MS = 86_400_000

let world: World
let call: Call

beforeAll(async () => {
  world = await openWorld({ open: true })
  call = callerOf(world.api)
})

afterAll(() => world[Symbol.asyncDispose]())

async function ok(name: OperationName, input: Input = {}): Promise<Answer['json']> {
  const answer = await call(name, input)
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.json
}

test('O4: runs over time, by their status now', async () => {
  await ok('runs.start', { workflow: 'double', input: 1, wait: '10s' })
  const startedAfter = new Date(Date.now() - 3 * DAY_MS).toISOString()
  const startedBefore = new Date(Date.now() + DAY_MS).toISOString()
  const { items } = await ok('runs.histogram', { startedAfter, startedBefore, workflow: 'double', bins: 2 })
  expect(items).toMatchObject([
    { from: startedAfter, counts: {} },
    { to: startedBefore, counts: { completed: 1 } },
  ])
  const turned = await call('runs.histogram', { startedAfter: startedBefore, startedBefore: startedAfter })
  expect(turned).toMatchObject({ status: 400, json: { code: 'INPUT_INVALID' } })
  expect(await call('runs.histogram', { startedAfter, startedBefore, bins: 1_000 })).toMatchObject({ status: 400 })
})

test('O4: a view is saved, replaced, listed and deleted; saving and deleting again change nothing', async () => {
  const mine = { name: 'Mine', query: 'status:paused' }
  await ok('views.set', { view: 'Mine', query: 'status:failed' })
  await ok('views.set', { view: 'Mine', query: 'status:paused' })
  await ok('views.set', { view: 'Mine', query: 'status:paused' })
  await ok('views.set', { view: 'All mine', query: 'attr.owner:me' })
  expect(await ok('views.list')).toEqual({ items: [{ name: 'All mine', query: 'attr.owner:me' }, mine] })
  for (const query of ['', 'x'.repeat(2_001)]) {
    expect(await call('views.set', { view: 'Mine', query })).toMatchObject({ json: { code: 'INPUT_INVALID' } })
  }
  await ok('views.delete', { view: 'All mine' })
  await ok('views.delete', { view: 'All mine' })
  expect(await ok('views.list')).toEqual({ items: [mine] })
})

test('O4: there is a limit of saved views, and two saved at the same time are both kept', async () => {
  const names = Array.from({ length: 99 }, (_, n) => `view ${n}`)
  await Promise.all(names.slice(0, 8).map((view) => ok('views.set', { view, query: 'x' })))
  for (const view of names.slice(8)) await ok('views.set', { view, query: 'x' })
  expect(await call('views.set', { view: 'too many', query: 'x' })).toMatchObject({ json: { code: 'INPUT_INVALID' } })
  await ok('views.set', { view: 'view 1', query: 'y' })
  expect((await ok('views.list'))['items']).toHaveLength(100)
})

test('W4: what waits in a queue is told until it is taken', async () => {
  const { runId: run } = await ok('runs.start', { workflow: 'double', input: 1, queue: 'nobody' })
  expect(await ok('queues.list')).toMatchObject({
    items: [{ queue: 'nobody', kind: 'run', due: 1, oldest: expect.any(String) }],
  })
  await ok('runs.terminate', { run, reason: 'over' })
  expect(await ok('queues.list')).toEqual({ items: [] })
})

test('A10: workflows that can be started, and the schema of the input of a document', async () => {
  const parameters = { city: { type: 'string', required: true }, grams: { type: 'number', default: 1 } }
  await ok('definitions.submit', { document: { name: 'sent', parameters, nodes: [{ id: 'a', handler: 'charge' }] } })
  const { items } = await ok('workflows.list')
  const properties = { city: { type: 'string' }, grams: { type: 'number', default: 1 } }
  expect(items).toContainEqual({
    ...{ name: 'sent', workers: 1, version: 1 },
    input: { type: 'object', properties, required: ['city'] },
  })
  expect(items).toContainEqual({ name: 'double', workers: 1 })
  expect(JSON.stringify(items)).not.toMatch(/pawl\.schedule|activity:/)
})

test('T5: the slots of a schedule, past and to come', async () => {
  const schedule = 'nightly'
  await ok('schedules.set', { schedule, workflow: 'double', cron: '0 3 * * *', input: 1, paused: true })
  const range = { from: '2026-01-01T03:00:00Z', to: '2026-01-03T00:00:00Z' }
  const slots = ['2026-01-01T03:00:00.000Z', '2026-01-02T03:00:00.000Z']
  expect(await ok('schedules.slots', { schedule, ...range })).toEqual({ slots, more: false })
  const long = await ok('schedules.slots', { schedule, from: '2020-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' })
  expect(long['slots']).toHaveLength(1_000)
  expect(long['more']).toBe(true)
})
