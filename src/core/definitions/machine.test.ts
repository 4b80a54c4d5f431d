import { expect, test } from 'vitest'
import { activity } from './activity.ts'
import { machine } from './machine.ts'
import { signal } from './messages.ts'
import type { RegisteredMachine } from './registry.ts'
import { typed } from './schema.ts'
import type { AnyWorkflow } from './workflow.ts'

const work = activity('work', async (n: number) => n)
const poke = signal<string>('poke')
const base = {
  input: typed<null>(),
  state: typed<number>(),
  output: typed<string[]>(),
  activities: { work },
  signals: { poke },
  timers: ['late'],
} as const

const plain = () => machine('m', base)
type Handlers = Parameters<ReturnType<typeof plain>['on']>[0]

function made(more: Partial<Handlers> = {}): RegisteredMachine & AnyWorkflow {
  const given = plain().on({
    start: (_, act) => [0, act.run('work', 1)],
    activityCompleted: { work: (n) => [n + 1] },
    timerFired: { late: (n) => [n] },
    signal: { poke: (n) => [n] },
    ...more,
  })
  return given as unknown as RegisteredMachine & AnyWorkflow
}

test('A3 one hash is of the shape alone, the other of all of its code', () => {
  const one = made()
  const two = made({ start: () => [5] })
  const three = made({ activityFailed: (state) => [state] })
  expect(two.definitionHash).toBe(one.definitionHash)
  expect(two.codeHash).not.toBe(one.codeHash)
  expect(three.definitionHash).not.toBe(one.definitionHash)
})

test('A3 what is missing or no such thing is refused where it is written', () => {
  const shape = { ...base, activities: { work: {} as never } }
  expect(() => machine('m', shape)).toThrow(/'work' in `activities` is not an activity/)
  expect(() => machine('m', { ...base, signals: { poke, twice: poke } })).toThrow(/twice/)
  expect(() => plain().on({ start: () => [1] } as never)).toThrow(
    /activityCompleted\.work, timerFired\.late, signal\.poke/,
  )
  expect(() => machine('m', { ...base, state: {} as never })).toThrow(/schema of the state/)
})
