// Attributes, by which runs are found. Values of different types are never equal and have no order.
import { limits } from '../../core/base/limits.ts'
import type { Attributes, AttributeTest, AttributeValue, ListQuery, Store } from '../../core/stores/store.ts'
import {
  again,
  apply,
  beginning,
  claim,
  commit,
  continued,
  created,
  ended,
  fresh,
  hold,
  idsOf,
  message,
  newRun,
  numbered,
  openSession,
  pausedBy,
  released,
  snapshot,
  sweep,
  take,
  turn,
} from './builders.ts'
import type { Case, Fixture } from './case.ts'
import { only, same } from './check.ts'

type Value = AttributeTest['value']

/** Creates one run for each value, with its label as id. */
export async function createEach(store: Store, values: Readonly<Record<string, AttributeValue>>): Promise<void> {
  const runs = Object.entries(values).map(([id, x]) => newRun(id, { attributes: { x } }))
  await store.create(runs)
}

export async function found(
  store: Store,
  tests: readonly AttributeTest[],
  more: Partial<ListQuery> = {},
): Promise<string[]> {
  const query = { limit: 100, ...more, attributes: tests }
  const ids = idsOf((await store.list(query)).runs)
  same((await store.list({ ...query, count: true })).count, ids.length, 'the number')
  return ids.toSorted()
}

/** Returns which runs of `createEach` each comparison with a value finds. */
export async function compared(store: Store, value: Value): Promise<Record<AttributeTest['is'], readonly string[]>> {
  const by = (is: AttributeTest['is']) => found(store, [{ name: 'x', is, value }])
  return {
    eq: await by('eq'),
    gt: await by('gt'),
    gte: await by('gte'),
    lt: await by('lt'),
    lte: await by('lte'),
  }
}

/** Compares each value with all of them, which are given in order. */
async function inOrder(store: Store, values: readonly Value[]): Promise<void> {
  const ids = numbered('v', values.length)
  await createEach(store, Object.fromEntries(ids.map((id, index) => [id, values[index] ?? ''])))
  for (const [index, value] of values.entries()) {
    const [below, self, above] = [ids.slice(0, index), ids[index] ?? '', ids.slice(index + 1)]
    const expected = {
      eq: [self],
      gt: above,
      gte: [self, ...above],
      lt: below,
      lte: [...below, self],
    }
    same(await compared(store, value), expected, `compared with ${JSON.stringify(value)}`)
  }
}

export const mixed: Attributes = {
  text: 'a',
  number: 1.5,
  yes: true,
  no: false,
  when: { at: 1_700 },
}

const keeping: readonly Case[] = [
  {
    name: 'INV20: attributes of a start are there when it is loaded and listed',
    async run({ store }) {
      await created(store, newRun('run', { attributes: mixed }))
      same((await snapshot(store, 'run')).attributes, mixed, 'when loaded')
      const listed = only((await store.list({ limit: 5 })).runs, 'listed runs')
      same(listed.attributes, mixed, 'when listed')
    },
  },
  {
    name: 'a run that was given none has none',
    async run({ store }) {
      await store.create([newRun('a'), newRun('b', { attributes: {} })])
      same((await snapshot(store, 'a')).attributes, {}, 'none')
      same((await snapshot(store, 'b')).attributes, {}, 'an empty set')
    },
  },
  {
    name: 'a turn adds attributes, and puts others in the place of those that are there',
    async run({ store }) {
      const run = await hold(store, 'run', { attributes: mixed })
      await apply(store, turn(run, { attributes: { number: 'now a text', more: 2 } }))
      const first = { ...mixed, number: 'now a text', more: 2 }
      same((await snapshot(store, 'run')).attributes, first, 'after the first')
      const next = released()
      await apply(store, turn(run, { seq: 1, attributes: { text: false }, next }))
      same((await snapshot(store, 'run')).attributes, { ...first, text: false }, 'and the second')
    },
  },
  {
    name: 'attributes stay when the run continues, is paused, restarts, and ends',
    async run({ store }) {
      const run = await hold(store, 'run', { attributes: { a: 1 } })
      const check = async (expected: Attributes, what: string): Promise<void> => {
        same((await snapshot(store, 'run')).attributes, expected, what)
        same(await found(store, [{ name: 'a', is: 'eq', value: 1 }]), ['run'], `${what}, listed`)
      }
      await apply(store, turn(run, { attributes: { b: 2 }, next: continued() }))
      await check({ a: 1, b: 2 }, 'when it continues')
      const second = await take(store, 'run')
      await apply(store, turn(second, { attributes: { c: 3 }, next: pausedBy('build-1') }))
      await check({ a: 1, b: 2, c: 3 }, 'when it is paused')
      await created(store, again('run', 3))
      await check({ a: 1, b: 2, c: 3 }, 'when it begins again')
      const third = await take(store, 'run')
      await apply(store, turn(third, { attributes: { b: 'x' }, next: ended }))
      await check({ a: 1, b: 'x', c: 3 }, 'when it has ended')
    },
  },
  {
    name: 'attributes of a turn that was not applied are not set',
    async run({ store }) {
      const run = await hold(store)
      const late = { ...run.lease, nonce: fresh() }
      const fenced = await commit(store, turn(run, { lease: late, attributes: { a: 1 } }))
      same(fenced, { outcome: 'fenced' }, 'the answer')
      const one = turn(run, { attributes: { a: 2 } })
      await apply(store, one)
      await apply(store, turn(run, { seq: 1, attributes: { a: 3 } }))
      same(await commit(store, one), { outcome: 'duplicate' }, 'the first turn again')
      same((await snapshot(store, 'run')).attributes, { a: 3 }, 'what is there')
    },
  },
  {
    name: 'a run that is there keeps its attributes, whatever a later start says',
    async run({ store }) {
      await created(store, newRun('run', { attributes: { a: 1 } }))
      await created(store, newRun('run', { attributes: { a: 2, b: 2 } }))
      same((await snapshot(store, 'run')).attributes, { a: 1 }, 'what is there')
    },
  },
  {
    name: 'runs started by other runs have their attributes, and so do runs with an initial history',
    async run({ store }) {
      const run = await hold(store)
      const child = newRun('child', { attributes: mixed, past: beginning() })
      const outbox = [{ type: 'start', run: child, otherwise: message('refused') }] as const
      await apply(store, turn(run, { outbox, next: released() }))
      await sweep(store)
      same((await snapshot(store, 'child')).attributes, mixed, 'of the child')
    },
  },
  {
    name: 'many turns of a batch set the attributes of their own runs',
    async run({ store }) {
      await openSession(store)
      const ids = numbered('run', 6)
      await store.create(ids.map((id) => newRun(id)))
      const { runs } = await claim(store)
      const turns = runs.map((run, index) => turn(run, index % 2 === 0 ? { attributes: { is: run.head.runId } } : {}))
      await store.commit(turns)
      for (const [index, { head }] of runs.entries()) {
        const expected = index % 2 === 0 ? { is: head.runId } : {}
        same((await snapshot(store, head.runId)).attributes, expected as Attributes, head.runId)
      }
    },
  },
]

const odd = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', `it's "$1" %_`, '日本 🦦']

const exact: readonly Case[] = [
  {
    name: 'attributes may have any name, also one that every object has',
    async run({ store }) {
      const all = (value: Value) => Object.fromEntries(odd.map((name) => [name, value]))
      const run = await hold(store, 'run', { attributes: all('a') })
      await created(store, newRun('plain', { attributes: { other: 1 } }))
      same((await snapshot(store, 'run')).attributes, all('a'), 'from the start')
      await apply(store, turn(run, { attributes: all('b') }))
      same((await snapshot(store, 'run')).attributes, all('b'), 'from a turn')
      for (const name of odd) {
        same(await found(store, [{ name, is: 'eq', value: 'b' }]), ['run'], name)
        same(await found(store, [{ name, is: 'gte', value: '' }]), ['run'], `any text as ${name}`)
      }
    },
  },
  {
    name: 'H18: numbers and texts come back as they were',
    async run({ store }) {
      const numbers = [0.1 + 0.2, Number.MAX_SAFE_INTEGER, 1e300, -1.5, 5e-324, 1 / 3, 0]
      const texts = ['', ' ', '5', 'true', 'null', `'"\\%_$1?`, 'a\nb\tc', 'é', 'e\u0301', '🦦']
      const values = [...numbers, ...texts, { at: 0 }, { at: 8_640_000_000_000_000 }]
      const attributes = Object.fromEntries(values.map((value, index) => [`a${index}`, value]))
      await created(store, newRun('run', { attributes }))
      same((await snapshot(store, 'run')).attributes, attributes, 'what is there')
      for (const [name, value] of Object.entries(attributes)) {
        const test = { name, is: 'eq', value } as const
        same(await found(store, [test]), ['run'], JSON.stringify(value))
      }
    },
  },
  {
    name: 'the longest texts under the longest names, and as many as there may be',
    async run({ store }) {
      // Digits that do not compress.
      let seed = 1
      const noise = (length: number): string =>
        Array.from({ length }, () => {
          seed = (seed * 48_271) % 2_147_483_647
          return String.fromCharCode(0x4e00 + (seed % 20_000))
        }).join('')
      const text = noise(Math.floor(limits.attributeBytesMax / 3))
      const names = Array.from({ length: limits.attributesMax }, (_, index) =>
        `${index}${noise(limits.nameLengthMax)}`.slice(0, limits.nameLengthMax),
      )
      const attributes = Object.fromEntries(names.map((name) => [name, text]))
      await created(store, newRun('run', { attributes }))
      same((await snapshot(store, 'run')).attributes, attributes, 'what is there')
      const tests = [{ name: names[7] ?? '', is: 'eq', value: text } as const]
      same(await found(store, tests), ['run'], 'found')
    },
  },
]

const searching: readonly Case[] = [
  {
    name: 'values of different kinds are never equal, and have no order',
    async run({ store }) {
      await createEach(store, { text: '1', number: 1, boolean: true, instant: { at: 1 } })
      const own = (id: string) => ({ eq: [id], gt: [], gte: [id], lt: [], lte: [id] })
      same(await compared(store, '1'), own('text'), 'a text')
      same(await compared(store, 1), own('number'), 'a number')
      same(await compared(store, true), own('boolean'), 'a boolean')
      same(await compared(store, { at: 1 }), own('instant'), 'an instant')
    },
  },
  {
    name: 'numbers are compared as numbers',
    run: ({ store }: Fixture) => inOrder(store, [-1e300, -10, -9, -0.5, 0, 9, 10, 10.5, 1e300]),
  },
  {
    name: 'texts are compared by the bytes of their UTF-8',
    run: ({ store }: Fixture) =>
      inOrder(store, ['', ' ', '10', '9', 'B', 'a', 'a ', 'aa', 'b', 'z', 'é', '日', '\uffee', '🦦']),
  },
  {
    name: 'instants are compared by time',
    run: ({ store }: Fixture) => {
      const times = [0, 5, 10, 1_700_000_000_000]
      return inOrder(
        store,
        times.map((at) => ({ at })),
      )
    },
  },
  {
    name: 'of true and false, false comes first',
    run: ({ store }: Fixture) => inOrder(store, [false, true]),
  },
  {
    name: 'a run without the attribute is not found by it, whatever the comparison',
    async run({ store }) {
      await store.create([newRun('a'), newRun('b', { attributes: { y: 1 } })])
      for (const value of ['', 0, false, { at: 0 }]) {
        const nothing = { eq: [], gt: [], gte: [], lt: [], lte: [] }
        same(await compared(store, value), nothing, JSON.stringify(value))
      }
    },
  },
  {
    name: 'all tests must hold, also several of one attribute',
    async run({ store }) {
      const runs = [1, 2, 3, 4].map((x) => newRun(`run-${x}`, { attributes: { x, even: x % 2 === 0 } }))
      await store.create(runs)
      const above = { name: 'x', is: 'gt', value: 1 } as const
      const below = { name: 'x', is: 'lte', value: 3 } as const
      const even = { name: 'even', is: 'eq', value: true } as const
      same(await found(store, [above, below]), ['run-2', 'run-3'], 'a span')
      same(await found(store, [above, below, even]), ['run-2'], 'a span, and another')
      same(await found(store, []), ['run-1', 'run-2', 'run-3', 'run-4'], 'no test at all')
    },
  },
  {
    name: 'attributes go together with the other filters, and with counting',
    async run({ store }) {
      const attributes = { team: 'a' }
      const done = await hold(store, 'done', { attributes })
      await apply(store, turn(done, { next: ended }))
      await store.create([
        newRun('open', { attributes }),
        newRun('other', { attributes: { team: 'b' } }),
        newRun('ship', { attributes, name: 'ship' }),
        newRun('none'),
      ])
      const team = [{ name: 'team', is: 'eq', value: 'a' }] as const
      same(await found(store, team), ['done', 'open', 'ship'], 'all of the team')
      same(await found(store, team, { names: ['order'] }), ['done', 'open'], 'of a name')
      same(await found(store, team, { statuses: ['completed'] }), ['done'], 'that have ended')
      same(await found(store, team, { statuses: ['pending'] }), ['open', 'ship'], 'that have not')
    },
  },
  {
    name: 'pages keep the attributes',
    async run({ store, clock }) {
      for (const [index, id] of numbered('run', 8).entries()) {
        await created(store, newRun(id, { attributes: { odd: index % 2 === 1 } }))
        await clock.advance(1)
      }
      const query = { attributes: [{ name: 'odd', is: 'eq', value: true }], limit: 3 } as const
      const first = await store.list(query)
      same(idsOf(first.runs), ['run-07', 'run-05', 'run-03'], 'the first page')
      const second = await store.list({ ...query, cursor: first.cursor ?? '' })
      same(idsOf(second.runs), ['run-01'], 'the second page')
    },
  },
]

export const attributeCases: readonly Case[] = [...keeping, ...exact, ...searching]
