// Attributes that are removed, and those that are lists of texts.
import { limits } from '../../core/base/limits.ts'
import type { AttributeTest } from '../../core/stores/store.ts'
import { compared, createEach, found, mixed } from './attributes.ts'
import {
  again,
  apply,
  continued,
  created,
  ended,
  hold,
  idsOf,
  newRun,
  numbered,
  pausedBy,
  released,
  snapshot,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { same } from './check.ts'

const tagged = (value: string): readonly AttributeTest[] => [{ name: 'tags', is: 'eq', value }]

const removing: readonly Case[] = [
  {
    name: 'a turn removes attributes, and the run is found by them no longer',
    async run({ store }) {
      const run = await hold(store, 'run', { attributes: { ...mixed, tags: ['a', 'b'] } })
      await created(store, newRun('other', { attributes: { text: mixed['text'] ?? '' } }))
      await apply(store, turn(run, { attributes: { text: null, tags: null, unknown: null } }))
      const { text: _, ...rest } = mixed
      same((await snapshot(store, 'run')).attributes, rest, 'what is left')
      const text = { name: 'text', is: 'eq', value: mixed['text'] as string } as const
      same(await found(store, [text]), ['other'], 'by the text')
      same(await found(store, [{ ...text, is: 'gte', value: '' }]), ['other'], 'by any text')
      same(await found(store, tagged('a')), [], 'by the list')
      const all = Object.fromEntries(Object.keys(rest).map((name) => [name, null]))
      await apply(store, turn(run, { seq: 1, attributes: all }))
      same((await snapshot(store, 'run')).attributes, {}, 'when all are gone')
      await apply(store, turn(run, { seq: 2, attributes: { text: 'back' }, next: ended }))
      same((await snapshot(store, 'run')).attributes, { text: 'back' }, 'when one is set again')
    },
  },
  {
    name: 'what was removed stays removed when the run continues, restarts, and ends',
    async run({ store }) {
      const run = await hold(store, 'run', { attributes: { a: 1, tags: ['x', 'y'], c: 3 } })
      await apply(store, turn(run, { attributes: { a: null }, next: continued() }))
      same((await snapshot(store, 'run')).attributes, { tags: ['x', 'y'], c: 3 }, 'continued')
      const second = await take(store, 'run')
      await apply(store, turn(second, { attributes: { tags: ['y'] }, next: pausedBy('build-1') }))
      const begins = { ...again('run', 3), attributes: { tags: ['z', 'y'], c: null, a: 2 } }
      await created(store, begins)
      await store.create([begins])
      const expected = { tags: ['z', 'y'], a: 2 }
      same((await snapshot(store, 'run')).attributes, expected, 'begun again with a change')
      same(await found(store, tagged('x')), [], 'by what was in the list')
      same(await found(store, tagged('z')), ['run'], 'by what is')
      const third = await take(store, 'run')
      await apply(store, turn(third, { attributes: { tags: null }, next: ended }))
      same((await snapshot(store, 'run')).attributes, { a: 2 }, 'ended')
      same(await found(store, tagged('z')), [], 'by what was removed at the end')
    },
  },
]

const lists: readonly Case[] = [
  {
    name: 'a list is found by each of its texts, and by nothing else',
    async run({ store }) {
      await createEach(store, { list: ['b', '', 'é'], text: 'b', empty: [], number: 1 })
      same((await snapshot(store, 'list')).attributes, { x: ['b', '', 'é'] }, 'the list')
      same((await snapshot(store, 'empty')).attributes, { x: [] }, 'an empty list')
      const none = { gt: [], gte: [], lt: [], lte: [] }
      same(await compared(store, 'b'), { ...none, eq: ['list', 'text'], gte: ['text'], lte: ['text'] }, 'b')
      const first = { ...none, eq: ['list'], gt: ['text'], gte: ['text'] }
      same(await compared(store, ''), first, 'the empty text')
      same(await compared(store, 'é'), { ...none, eq: ['list'], lt: ['text'], lte: ['text'] }, 'é')
      same((await compared(store, '["b","","é"]')).eq, [], 'the list as JSON')
      same((await compared(store, 'null')).eq, [], 'null')
      const one = { eq: ['number'], gt: [], gte: ['number'], lt: [], lte: ['number'] }
      same(await compared(store, 1), one, 'a number')
    },
  },
  {
    name: 'a value takes the place of a list, and a list that of a value or another list',
    async run({ store }) {
      const run = await hold(store, 'run', { attributes: { tags: 'a', other: ['a'] } })
      await apply(store, turn(run, { attributes: { tags: ['a', 'b'] } }))
      same((await snapshot(store, 'run')).attributes, { tags: ['a', 'b'], other: ['a'] }, 'a list')
      same(await found(store, tagged('a')), ['run'], 'by the first')
      await apply(store, turn(run, { seq: 1, attributes: { tags: ['b', 'c'] } }))
      same(await found(store, tagged('a')), [], 'by what is gone')
      same(await found(store, [...tagged('b'), ...tagged('c')]), ['run'], 'by both')
      const next = released()
      await apply(store, turn(run, { seq: 2, attributes: { tags: 'c', other: [] }, next }))
      same((await snapshot(store, 'run')).attributes, { tags: 'c', other: [] }, 'a value')
      same(await found(store, tagged('b')), [], 'by the list before')
      same(await found(store, tagged('c')), ['run'], 'by the value')
    },
  },
  {
    name: 'lists go together with other tests, other filters, pages and counting',
    async run({ store, clock }) {
      const done = await hold(store, 'done', { attributes: { tags: ['odd'] } })
      await apply(store, turn(done, { next: ended }))
      await clock.advance(1)
      for (const [index, id] of numbered('run', 8).entries()) {
        const tags = index % 2 === 1 ? ['odd', `n${index}`] : ['even', 'odd one out']
        await created(store, newRun(id, { attributes: { tags, high: index > 3 } }))
        await clock.advance(1)
      }
      const high = { name: 'high', is: 'eq', value: true } as const
      same(await found(store, [...tagged('odd'), high]), ['run-05', 'run-07'], 'with another test')
      same(await found(store, tagged('odd'), { statuses: ['completed'] }), ['done'], 'that ended')
      same(await found(store, [...tagged('odd'), ...tagged('n3')]), ['run-03'], 'two of one list')
      const query = { attributes: tagged('odd'), limit: 3 } as const
      const first = await store.list(query)
      same(idsOf(first.runs), ['run-07', 'run-05', 'run-03'], 'the first page')
      const second = await store.list({ ...query, cursor: first.cursor ?? '' })
      same(idsOf(second.runs), ['run-01', 'done'], 'the second page')
    },
  },
  {
    name: 'the longest lists of the longest texts under unusual names keep their order',
    async run({ store }) {
      const long = (n: number) => `${n}`.padEnd(limits.attributeBytesMax, 'é日'.repeat(9)).slice(0, 600)
      const tags = Array.from({ length: limits.attributeItemsMax }, (_, n) => long(99 - n))
      const name = '日'.repeat(limits.nameLengthMax)
      const attributes = {
        [name]: tags,
        __proto__x: ['a'],
        ...Object.fromEntries([['__proto__', tags]]),
      }
      const run = await hold(store, 'run', { attributes })
      same((await snapshot(store, 'run')).attributes, attributes, 'from the start')
      const reversed = Object.fromEntries([['constructor', tags.toReversed()]])
      await apply(store, turn(run, { attributes: reversed }))
      same((await snapshot(store, 'run')).attributes, { ...attributes, ...reversed }, 'from a turn')
      const test = { name: 'constructor', is: 'eq', value: long(90) } as const
      same(await found(store, [test]), ['run'], 'found')
    },
  },
]

export const attributeChangeCases: readonly Case[] = [...removing, ...lists]
