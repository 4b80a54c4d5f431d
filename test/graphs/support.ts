// What tests of graphs share: a look at a run's history, and an engine whose time is virtual.
import { type AnyActivity, type AnyWorkflow, type Engine, open, type RunHandle } from 'pawl'
import { type TestEngine, testEngine } from 'pawl/testing'

/** Types of events and the steps they are about. */
export async function eventsOf(run: RunHandle<unknown>): Promise<string[]> {
  const events: string[] = []
  for await (const { type, step } of run.history()) events.push(step === undefined ? type : `${type} ${step}`)
  return events
}

/** Every turn is decided from the beginning, and once more from where it stood. */
export const ways = [
  ['replayed', true],
  ['warm', false],
] as const

export async function using(
  workflows: readonly AnyWorkflow[],
  options: { readonly alwaysReplay?: boolean; readonly activities?: readonly AnyActivity[] },
  test: (engine: TestEngine) => Promise<void>,
): Promise<void> {
  const engine = await testEngine({ workflows, ...options })
  try {
    await test(engine)
  } finally {
    await engine.close()
  }
}

export async function usingRealTime(
  workflows: readonly AnyWorkflow[],
  options: { readonly activities?: readonly AnyActivity[] },
  test: (engine: Engine) => Promise<void>,
): Promise<void> {
  const engine = await open('memory:', { workflows, activities: options.activities ?? [] })
  engine.work({ signals: false })
  try {
    await test(engine)
  } finally {
    await engine.close()
  }
}
