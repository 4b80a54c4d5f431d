// Checked by the compiler and never run: a machine is typed by its state, its activities, its timers and its signals.
import {
  type Act,
  activity,
  type Failure,
  type InputOf,
  type Machine,
  type Move,
  machine,
  type OutputOf,
  type Schema,
  type Settled,
  signal,
  typed,
  type Workflow,
  workflow,
} from 'pawl'
import { z } from 'zod'
import { type Equal, same } from './support.ts'

type Turn = { at: 'thinking'; calls: number } | { at: 'acting'; tool: string }
const model = activity('model', async (prompt: string) => ({
  say: prompt,
  tool: null as string | null,
}))
const tool = activity('tool', async (call: { name: string }) => [call.name])
const ping = activity('ping', async () => 1)
const stop = signal<{ why: string }>('stop')
const nudge = signal('nudge')
const kid = workflow('kid', async (_ctx, n: number) => n)
const bare = workflow('bare', async () => 1)

// Literals keep their types without `as const`.
export const turn = machine('turn', {
  input: typed<{ prompt: string }>(),
  state: typed<Turn>(),
  output: typed<{ answer: string }>(),
  activities: { model, tool, ping },
  signals: { stop, nudge },
  timers: ['deadline', 'poll'],
  priority: 5,
}).on({
  start: ({ prompt }, act) => [
    { at: 'thinking', calls: 1 },
    act.run('model', prompt),
    act.run('ping'),
    act.run('ping', undefined, { id: 'p', retry: 'none', queue: 'far' }),
    act.timer('deadline', '5m'),
    act.child(kid, 1, { id: 'k', parentClose: 'abandon' }),
    act.child(bare),
  ],
  activityCompleted: {
    model: (state, { id, result }, act) => {
      same<Equal<typeof state, Turn>>(true)
      same<Equal<typeof id, string>>(true)
      same<Equal<typeof result, { say: string; tool: string | null }>>(true)
      return result.tool === null
        ? [state, act.complete({ answer: result.say })]
        : [{ at: 'acting', tool: result.tool }, act.run('tool', { name: result.tool })]
    },
    tool: (_state, { result }, act) => {
      same<Equal<typeof result, string[]>>(true)
      return [{ at: 'thinking', calls: 1 }, act.run('model', result.join()), act.cancel('p')]
    },
    ping: (state) => [state],
  },
  activityFailed: (state, { activity: name, failure }, act) => {
    same<Equal<typeof name, 'model' | 'tool' | 'ping'>>(true)
    same<Equal<typeof failure, Failure>>(true)
    return [state, act.fail(`${name}: ${failure.message}`)]
  },
  childEnded: (state, { id, outcome }) => {
    same<Equal<typeof outcome, Settled<unknown>>>(true)
    return outcome.ok ? [state] : [{ at: 'acting', tool: id }]
  },
  timerFired: {
    deadline: (state, act) => [state, act.fail(new Error('too slow'))],
    poll: (state, act) => [state, act.timer('poll', 500), act.cancelTimer('deadline')],
  },
  signal: {
    stop: (state, { why }, act) => [state, act.complete({ answer: why })],
    nudge: (state, payload) => {
      same<Equal<typeof payload, void>>(true)
      return [state]
    },
  },
})
same<Equal<typeof turn, Workflow<{ prompt: string }, { answer: string }>>>(true)
same<Equal<InputOf<typeof turn>, { prompt: string }>>(true)
same<Equal<OutputOf<typeof turn>, { answer: string }>>(true)

// Without timers and signals there is nothing to say about them. What it is made of can be exported, too.
export const small = machine('small', {
  input: typed<void>(),
  state: typed<number>(),
  output: typed<number>(),
  activities: { ping },
})
same<Equal<typeof small, Machine<void, number, number, { ping: typeof ping }, {}, never>>>(true)
export const smallest = small.on({
  start: (_, act) => [0, act.run('ping')],
  activityCompleted: { ping: (n, { result }, act) => [n + result, act.complete(n)] },
})

// A schema gives the caller one type and the start another.
declare const dates: Schema<string, Date>
export const dated = machine('dated', {
  input: dates,
  state: z.object({ days: z.number() }),
  output: z.object({ days: z.number() }),
  activities: {},
}).on({
  start: (date, act) => {
    same<Equal<typeof date, Date>>(true)
    return [{ days: 1 }, act.complete({ days: date.getDay() })]
  },
  activityCompleted: {},
})
same<Equal<InputOf<typeof dated>, string>>(true)
same<Equal<OutputOf<typeof dated>, { days: number }>>(true)

// Part of a handler can be a function of its own.
type Does = Act<{ model: typeof model }, 'deadline', { answer: string }>
export function ask(act: Does, prompt: string): Move<Turn, { answer: string }> {
  return [{ at: 'thinking', calls: 1 }, act.run('model', prompt), act.timer('deadline', '5m')]
}

// ── what must not compile ──

const parts = {
  input: typed<void>(),
  state: typed<Turn>(),
  output: typed<number>(),
  activities: { model, tool },
}
machine('m', parts).on({
  // @ts-expect-error not a state of this machine
  start: (_, act) => [{ at: 'sleeping' }, act.run('model', 'x')],
  // @ts-expect-error every activity needs its handler
  activityCompleted: {
    model: (state, { result }, act) => [state, act.complete(result.say.length)],
  },
})
machine('m', { ...parts, activities: { model }, timers: ['deadline'] }).on({
  // @ts-expect-error unknown activity
  start: (_, act) => [{ at: 'thinking', calls: 1 }, act.run('nope', 'x')],
  // @ts-expect-error wrong output
  activityCompleted: { model: (state, _event, act) => [state, act.complete('text')] },
  // @ts-expect-error unknown timer
  timerFired: { deadline: (state, act) => [state, act.timer('alarm', '1s')] },
})
machine('m', { ...parts, activities: { model }, signals: { stop } }).on({
  // @ts-expect-error an activity is given its input
  start: (_, act) => [{ at: 'thinking', calls: 1 }, act.run('model', 5)],
  activityCompleted: { model: (state) => [state] },
  // @ts-expect-error a signal carries what it carries
  signal: { stop: (state, { reason }, act) => [state, act.fail(reason)] },
})
// @ts-expect-error every signal needs its handler
machine('m', { ...parts, activities: {}, signals: { stop } }).on({
  start: () => [{ at: 'thinking', calls: 1 }],
  activityCompleted: {},
})
// @ts-expect-error every timer needs its handler
machine('m', { ...parts, activities: {}, timers: ['deadline'] }).on({
  start: () => [{ at: 'thinking', calls: 1 }],
  activityCompleted: {},
})
machine('m', { ...parts, activities: {} }).on({
  // @ts-expect-error a move begins with a state
  start: (_, act) => [act.complete(1)],
  activityCompleted: {},
})
machine('m', { ...parts, activities: {} }).on({
  // @ts-expect-error a handler answers at once
  start: async (_, act) => [{ at: 'thinking', calls: 1 }, act.complete(1)],
  activityCompleted: {},
})
machine('m', { ...parts, activities: {} }).on({
  // @ts-expect-error a child is given its input
  start: (_, act) => [{ at: 'thinking', calls: 1 }, act.child(kid)],
  activityCompleted: {},
})
machine('m', { ...parts, activities: { ping } }).on({
  // @ts-expect-error what a step is known by is for functions; here it is an id
  start: (_, act) => [{ at: 'thinking', calls: 1 }, act.run('ping', undefined, { key: 'x' })],
  activityCompleted: { ping: (state) => [state] },
})
// @ts-expect-error what is no schema
machine('m', { ...parts, state: { at: 'thinking' } })
// @ts-expect-error what is no activity
machine('m', { ...parts, activities: { kid } })
