import { activity, diagram, diagramOf, graph, type HistoryEvent, machine, signal, typed, workflow } from 'pawl'
import { expect, test } from 'vitest'
import { testEngine } from '../../testing/test-engine.ts'

const tool = activity('tool', async (n: number) => n)
const stop = signal('stop')

const turn = machine('a "turn"', {
  input: typed<number>(),
  state: typed<{ at: 'thinking' | 'acting'; left: number }>(),
  output: typed<number>(),
  activities: { think: tool, act: tool },
  signals: { stop },
  timers: ['deadline'],
}).on({
  start: (left, act) => [{ at: 'thinking', left }, act.run('think', left), act.timer('deadline', '1h')],
  activityCompleted: {
    think: (state, _, act) =>
      state.left === 0
        ? [state, act.complete(0)]
        : [{ ...state, at: 'acting' }, act.run('act', 1, { id: `no:${state.left}` })],
    act: ({ left }, _, act) => [{ at: 'thinking', left: left - 1 }, act.run('think', 1)],
  },
  timerFired: { deadline: (state, act) => [state, act.fail('late')] },
  signal: { stop: (state) => [state] },
  childEnded: (state) => [state],
})

async function historyOf(workflow: Parameters<typeof testEngine>[0], input: number) {
  const engine = await testEngine({ ...workflow, activities: [tool] })
  const [definition] = workflow?.workflows ?? []
  // The signal is there before the machine is.
  const begin = { workflowId: 'it', input, signal: stop }
  const run = await engine.signalWithStart(definition as typeof turn, begin)
  await run.result()
  const entries: HistoryEvent[] = []
  for await (const entry of run.history()) entries.push(entry)
  await engine.close()
  return entries
}

test('a machine as it is written: the events it reacts to', () => {
  expect(diagram(turn).split('\n')).toEqual([
    'stateDiagram-v2',
    '  state "a #34;turn#34;" as machine',
    '  [*] --> machine : start',
    '  machine --> machine : think',
    '  machine --> machine : act',
    '  machine --> machine : a child ended',
    '  machine --> machine : timer deadline',
    '  machine --> machine : signal stop',
    '  machine --> [*] : complete or fail',
  ])
})

test('a run of it: the states it went through, by which events, and how often', async () => {
  expect(diagramOf(await historyOf({ workflows: [turn] }, 2)).split('\n')).toEqual([
    'stateDiagram-v2',
    '  state "thinking" as s1',
    '  state "acting" as s2',
    '  [*] --> s1 : start',
    '  s1 --> s1 : signal stop',
    '  s1 --> s2 : think ×2',
    '  s2 --> s1 : act no#58;2',
    '  s2 --> s1 : act no#58;1',
    '  s1 --> s1 : think',
    '  s1 --> [*] : completed',
  ])
})

test('states without a name are numbered', async () => {
  const counter = machine('counter', {
    ...{ input: typed<number>(), state: typed<number>(), output: typed<number>() },
    activities: { tool },
    signals: { stop },
  }).on({
    start: (n, act) => [n, act.run('tool', n)],
    activityCompleted: {
      tool: (n, _, act) => (n < 3 ? [n + 1, act.run('tool', n)] : [n, act.complete(n)]),
    },
    signal: { stop: (state) => [state] },
  })
  const lines = diagramOf(await historyOf({ workflows: [counter] }, 2))
  expect(lines).toContain('state "#35;1" as s1')
  expect(lines).toContain('s1 --> s2 : tool\n')
})

test('a graph: its steps, what they come after, by which rule, and under which condition', () => {
  const made = graph('order')
    .step('validate', () => 1)
    .run('charge', { after: ['validate'] }, tool, () => 1)
    .compensate(() => {})
    .step('gift', { after: ['validate'], when: () => true }, () => 1)
    .wait('approve', { after: ['charge'] }, stop)
    .each('pack', { after: ['approve'], over: () => [1] }, () => 1)
    .step('audit', { after: ['pack', 'gift'], rule: 'allDone', delay: '1h' }, () => 1)
  expect(diagram(made).split('\n')).toEqual([
    'flowchart TD',
    '  n1["validate"]',
    '  n2[["charge (can be undone)"]]',
    '  n3["gift (if)"]',
    '  n4{{"approve"}}',
    '  n5["pack (for each)"]',
    '  n6["audit (after a delay)"]',
    '  n1 --> n2',
    '  n1 --> n3',
    '  n2 --> n4',
    '  n4 --> n5',
    '  n5 -->|allDone| n6',
    '  n3 -->|allDone| n6',
  ])
})

test('a function cannot be drawn, and says so', async () => {
  const plain = workflow('plain', async () => 1)
  expect(() => diagram(plain)).toThrow(/'plain' is a function/)
  expect(() => diagramOf([])).toThrow(/no states/)
})
