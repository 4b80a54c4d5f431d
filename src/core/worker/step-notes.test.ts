import { expect, test } from 'vitest'
import { systemClock } from '../runtime/clock.ts'
import { systemRandom } from '../runtime/random.ts'
import type { Note, Store } from '../stores/store.ts'
import { type NotesContext, StepNotes } from './step-notes.ts'

const of = { runId: 'run', generation: 1, key: 'step:copy#1' }

const turn = (): Promise<void> => systemClock.breathe()

class Desk implements NotesContext {
  readonly kept: Note[] = []
  /** What is left to do before a note is kept. */
  before: () => Promise<void> = async () => {}
  time = 0
  readonly clock = { ...systemClock, monotonic: () => this.time }
  readonly random = systemRandom
  readonly store = {
    note: async ([note]: readonly [Note]) => {
      await this.before()
      this.kept.push(note)
      return [{ body: note.body }]
    },
  } as unknown as Store
  readonly line = { send: <T>(call: (store: Store) => Promise<T>) => call(this.store) }
  get bodies(): string[] {
    return this.kept.map(({ body }) => body)
  }
}

test('what is done once is done once within one attempt, one after the other and at the same time', async () => {
  const desk = new Desk()
  const notes = new StepNotes(of, desk, {})
  let done = 0
  const charge = async (): Promise<{ n: number }> => ({ n: ++done })
  const both = [notes.once('charge', charge), notes.once('charge', charge)]
  expect(await Promise.all(both)).toEqual([{ n: 1 }, { n: 1 }])
  const third = (await notes.once('charge', charge)) as { n: number }
  third.n = 7
  expect(await notes.once('charge', charge)).toEqual({ n: 1 })
  expect(await notes.once('another', charge)).toEqual({ n: 2 })
  expect(desk.kept.map(({ name }) => name)).toEqual(['once:charge', 'once:another'])
})

test('what failed to be done once is tried again', async () => {
  const notes = new StepNotes(of, new Desk(), {})
  const fail = (): never => {
    throw new Error('no')
  }
  await expect(notes.once('charge', fail)).rejects.toThrow('no')
  expect(await notes.once('charge', () => 1)).toBe(1)
  expect(await notes.once('charge', fail)).toBe(1)
})

test('a heartbeat after the attempt is over is neither kept nor a sign of life', async () => {
  const desk = new Desk()
  const notes = new StepNotes(of, desk, {})
  let beats = 0
  notes.onBeat = () => {
    beats++
  }
  notes.beat(1)
  notes.beat(2)
  const closed = notes.close('keep')
  desk.time = 1e6
  notes.beat(3)
  await closed
  await notes.close('keep')
  expect(desk.bodies).toEqual(['{"json":1}', '{"json":2}'])
  expect(beats).toBe(2)
  expect(notes.last()).toBe(2)
})

test('an attempt of a step that is over writes no more', async () => {
  const desk = new Desk()
  const notes = new StepNotes(of, desk, {})
  notes.beat(1)
  notes.beat(2)
  await notes.close('drop')
  await notes.close('keep')
  expect(desk.bodies).toEqual(['{"json":1}'])
})

test('details are written when they differ from what the store has, and again when that failed', async () => {
  const desk = new Desk()
  const notes = new StepNotes(of, desk, { heartbeat: '{"json":1}' })
  notes.beat(1)
  desk.time = 2_000
  notes.beat(2)
  desk.time = 4_000
  notes.beat(1)
  await turn()
  desk.time = 6_000
  desk.before = async () => {
    desk.before = async () => {}
    throw new Error('no store')
  }
  notes.beat(3)
  await turn()
  await notes.close('keep')
  expect(desk.bodies).toEqual(['{"json":2}', '{"json":1}', '{"json":3}'])
})
