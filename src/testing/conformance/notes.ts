// Notes: small texts that steps leave for their next attempt. They belong to the run, and are deleted when it ends.
import type { Note, Store } from '../../core/stores/store.ts'
import {
  again,
  apply,
  claim,
  continued,
  created,
  dieHolding,
  ended,
  fresh,
  hold,
  newRun,
  openSession,
  pausedBy,
  released,
  take,
  turn,
} from './builders.ts'
import type { Case } from './case.ts'
import { holds, only, same } from './check.ts'

function note(overrides: Partial<Note> = {}): Note {
  const of = { runId: 'run', generation: 1, key: 'step:charge#1' }
  return { ...of, name: 'heartbeat', body: '{"json":1}', ...overrides }
}

/** Returns the notes of the step, by name. */
async function notesOf(store: Store, of: Partial<Note> = {}): Promise<Record<string, string>> {
  const { runId, generation, key } = note(of)
  const loaded = only(await store.load([{ type: 'notes', runId, generation, key }]), 'answers')
  holds(loaded.type === 'notes', 'a question about notes is answered with notes')
  return loaded.notes
}

async function kept(store: Store, one: Note): Promise<string | undefined> {
  return only(await store.note([one]), 'answers to one note').body
}

const keeping: readonly Case[] = [
  {
    name: 'a note is kept for its step, and read back by name',
    async run({ store }) {
      await hold(store)
      same(await notesOf(store), {}, 'before')
      same(await kept(store, note({ body: '"a"' })), '"a"', 'the answer')
      same(await kept(store, note({ name: 'once:x', body: '"b"' })), '"b"', 'another')
      same(await notesOf(store), { heartbeat: '"a"', 'once:x': '"b"' }, 'what is kept')
    },
  },
  {
    name: 'a later note replaces the one of its name; with once it never does, and says what is there',
    async run({ store }) {
      await hold(store)
      await kept(store, note({ body: '"a"' }))
      same(await kept(store, note({ body: '"b"' })), '"b"', 'the second')
      same(await kept(store, note({ body: '"c"', once: true })), '"b"', 'with once')
      same(await notesOf(store), { heartbeat: '"b"' }, 'what is kept')
      same(await kept(store, note({ name: 'n', body: '"d"', once: true })), '"d"', 'a new name')
    },
  },
  {
    name: 'notes of other steps and other runs are others',
    async run({ store }) {
      await store.create([newRun('run'), newRun('another')])
      await store.note([note({ body: '"a"' }), note({ runId: 'another', body: '"b"' })])
      await store.note([note({ key: 'step:charge#2', body: '"c"' })])
      same(await notesOf(store), { heartbeat: '"a"' }, 'of the first')
      same(await notesOf(store, { runId: 'another' }), { heartbeat: '"b"' }, 'of the other run')
      same(await notesOf(store, { key: 'step:charge#2' }), { heartbeat: '"c"' }, 'the other step')
      same(await notesOf(store, { key: 'step:charge#3' }), {}, 'of a step without any')
    },
  },
  {
    name: 'notes stay when the run is released, paused, or its holder dies',
    async run(fixture) {
      const { store, clock } = fixture
      const run = await hold(store)
      await kept(store, note())
      await apply(store, turn(run, { next: released(clock.now()) }))
      same(await notesOf(store), { heartbeat: '{"json":1}' }, 'when it is released')
      await dieHolding(fixture)
      same(await notesOf(store), { heartbeat: '{"json":1}' }, 'when its holder died')
      const held = await take(store, 'run')
      await apply(store, turn(held, { next: pausedBy('build-1') }))
      same(await notesOf(store), { heartbeat: '{"json":1}' }, 'when it is paused')
      same(await kept(store, note({ body: '"late"' })), '"late"', 'a note then')
    },
  },
  {
    name: 'a batch of notes is kept in its order, each on its own',
    async run({ store }) {
      await hold(store)
      const answers = await store.note([
        note({ body: '"a"' }),
        note({ runId: 'ghost' }),
        note({ body: '"b"', once: true }),
        note({ name: 'n', body: '"c"', once: true }),
        note({ body: '"d"' }),
      ])
      const bodies = answers.map(({ body }) => body)
      same(bodies, ['"a"', undefined, '"a"', '"c"', '"d"'], 'the answers')
      same(await notesOf(store), { heartbeat: '"d"', n: '"c"' }, 'what is kept')
    },
  },
  {
    name: 'of many that note the same once at the same time, all are told the same',
    async run({ store, other }) {
      await hold(store)
      const stores = [store, await other()]
      const bodies = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          kept(stores[index % 2] ?? store, note({ body: `${index}`, once: true })),
        ),
      )
      same(new Set(bodies).size, 1, 'different answers')
      same(await notesOf(store), { heartbeat: bodies[0] ?? '' }, 'what is kept')
    },
  },
  {
    name: 'H18: names, keys and bodies of notes come back as they were',
    async run({ store }) {
      await hold(store)
      const names = ['__proto__', 'constructor', 'toString', 'once:100%_', `it's "so"`, '日本 🦦']
      const body = JSON.stringify(`"'\\ ß 🦦 $1 %s`)
      for (const key of names) {
        await store.note(names.map((name) => note({ key, name, body })))
        const found = Object.entries(await notesOf(store, { key }))
        same(new Map(found), new Map(names.map((name) => [name, body])), key)
      }
    },
  },
]

const gone: readonly Case[] = [
  {
    name: 'there is nothing to note for a run that is missing, has ended, or is another generation',
    async run({ store }) {
      same(await store.note([note({ runId: 'ghost' })]), [{}], 'a run that is not there')
      const run = await hold(store)
      same(await store.note([note({ generation: 2 })]), [{}], 'a generation to come')
      await apply(store, turn(run, { next: continued() }))
      same(await store.note([note()]), [{}], 'a generation that is over')
      const next = await take(store, 'run')
      await apply(store, turn(next, { next: ended }))
      same(await store.note([note({ generation: 2 })]), [{}], 'a run that has ended')
      for (const generation of [1, 2]) same(await notesOf(store, { generation }), {}, 'kept')
    },
  },
  {
    name: 'notes are gone when the run has ended, in whatever way the turn is written',
    async run({ store }) {
      await openSession(store)
      await store.create([newRun('a'), newRun('b'), newRun('c')])
      const { runs } = await claim(store)
      for (const runId of ['a', 'b', 'c']) await kept(store, note({ runId }))
      const [first, ...others] = runs.map((run) => turn(run, { next: ended }))
      if (first) await apply(store, first)
      await store.commit(others)
      for (const runId of ['a', 'b', 'c']) same(await notesOf(store, { runId }), {}, runId)
    },
  },
  {
    name: 'notes are gone when the run continues, and the next generation has its own',
    async run({ store }) {
      const run = await hold(store)
      await kept(store, note({ body: '"old"' }))
      await apply(store, turn(run, { next: continued() }))
      same(await notesOf(store), {}, 'of the first')
      same(await notesOf(store, { generation: 2 }), {}, 'of the second')
      same(await kept(store, note({ generation: 2, body: '"new"' })), '"new"', 'a new one')
      same(await notesOf(store, { generation: 2 }), { heartbeat: '"new"' }, 'what is kept')
    },
  },
  {
    name: 'notes are gone when the run restarts',
    async run({ store }) {
      const run = await hold(store)
      await kept(store, note())
      await apply(store, turn(run, { next: pausedBy('build-1') }))
      await created(store, again('run', 2))
      same(await notesOf(store), {}, 'of the first')
      same(await notesOf(store, { generation: 2 }), {}, 'of the second')
    },
  },
  {
    name: 'a note that comes while the run ends is kept nowhere, or gone with it',
    async run({ store, other }) {
      const elsewhere = await other()
      await openSession(store)
      const ids = Array.from({ length: 12 }, (_, index) => `run-${index}`)
      await store.create(ids.map((id) => newRun(id)))
      const { runs } = await claim(store, { runs: ids.length, nonce: fresh() })
      const ends = runs.map((run) => turn(run, { next: ended }))
      const notes = ids.map((runId) => elsewhere.note([note({ runId })]))
      await Promise.all([...notes, store.commit(ends.slice(0, 6)), store.commit(ends.slice(6))])
      for (const runId of ids) same(await notesOf(store, { runId }), {}, runId)
    },
  },
]

export const noteCases: readonly Case[] = [...keeping, ...gone]
