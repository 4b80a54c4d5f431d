import { expect, test } from 'vitest'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { MemoryStore } from '../stores/memory/store.ts'
import type { RecordOperation, RecordOutcome } from '../stores/store.ts'
import { Catalogue, type Draft } from './catalogue.ts'

const draft = (what: string): Draft => ({
  name: 'report',
  definitionHash: `hash of ${what}`,
  contentHash: `content of ${what}`,
  document: { what },
})

/** Catalogues on one store, as processes have them. One of them may die at one of its writes. */
function world(): { process: (diesAt?: number, when?: 'before' | 'after') => Catalogue } {
  const clock = new VirtualClock()
  const store = new MemoryStore({ clock })
  let writeIds = 0
  return {
    process: (diesAt = Number.POSITIVE_INFINITY, when = 'after') => {
      let writes = 0
      const records = async (operations: readonly RecordOperation[]): Promise<readonly RecordOutcome[]> => {
        const dies = operations.some(({ type }) => type === 'put') && ++writes === diesAt
        if (dies && when === 'before') throw new Error('killed')
        const outcomes = await store.records(operations)
        if (dies) throw new Error('killed')
        return outcomes
      }
      return new Catalogue({ records, writeId: () => ++writeIds }, () => clock.now())
    },
  }
}

const deaths = [1, 2, 3].flatMap((write) => [
  { write, when: 'before' as const },
  { write, when: 'after' as const },
])

test.each(deaths)('D3: a submit that dies $when its write $write is completed by the next', async ({ write, when }) => {
  const { process } = world()
  await expect(process(write, when).submit(draft('one'))).rejects.toThrow('killed')
  const next = process()
  // Whether the same is submitted again or another: no version is lost, and none is there twice.
  expect((await next.submit(draft('two'))).version).toBe(write === 1 && when === 'before' ? 1 : 2)
  const versions = await next.versions('report')
  const found = versions.map(({ version, contentHash }) => [version, contentHash])
  expect(found.toReversed().map(([version]) => version)).toEqual(found.map((_, n) => n + 1))
  expect(new Set(found.map(([, content]) => content)).size).toBe(found.length)
  expect(await next.names()).toEqual(['report'])
})

test.each(deaths)('D3: the same again after a death $when write $write is version 1', async ({ write, when }) => {
  const { process } = world()
  await process(write, when)
    .submit(draft('one'))
    .catch(() => {})
  const next = process()
  expect((await next.submit(draft('one'))).version).toBe(1)
  expect(await next.versions('report')).toHaveLength(1)
  expect(await next.isRunnable('report')).toBe(true)
})

test('what any worker can run is listed by name; code is not', async () => {
  const catalogue = world().process()
  await catalogue.submit(draft('one'))
  const { document: _, ...code } = draft('code')
  await catalogue.submit({ ...code, name: 'coded' })
  expect(await catalogue.names()).toEqual(['report'])
  expect(await catalogue.isRunnable('coded')).toBe(false)
  expect((await catalogue.look()).changes).toBe(2)
})

test('D3: what was submitted last is the newest, whichever process is slow', async () => {
  const store = new MemoryStore({ clock: new VirtualClock() })
  let writeIds = 0
  const on = (before: (operation: RecordOperation) => Promise<void>): Catalogue =>
    new Catalogue(
      {
        records: async (operations) => {
          for (const operation of operations) await before(operation)
          return store.records(operations)
        },
        writeId: () => ++writeIds,
      },
      () => 0,
    )
  const quick = on(async () => {})
  // Another process submits when the slow one has told workers of its version, and has nothing left to do but to return.
  let looks = 0
  const slow = on(async ({ type, space }) => {
    if (type === 'put' && space === 'definition-changes') looks = Math.max(looks, 1)
    else if (looks > 0 && looks++ === 1) await quick.submit(draft('later'))
  })
  expect(await slow.submit(draft('first'))).toMatchObject({ version: 1 })
  await quick.submit(draft('later'))
  expect((await quick.versions('report')).map(({ version }) => version)).toEqual([2, 1])
  expect(await quick.newest('report')).toMatchObject(draft('later'))
})

test('D3: a name that is data does not become code, or the other way round', async () => {
  const { process } = world()
  const { document: _, ...code } = draft('code')
  const catalogue = process()
  await catalogue.submit(draft('data'))
  await expect(catalogue.submit(code)).rejects.toMatchObject({ code: 'DEFINITION_CONFLICT' })
  expect(await catalogue.names()).toEqual(['report'])
  await catalogue.submit({ ...code, name: 'other' })
  await expect(catalogue.submit({ ...draft('data'), name: 'other' })).rejects.toThrow('is code')
})
