// The machine that tests have in common: a model that asks for tools until it has an answer.
import { activity, machine, query, signal, typed } from 'pawl'

export type Turn = { at: 'thinking'; calls: number } | { at: 'acting'; tool: string; calls: number }

export const model = activity('model', async (prompt: string) => ({
  say: `said ${prompt}`,
  tool: prompt.length < 4 ? `${prompt}!` : null,
}))
export const tool = activity('tool', async (call: { name: string }) => [call.name])
export const stop = signal<{ why: string }>('stop')
export const state = query<void, Turn>('state')

/** What its code was asked about, in order. */
export const asked: string[] = []

export const shape = {
  input: typed<{ prompt: string }>(),
  state: typed<Turn>(),
  output: typed<{ answer: string; calls: number }>(),
  activities: { model, tool },
  signals: { stop },
  timers: ['deadline'],
} as const

export const turn = machine('turn', shape).on({
  start: ({ prompt }, act) => {
    asked.push('start')
    return [{ at: 'thinking', calls: 1 }, act.run('model', prompt), act.timer('deadline', '5m')]
  },
  activityCompleted: {
    model: ({ calls }, { id, result }, act) => {
      asked.push(id)
      return result.tool === null
        ? [{ at: 'thinking', calls }, act.complete({ answer: result.say, calls })]
        : [{ at: 'acting', tool: result.tool, calls }, act.run('tool', { name: result.tool })]
    },
    tool: ({ calls }, { id, result }, act) => {
      asked.push(id)
      return [{ at: 'thinking', calls: calls + 1 }, act.run('model', result.join())]
    },
  },
  timerFired: { deadline: (now, act) => [now, act.fail('too slow')] },
  signal: { stop: (now, { why }, act) => [now, act.complete({ answer: why, calls: now.calls })] },
})
