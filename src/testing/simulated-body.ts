// A step body in a simulation: everything that the checkers want to know of it is written down.
import type { ActivityContext } from '../core/definitions/contract.ts'
import type { SimulatedWorld } from './simulator.ts'

/** W2: an activity begins only where its queue is served, on whichever attempt. */
export function checkPlace(
  world: SimulatedWorld,
  queue: string,
  { runId, stepKey }: Pick<ActivityContext, 'runId' | 'stepKey'>,
): void {
  if (world.serves(queue)) return
  const { process, ledger } = world
  ledger.violate(`W2: ${stepKey} of ${runId} began on ${process.name}, which is not for '${queue}'`)
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
