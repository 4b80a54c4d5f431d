// A step body in a simulation: everything that the checkers want to know of it is written down.
import type { ActivityContext } from '../definitions/contract.ts'
import type { SimulatedWorld } from './simulator.ts'

export async function simulatedBody<T>(
  world: SimulatedWorld,
  step: ActivityContext,
  work: () => Promise<T>,
  generation = Number(step.idempotencyKey.split(':')[1]),
): Promise<T> {
  const { process, ledger } = world
  const { runId, stepKey: key, attempt, maxAttempts } = step
  const { name } = process
  const what = { runId, generation, key, attempt, maxAttempts, process: name }
  ledger.executed({ ...what, sessionAlive: world.sessionAlive() })
  const isOver = (): boolean => process.dead || process.frozen || step.signal.aborted
  const end = ledger.begins({
    runId,
    key: `${key} of generation ${generation}`,
    process: name,
    isOver,
  })
  try {
    return await work()
  } finally {
    end()
  }
}
