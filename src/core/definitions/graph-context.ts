// What the body of a step of a graph gets: the context of every step, and what the graph gives it.
import type { ActivityContext } from './contract.ts'

const NAMES: Readonly<Record<keyof ActivityContext, true>> = {
  runId: true,
  workflowId: true,
  stepKey: true,
  idempotencyKey: true,
  attempt: true,
  maxAttempts: true,
  build: true,
  signal: true,
  log: true,
  client: true,
  heartbeat: true,
  lastHeartbeat: true,
  runOnce: true,
  completionToken: true,
  completeLater: true,
}

/** The two in one; what is made only when somebody looks at it stays so. */
export function withScope<Scope extends object>(
  ctx: ActivityContext,
  scope: Scope,
): ActivityContext & Scope {
  const context = Object.defineProperties({}, Object.getOwnPropertyDescriptors(scope))
  for (const name of Object.keys(NAMES) as (keyof ActivityContext)[])
    Object.defineProperty(context, name, { get: () => ctx[name], enumerable: true })
  return context as ActivityContext & Scope
}
