// Answers a query: replays a run in an execution of its own, asks it, and forgets it. Nothing is written, no step is run,
// and whoever holds the run does not notice.
import { functionDecider } from '../deciders/function/decider.ts'
import type { Registry } from '../definitions/registry.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Payload } from '../kernel/value.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredHead, StoredTurn } from '../stores/store.ts'
import { headOf, pastOf } from './past.ts'
import { keepRejections } from './rejections.ts'

export interface Question {
  readonly head: StoredHead
  readonly turns: readonly StoredTurn[]
  readonly name: string
  readonly payload: Payload
}

export async function inquire(registry: Registry, clock: Clock, asked: Question): Promise<Payload> {
  const { head, turns, name, payload } = asked
  const workflow = registry.workflows.get(head.name)
  if (!workflow) {
    throw new PawlError(
      'NO_CODE_HERE',
      `a query is answered by the code of the run, and this process has none for '${head.name}'. Give the workflow to open({ workflows }).`,
    )
  }
  const letGo = keepRejections()
  const execution = functionDecider(workflow).open(headOf({ head }), () => clock.breathe())
  try {
    const { events, state } = pastOf(turns)
    await execution.advance(events, Math.max(state.at, head.createdAt), events.length)
    return execution.query(name, payload)
  } finally {
    execution.dispose()
    letGo()
  }
}
