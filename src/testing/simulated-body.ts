// Wraps a step body in a simulation, and records in the ledger what the checkers need.
import type { ActivityContext } from '../core/definitions/contract.ts'
import type { SimulatedWorld } from './simulator.ts'

/** W2: every attempt of an activity begins on a worker that serves its queue. */
export function checkPlace(
  world: SimulatedWorld,
  queue: string,
  { runId, stepKey }: Pick<ActivityContext, 'runId' | 'stepKey'>,
): void {
  if (world.serves(queue)) return
  const { process, ledger } = world
  ledger.violate(`W2: ${stepKey} of ${runId} began on ${process.name}, which does not serve '${queue}'`)
}

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
