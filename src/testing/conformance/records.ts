// Records: shared values that are read, listed, and changed by compare-and-swap on their version.
import type { RecordOperation, RecordOutcome, Store, StoredRecord } from '../../core/stores/store.ts'
import { apply, ended, fresh, hold, newRun, openSession, take, turn } from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, same } from './check.ts'

type Put = Extract<RecordOperation, { type: 'put' }>

const applied = { type: 'put', outcome: 'applied' } as const

function put(key: string, version: number, overrides: Partial<Put> = {}): Put {
  const writeId = fresh()
  const body = `{"write":${writeId}}`
  return { type: 'put', space: 'space', key, version, body, writeId, ...overrides }
}

function get(key: string, space = 'space'): RecordOperation {
  return { type: 'get', space, key }
}

function conflict(record?: StoredRecord): RecordOutcome {
  return { type: 'put', outcome: 'conflict', ...(record && { record }) }
}

async function one(store: Store, operation: RecordOperation): Promise<RecordOutcome> {
  return only(await store.records([operation]), 'answers to one operation')
}

async function found(store: Store, key: string, space?: string): Promise<StoredRecord | undefined> {
  const answer = await one(store, get(key, space))
  holds(answer.type === 'get', 'a get is answered with a get')
  return answer.record
}

async function keysOf(store: Store, limit = 100, after?: string): Promise<string[]> {
  const answer = await one(store, {
    type: 'list',
    space: 'space',
    limit,
    ...(after !== undefined && { after }),
  })
  holds(answer.type === 'list', 'a list is answered with a list')
  return answer.records.map(({ key }) => key)
}

const swapping: readonly Case[] = [
  {
    name: 'a record is not there, is put, and is there with version 1',
    async run({ store, other }) {
      same(await one(store, get('k')), { type: 'get' }, 'before')
      same(await one(store, put('k', 0, { body: '"a"' })), applied, 'the answer')
      same(await found(store, 'k'), { key: 'k', version: 1, body: '"a"' }, 'then')
      same(await one(store, put('k', 1, { body: '"b"' })), applied, 'the next')
      const second = { key: 'k', version: 2, body: '"b"' }
      same(await found(store, 'k'), second, 'then')
      same(await found(await other(), 'k'), second, 'from elsewhere')
    },
  },
  {
    name: 'a put that expects another version is a conflict, changes nothing and tells what is there',
    async run({ store }) {
      same(await one(store, put('k', 3)), conflict(), 'where there is nothing')
      await one(store, put('k', 0, { body: '"a"' }))
      const there = { key: 'k', version: 1, body: '"a"' }
      for (const version of [0, 2, 7]) same(await one(store, put('k', version)), conflict(there), `at ${version}`)
      same(await found(store, 'k'), there, 'what is there')
    },
  },
  {
    name: 'INV15: a put sent again is applied once, and says so',
    async run({ store, other }) {
      const first = put('k', 0)
      same(await store.records([first, first]), [applied, applied], 'within one call')
      same(await one(await other(), first), applied, 'again, from elsewhere')
      same((await found(store, 'k'))?.version, 1, 'the version')
      const second = put('k', 1)
      for (let times = 0; times < 3; times++) same(await one(store, second), applied, 'the next')
      same(await found(store, 'k'), { key: 'k', version: 2, body: second.body }, 'then')
    },
  },
  {
    name: 'INV15: a put that comes again when others have written is a conflict, and undoes nothing',
    async run({ store }) {
      const first = put('k', 0)
      await one(store, first)
      await one(store, put('k', 1, { body: '"later"' }))
      const there = { key: 'k', version: 2, body: '"later"' }
      same(await one(store, first), conflict(there), 'the answer')
      same(await found(store, 'k'), there, 'what is there')
    },
  },
  {
    name: 'the same write at another version is another write',
    async run({ store }) {
      const first = put('k', 0)
      await one(store, first)
      same(await one(store, { ...first, version: 1 }), applied, 'the answer')
      same((await found(store, 'k'))?.version, 2, 'the version')
    },
  },
  {
    name: 'of many puts at one version at the same time, one wins and the others are told of it',
    async run({ store, other }) {
      const stores = [store, await other()]
      for (let version = 0; version < 3; version++) {
        const puts = Array.from({ length: 10 }, () => put('k', version))
        const answers = await Promise.all(puts.map((each, index) => one(stores[index % 2] ?? store, each)))
        const winners = puts.filter((_, index) => answers[index]?.type === 'put' && isApplied(answers[index]))
        const { body } = only(winners, 'winners')
        const there = { key: 'k', version: version + 1, body }
        same(await found(store, 'k'), there, 'what is there')
        const others = answers.filter((each) => !isApplied(each))
        same(
          others,
          others.map(() => conflict(there)),
          'what the others are told',
        )
      }
    },
  },
  {
    name: 'every change made by compare and swap is there in the end, however many make them',
    async run({ store, other }) {
      const stores = [store, await other(), await other()]
      const append = async (own: Store, id: number): Promise<void> => {
        for (let there = await found(own, 'log'); ; ) {
          const before = JSON.parse(there?.body ?? '[]') as number[]
          const body = JSON.stringify([...before, id])
          const answer = await one(own, put('log', there?.version ?? 0, { body }))
          if (isApplied(answer)) return
          there = 'record' in answer ? answer.record : undefined
        }
      }
      const ids = Array.from({ length: 12 }, (_, id) => id)
      await Promise.all(ids.map((id) => append(stores[id % 3] ?? store, id)))
      const log = await found(store, 'log')
      same(
        (JSON.parse(log?.body ?? '') as number[]).toSorted((a, b) => a - b),
        ids,
        'changes',
      )
      same(log?.version, ids.length, 'the version')
    },
  },
]

function isApplied(answer: RecordOutcome | undefined): boolean {
  return answer?.type === 'put' && answer.outcome === 'applied'
}

const together: readonly Case[] = [
  {
    name: 'operations are carried out in their order, and a later one sees what an earlier one did',
    async run({ store }) {
      const [first, second] = [put('a', 0), put('a', 1)]
      same(
        await store.records([
          get('a'),
          first,
          get('a'),
          second,
          { type: 'list', space: 'space', limit: 5 },
          put('a', 2, { body: '"c"' }),
          get('a'),
        ]),
        [
          { type: 'get' },
          applied,
          { type: 'get', record: { key: 'a', version: 1, body: first.body } },
          applied,
          { type: 'list', records: [{ key: 'a', version: 2, body: second.body }] },
          applied,
          { type: 'get', record: { key: 'a', version: 3, body: '"c"' } },
        ],
        'the answers',
      )
    },
  },
  {
    name: 'a put in the middle of others that is a conflict harms none of them',
    async run({ store }) {
      await one(store, put('b', 0, { body: '"b"' }))
      const there = { key: 'b', version: 1, body: '"b"' }
      const answers = await store.records([put('a', 0), put('b', 0), put('c', 0), put('b', 1)])
      same(answers, [applied, conflict(there), applied, applied], 'the answers')
      same(await keysOf(store), ['a', 'b', 'c'], 'what is there')
      same(await store.records([]), [], 'nothing asked')
    },
  },
  {
    name: 'H17: batches that put the same keys in different orders all succeed',
    async run({ store, other }) {
      const stores = [store, await other()]
      const keys = ['a', 'b', 'c', 'd']
      for (let version = 0; version < 5; version++) {
        const [left, right] = await Promise.all([
          stores[0]?.records(keys.map((key) => put(key, version))),
          stores[1]?.records(keys.toReversed().map((key) => put(key, version))),
        ])
        const wins = [...(left ?? []), ...(right ?? [])].filter(isApplied)
        same(wins.length, keys.length, 'one put of each')
      }
    },
  },
  {
    name: 'spaces are apart, also if space and key read the same together',
    async run({ store }) {
      const puts = [put('b/c', 0, { space: 'a' }), put('c', 0, { space: 'a/b' })]
      same(await store.records(puts), [applied, applied], 'the answers')
      same((await found(store, 'b/c', 'a'))?.body, puts[0]?.body, 'in one')
      same((await found(store, 'c', 'a/b'))?.body, puts[1]?.body, 'in the other')
      same(await found(store, 'c', 'a'), undefined, 'in neither')
    },
  },
]

const listing: readonly Case[] = [
  {
    name: 'records are listed by the bytes of their keys, page by page',
    async run({ store }) {
      const keys = ['A', 'B', 'a', 'a b', 'a/b', 'aa', 'b', 'z', 'é', '\u{ffee}', '𝒳', '🦦']
      await store.records(keys.toReversed().map((key) => put(key, 0)))
      await one(store, put('elsewhere', 0, { space: 'other' }))
      same(await keysOf(store), keys, 'all of them')
      const seen: string[] = []
      for (let page = await keysOf(store, 5); page.length > 0; ) {
        seen.push(...page)
        page = await keysOf(store, 5, seen.at(-1))
      }
      same(seen, keys, 'by pages')
      same(await keysOf(store, 3, 'a!'), ['a/b', 'aa', 'b'], 'from behind a key that is not there')
      same(await keysOf(store, 3, '🦦'), [], 'from behind the last')
      same(await one(store, { type: 'list', space: 'none', limit: 3 }), { type: 'list', records: [] }, 'of nothing')
    },
  },
  {
    name: 'H18: spaces, keys and bodies come back as they were',
    async run({ store, other }) {
      const names = ['__proto__', 'constructor', '100%_', `it's "so"`, '日本 🦦', 'a\\b', '{}', 'null']
      const body = JSON.stringify(`"'\\ ß 🦦 $1 %s \u2028`)
      const elsewhere = await other()
      for (const space of names) {
        await store.records(names.map((key) => put(key, 0, { space, body })))
        for (const key of names) same(await found(elsewhere, key, space), { key, version: 1, body }, key)
      }
      const large = JSON.stringify('x'.repeat(200_000))
      await one(store, put('large', 0, { body: large }))
      same((await found(elsewhere, 'large'))?.body, large, 'a large one')
    },
  },
  {
    name: 'records stay as long as nobody changes them, whatever becomes of runs',
    async run({ store, clock, other }) {
      const kept = put('kept', 0)
      await store.records([kept, put('changed', 0)])
      await openSession(store)
      for (let round = 1; round <= 6; round++) {
        await store.create([newRun(`run-${round}`)])
        await apply(store, turn(await take(store, `run-${round}`), { next: ended }))
        same(await one(store, put('changed', round)), applied, 'a change')
        await clock.advance(1_000)
      }
      const elsewhere = await other()
      same(await found(elsewhere, 'kept'), { key: 'kept', version: 1, body: kept.body }, 'kept')
      same((await found(elsewhere, 'changed'))?.version, 7, 'changed')
      same(await one(elsewhere, kept), applied, 'sent again much later')
    },
  },
  {
    name: 'records and runs are independent',
    async run({ store }) {
      const run = await hold(store)
      await one(store, put(run.head.runId, 0))
      await apply(store, turn(run, { next: ended }))
      same((await found(store, run.head.runId))?.version, 1, 'the record')
    },
  },
]

export const recordCases: readonly Case[] = [...swapping, ...together, ...listing]
