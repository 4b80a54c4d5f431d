// A turn of an agent as a state machine: a model says what to do, tools do it, until there is an answer, no time is left,
// or a user stops it. Every state is in the history, so the code may change while runs are in progress.
import assert from 'node:assert/strict'
import { activity, diagramOf, type HistoryEvent, machine, open, query, signal, typed } from 'pawl'

type Turn =
  | { at: 'thinking'; calls: number; heard: string[] }
  | { at: 'acting'; calls: number; heard: string[]; open: string[] }

const model = activity('model', async (heard: string[]) => {
  const [question = '', ...facts] = heard
  if (facts.length > 0) return { answer: `${question} ${facts.sort().join(', ')}.`, tools: [] }
  return { answer: null, tools: question === 'And now?' ? ['wait'] : ['clock', 'weather'] }
})
const tool = activity('tool', { retry: { maxAttempts: 2 } }, async (name: string, ctx) => {
  if (name === 'wait') await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  return name === 'clock' ? 'it is noon' : 'it rains'
})
const stop = signal<{ why: string }>('stop')

const turn = machine('turn', {
  input: typed<{ question: string; patienceMs: number }>(),
  state: typed<Turn>(),
  output: typed<{ answer: string; calls: number }>(),
  activities: { model, tool },
  signals: { stop },
  timers: ['deadline'],
}).on({
  start: ({ question, patienceMs }, act) => [
    { at: 'thinking', calls: 1, heard: [question] },
    act.run('model', [question]),
    act.timer('deadline', patienceMs),
  ],
  activityCompleted: {
    model: ({ calls, heard }, { result: { answer, tools } }, act) =>
      answer === null
        ? [{ at: 'acting', calls, heard, open: tools }, ...tools.map((id) => act.run('tool', id, { id }))]
        : [{ at: 'thinking', calls, heard }, act.complete({ answer, calls })],
    tool: (state, { id, result }, act) => {
      const heard = [...state.heard, result]
      const open = state.at === 'acting' ? state.open.filter((each) => each !== id) : []
      if (open.length > 0) return [{ ...state, at: 'acting', heard, open }]
      return [{ at: 'thinking', calls: state.calls + 1, heard }, act.run('model', heard)]
    },
  },
  activityFailed: (state, { id, failure }, act) => [state, act.fail(`${id}: ${failure.message}`)],
  timerFired: {
    deadline: (state, act) => [state, act.complete({ answer: 'no time left', calls: state.calls })],
  },
  signal: {
    stop: (state, { why }, act) => [state, act.complete({ answer: why, calls: state.calls })],
  },
})

const pawl = await open('sqlite:./pawl.db', { workflows: [turn], activities: [model, tool] })
pawl.work()

const run = await pawl.start(turn, { question: 'What is it like?', patienceMs: 60_000 })
const answered = await run.result()
console.log(answered)

// What it went through, as a diagram that Mermaid draws; and where it stands, at any time.
const history: HistoryEvent[] = []
for await (const event of run.history()) history.push(event)
console.log(diagramOf(history))
const last = await run.query(query<void, Turn>('state'))
console.log(last)

const stopped = await pawl.start(turn, { question: 'And now?', patienceMs: 60_000 })
await stopped.signal(stop, { why: 'never mind' })
const late = await pawl.start(turn, { question: 'And now?', patienceMs: 300 })
const others = [await stopped.result(), await late.result()]
console.log(others)
await pawl.close()

assert.deepEqual(answered, { answer: 'What is it like? it is noon, it rains.', calls: 2 })
assert.equal(last.at, 'thinking')
assert.deepEqual(
  others.map(({ answer }) => answer),
  ['never mind', 'no time left'],
)
