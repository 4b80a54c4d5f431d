// Streams: what steps and the code of a run write, read from any offset. The cases about attempts are the interleavings
// that a store decides: lost answers, late packets, takeovers, and what a new attempt or generation leaves valid.
import { limits } from '../../core/base/limits.ts'
import type { Appended, ClaimedRun, Store, StreamBatch, StreamPage, StreamSnapshot } from '../../core/stores/store.ts'
import {
  ALICE,
  again,
  apply,
  BOB,
  claim,
  commit,
  continued,
  created,
  dieHolding,
  ended,
  fresh,
  hold,
  holdTasks,
  newRun,
  newTask,
  openSession,
  pausedBy,
  released,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, outcomes, present, same } from './check.ts'

/** A batch of the first attempt at a step of a held run, with this number. */
function batch(run: ClaimedRun, n = 0, overrides: Partial<StreamBatch> = {}): StreamBatch {
  const body = JSON.stringify([`${overrides.writer ?? 'step:a#1'} ${overrides.attempt ?? 1}.${n}`])
  const { runId, generation } = run.head
  const part = { writer: 'step:a#1', chapter: 1, generation, attempt: 1, partId: 1, keep: 0 }
  return { runId, stream: 'tokens', lease: run.lease, ...part, n, items: 1, bytes: body.length, body, ...overrides }
}

async function append(store: Store, one: StreamBatch): Promise<Appended> {
  return only(await store.append([one]), 'answers to one append')
}

async function appended(store: Store, ...batches: StreamBatch[]): Promise<void> {
  for (const each of batches) same((await append(store, each)).outcome, 'applied', `batch ${each.n} of ${each.writer}`)
}

async function refused(store: Store, one: StreamBatch, outcome: Appended['outcome'], what: string): Promise<void> {
  const before = await find(store)
  same(await append(store, one), { outcome }, what)
  same(await find(store), before, `${what}: nothing was written`)
}

async function find(store: Store, from = 0, more: { batches?: number; parts?: number } = {}): Promise<StreamPage> {
  const ask = { type: 'stream', runId: 'run', stream: 'tokens', from, batches: 100, parts: 0, ...more } as const
  const loaded = only(await store.load([ask]), 'answers to one load')
  holds(loaded.type === 'stream', 'a question about a stream is answered with a stream')
  return present(loaded.page, 'the stream of a run that exists')
}

async function bodies(store: Store, from = 0): Promise<string[]> {
  return (await find(store, from)).batches.flatMap(({ body }) => JSON.parse(body) as string[])
}

async function streamsOf(store: Store, runId = 'run'): Promise<readonly StreamSnapshot[] | undefined> {
  const loaded = only(await store.load([{ type: 'streams', runId }]), 'answers to one load')
  holds(loaded.type === 'streams', 'a question about streams is answered with streams')
  return loaded.streams
}

/** Items that no later part of the same writer and chapter has made void. */
async function valid(store: Store): Promise<string[]> {
  const { parts, batches } = await find(store)
  const places = parts.map(({ keep }) => keep)
  return batches.flatMap(({ part, body }) => {
    const of = present(parts[part], 'the part of a batch')
    const rivals = parts.filter((each) => each.writer === of.writer && each.chapter === of.chapter)
    const keep = Math.min(...rivals.filter(({ number }) => number > part).map((each) => each.keep))
    return (JSON.parse(body) as string[]).filter(() => {
      const place = places[part] ?? 0
      places[part] = place + 1
      return place < keep
    })
  })
}

const text = (items: number): Pick<StreamBatch, 'items' | 'bytes' | 'body'> => {
  const body = JSON.stringify(Array.from({ length: items }, (_, index) => `${index}`))
  return { items, bytes: body.length, body }
}

const writing: readonly Case[] = [
  {
    name: 'items get dense offsets, and are read from any of them',
    async run({ store }) {
      const run = await hold(store)
      same(await find(store), { items: 0, closed: false, parts: [], batches: [] }, 'before')
      same(await append(store, batch(run, 0, text(3))), { outcome: 'applied', offset: 0 }, 'the first batch')
      same(await append(store, batch(run, 1, text(2))), { outcome: 'applied', offset: 3 }, 'the second')
      const { items, parts, batches } = await find(store)
      same(items, 5, 'items')
      const part = { number: 0, writer: 'step:a#1', chapter: 1, generation: 1, attempt: 1, keep: 0, items: 5 }
      same(parts, [part], 'parts')
      const at = batches.map(({ first, count, part: of }) => ({ first, count, part: of }))
      same(
        at,
        [
          { first: 0, count: 3, part: 0 },
          { first: 3, count: 2, part: 0 },
        ],
        'where the batches are',
      )
      for (const from of [0, 1, 2]) same((await find(store, from)).batches, batches, `from ${from}`)
      for (const from of [3, 4]) same((await find(store, from)).batches, batches.slice(1), `from ${from}`)
      same((await find(store, 5)).batches, [], 'at the end')
      same((await find(store, 0, { batches: 1 })).batches, batches.slice(0, 1), 'one batch')
      same((await find(store, 0, { parts: 1 })).parts, [], 'parts behind the last')
    },
  },
  {
    name: 'writers share a stream; their items keep the order in which they were accepted',
    async run({ store }) {
      const run = await hold(store)
      const other = (n: number): StreamBatch => batch(run, n, { writer: 'step:b#1', partId: 2 })
      await appended(store, batch(run), other(0), batch(run, 1), other(1))
      same(await bodies(store), ['step:a#1 1.0', 'step:b#1 1.0', 'step:a#1 1.1', 'step:b#1 1.1'], 'items')
      same(await valid(store), await bodies(store), 'all are valid')
    },
  },
  {
    name: 'streams of a run are listed by name, and streams of other runs are others',
    async run({ store }) {
      await store.create([newRun('another')])
      await openSession(store)
      const run = only((await claim(store)).runs, 'claimed runs')
      const more = { stream: 'ä', partId: 2 }
      same(
        outcomes(await store.append([batch(run), batch(run, 0, more), batch(run, 0, { stream: 'a' })])),
        ['applied', 'applied', 'applied'],
        'three streams in one call',
      )
      const listed = present(await streamsOf(store, 'another'), 'streams of a run')
      same(
        listed.map(({ name, items, parts, closed }) => [name, items, parts, closed]),
        [
          ['a', 1, 1, false],
          ['tokens', 1, 1, false],
          ['ä', 1, 1, false],
        ],
        'the streams',
      )
      same(await streamsOf(store, 'ghost'), undefined, 'of a run that does not exist')
      const ask = { type: 'stream', runId: 'ghost', stream: 'tokens', from: 0, batches: 1, parts: 0 } as const
      same(await store.load([ask]), [{ type: 'stream' }], 'a stream of such a run')
      await store.create([newRun('run')])
      same(await streamsOf(store), [], 'of a run without any')
    },
  },
  {
    name: 'batches of a stream in one call are applied in order; one that is refused leaves the others',
    async run({ store }) {
      const run = await hold(store)
      const answers = await store.append([batch(run, 0), batch(run, 1), batch(run, 1), batch(run, 3), batch(run, 2)])
      same(outcomes(answers), ['applied', 'applied', 'duplicate', 'gap', 'applied'], 'the answers')
      same(await bodies(store), ['step:a#1 1.0', 'step:a#1 1.1', 'step:a#1 1.2'], 'items')
    },
  },
  {
    name: 'a step in the task queue writes under the lease of its task',
    async run({ store }) {
      const run = await hold(store)
      const [task] = await holdTasks(store, run, [newTask('task'), newTask('other')])
      const { taskId, lease } = present(task, 'a claimed task')
      await appended(store, batch(run, 0, { lease, taskId }))
      await refused(store, batch(run, 1, { lease: { ...lease, epoch: 9 }, taskId }), 'fenced', 'a stale lease')
      await refused(store, batch(run, 1, { lease, taskId: 'ghost' }), 'fenced', 'a task that is gone')
      await refused(store, batch(run, 1), 'fenced', 'the lease of the run, which was released')
      await created(store, newRun('another'))
      const answer = await append(store, batch(run, 1, { lease, taskId, runId: 'another' }))
      same(answer.outcome, 'fenced', 'a task of another run')
    },
  },
]

const attempts: readonly Case[] = [
  {
    name: 'streams 2: a resumed attempt keeps what an attempt without an answer wrote; another one voids it',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run), batch(run, 1))
      await appended(store, batch(run, 0, { attempt: 2, partId: 2, keep: 2 }))
      same(await valid(store), ['step:a#1 1.0', 'step:a#1 1.1', 'step:a#1 2.0'], 'with resume')
      await appended(store, batch(run, 0, { attempt: 3, partId: 3 }))
      same(await valid(store), ['step:a#1 3.0'], 'without it')
      same((await bodies(store)).length, 4, 'nothing is rewritten')
    },
  },
  {
    name: 'streams 3: a batch that is sent again is a duplicate with its first offset, also behind later ones',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run, 0, text(2)), batch(run, 1), batch(run, 2))
      same(await append(store, batch(run, 0, text(2))), { outcome: 'duplicate', offset: 0 }, 'the first')
      same(await append(store, batch(run, 1)), { outcome: 'duplicate', offset: 2 }, 'the second')
      same((await find(store)).items, 4, 'items')
    },
  },
  {
    name: 'a part that would keep more than there is, because a fail-over lost it, is a gap',
    async run({ store }) {
      const run = await hold(store)
      await refused(store, batch(run, 0, { keep: 1 }), 'gap', 'before any item')
      await appended(store, batch(run), batch(run, 1))
      await refused(store, batch(run, 0, { attempt: 2, partId: 2, keep: 3 }), 'gap', 'one too many')
      await appended(store, batch(run, 0, { attempt: 2, partId: 2, keep: 2 }))
      await refused(store, batch(run, 0, { attempt: 3, partId: 3, keep: 4 }), 'gap', 'behind another part')
    },
  },
  {
    name: 'streams 3: a batch that overtakes the one before is a gap, and fits once that one is there',
    async run({ store }) {
      const run = await hold(store)
      await refused(store, batch(run, 1), 'gap', 'before the first')
      await appended(store, batch(run))
      await refused(store, batch(run, 2), 'gap', 'before the second')
      await appended(store, batch(run, 1), batch(run, 2))
    },
  },
  {
    name: 'streams 4: a holder whose run was taken over can write no more',
    async run(fixture) {
      const { store } = fixture
      await openSession(store, BOB)
      await created(store, newRun('run'))
      const { runs } = await dieHolding(fixture, {}, BOB)
      const zombie = only(runs, 'runs of the dead session')
      await refused(store, batch(zombie), 'fenced', 'after its session was freed')
      const run = await take(store, 'run', BOB)
      await refused(store, batch(zombie), 'fenced', 'after the takeover')
      await appended(store, batch(run, 0, { attempt: 2, partId: 2 }))
      await refused(store, batch(zombie), 'fenced', 'after the next attempt has begun')
    },
  },
  {
    name: 'streams 5: a late packet of an earlier attempt is refused once a later one has begun, under the same lease',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run), batch(run, 0, { attempt: 2, partId: 2, keep: 1 }))
      await refused(store, batch(run, 1), 'fenced', 'the late packet')
      await refused(store, batch(run, 0), 'fenced', 'even one that was written before')
      await appended(store, batch(run, 1, { attempt: 2, partId: 2, keep: 1 }))
    },
  },
  {
    name: 'streams 6: a late packet that comes before the first of the next attempt is void',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run))
      // The next attempt has found one item, and is about to write.
      await appended(store, batch(run, 1), batch(run, 0, { attempt: 2, partId: 2, keep: 1 }))
      same(await valid(store), ['step:a#1 1.0', 'step:a#1 2.0'], 'valid items')
    },
  },
  {
    name: 'streams 7: the same attempt, run again after a crash, begins a part of its own',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run), batch(run, 0, { partId: 2, keep: 1 }), batch(run, 1, { partId: 2, keep: 1 }))
      same((await bodies(store)).length, 3, 'all three are new')
      same(
        (await find(store)).parts.map(({ items }) => items),
        [1, 2],
        'parts',
      )
    },
  },
  {
    name: 'an attempt that writes nothing may still void what the one before wrote',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run))
      const nothing = { attempt: 2, partId: 2, items: 0, bytes: 0, body: '[]' }
      same(await append(store, batch(run, 0, nothing)), { outcome: 'applied' }, 'a batch without items')
      same(await append(store, batch(run, 0, nothing)), { outcome: 'duplicate' }, 'sent again')
      same(await valid(store), [], 'valid items')
      await appended(store, batch(run, 1, { attempt: 2, partId: 2 }))
      same(
        await append(store, batch(run, 1, { attempt: 2, partId: 2 })),
        { outcome: 'duplicate', offset: 1 },
        'the next',
      )
    },
  },
]

const runs: readonly Case[] = [
  {
    name: 'streams 8: a turn closes a stream: later batches are refused, and what was sent before is a duplicate',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run))
      await apply(store, turn(run, { streams: [{ type: 'close', stream: 'tokens' }] }))
      holds((await find(store)).closed, 'the stream is closed')
      await refused(store, batch(run, 1), 'closed', 'a batch')
      same(await append(store, batch(run)), { outcome: 'duplicate', offset: 0 }, 'the last one, sent again')
      await appended(store, batch(run, 0, { stream: 'others' }))
    },
  },
  {
    name: 'streams 10: the end of a run closes its streams, also those that were never written to',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run))
      await apply(store, turn(run, { next: ended }))
      const page = await find(store)
      same([page.closed, page.items, page.batches.length], [true, 1, 1], 'the stream')
      await refused(store, batch(run, 1), 'closed', 'a late batch')
      const ask = { type: 'stream', runId: 'run', stream: 'other', from: 0, batches: 1, parts: 0 } as const
      const empty = { items: 0, closed: true, parts: [], batches: [] }
      same(await store.load([ask]), [{ type: 'stream', page: empty }], 'another stream')
      same((await append(store, batch(run, 0, { runId: 'ghost' }))).outcome, 'missing', 'of a run that does not exist')
    },
  },
  {
    name: 'streams 11: what a turn writes is written with it, once, or not at all',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run))
      const write = { type: 'write', stream: 'tokens', chapter: 1, keep: 0, ...text(2) } as const
      const first = turn(run, { streams: [write, { ...write, stream: 'log' }] })
      const stale = { ...first, lease: { ...run.lease, epoch: 7 } }
      same((await commit(store, stale)).outcome, 'fenced', 'a turn that is refused')
      same((await find(store)).items, 1, 'it wrote nothing')
      await apply(store, first)
      same((await commit(store, first)).outcome, 'duplicate', 'the turn, sent again')
      await apply(store, turn(run, { seq: run.seq + 1, streams: [write, write], next: ended }))
      same((await find(store)).items, 7, 'items')
      const parts = (await find(store)).parts.map(({ writer, items, attempt }) => ({ writer, items, attempt }))
      same(
        parts,
        [
          { writer: 'step:a#1', items: 1, attempt: 1 },
          { writer: '', items: 6, attempt: 0 },
        ],
        'parts',
      )
      same(
        (await streamsOf(store))?.map(({ name, items }) => [name, items]),
        [
          ['log', 2],
          ['tokens', 7],
        ],
        'streams',
      )
    },
  },
  {
    name: 'streams 12: a run that goes back writes new parts in a higher generation, and opens what it had closed',
    async run({ store }) {
      const run = await hold(store)
      const write = { type: 'write', stream: 'tokens', chapter: 1, keep: 0, ...text(3) } as const
      await appended(store, batch(run))
      const streams = [write, { type: 'close', stream: 'tokens' }] as const
      await apply(store, turn(run, { streams, next: pausedBy('') }))
      await created(store, again('run', 2))
      holds(!(await find(store)).closed, 'the next generation may write')
      const next = await take(store, 'run')
      await refused(store, batch(run, 1), 'fenced', 'a batch of the generation before')
      // The history that was kept wrote two of the three items.
      await apply(store, turn(next, { streams: [{ ...write, keep: 2, ...text(1) }] }))
      same(await valid(store), ['step:a#1 1.0', '0', '1', '0'], 'of the code')
      await appended(store, batch(next, 0, { partId: 2 }))
      same(await valid(store), ['0', '1', '0', 'step:a#1 1.0'], 'of the step')
    },
  },
  {
    name: 'streams 13: continue-as-new voids nothing: its steps are others, and offsets go on',
    async run({ store }) {
      const run = await hold(store)
      const write = { type: 'write', stream: 'tokens', chapter: 1, keep: 0, ...text(1) } as const
      await appended(store, batch(run))
      await apply(store, turn(run, { streams: [write], next: continued() }))
      const next = await take(store, 'run')
      await appended(store, batch(next, 0, { chapter: 2, partId: 2 }))
      await apply(store, turn(next, { streams: [{ ...write, chapter: 2 }], next: released() }))
      same(await valid(store), ['step:a#1 1.0', '0', 'step:a#1 1.0', '0'], 'valid items')
      same((await find(store)).items, 4, 'items')
    },
  },
  {
    name: 'a run has a bounded number of streams; more are refused, and turns are not',
    async run({ store }) {
      const run = await hold(store)
      const names = Array.from({ length: limits.streamsOfRun }, (_, index) => `s${index}`)
      await store.append(names.map((stream) => batch(run, 0, { stream })))
      await refused(store, batch(run), 'full', 'one more')
      await appended(store, batch(run, 1, { stream: 's0' }))
      const write = { type: 'write', stream: 'tokens', chapter: 1, keep: 0, ...text(1) } as const
      await apply(store, turn(run, { streams: [write] }))
      same((await find(store)).items, 1, 'items of a turn')
    },
  },
  {
    name: 'a stream is bounded in items and bytes',
    async run({ store }) {
      const run = await hold(store)
      await appended(store, batch(run, 0, { items: limits.streamItemsMax - 1 }))
      await refused(store, batch(run, 1, { items: 2 }), 'full', 'too many items')
      await appended(store, batch(run, 1, { items: 1 }))
      const large = { stream: 'large', bytes: limits.streamBytesMax }
      await appended(store, batch(run, 0, large))
      same((await append(store, batch(run, 1, { ...large, bytes: 1 }))).outcome, 'full', 'too many bytes')
    },
  },
  {
    name: 'of two that write to a new stream at the same time, both are applied, in some order',
    async run({ store, other }) {
      const run = await hold(store, 'run', {}, ALICE)
      const stores = [store, await other()]
      const writers = Array.from({ length: 6 }, (_, index) => ({ writer: `step:w#${index}`, partId: fresh() }))
      const answers = await Promise.all(
        writers.map((writer, index) => append(stores[index % 2] ?? store, batch(run, 0, writer))),
      )
      same(
        outcomes(answers),
        writers.map(() => 'applied' as const),
        'the answers',
      )
      same(new Set(answers.map((each) => ('offset' in each ? each.offset : -1))).size, 6, 'different offsets')
    },
  },
]

export const streamCases: readonly Case[] = [...writing, ...attempts, ...runs]
