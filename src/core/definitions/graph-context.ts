// The `ctx` of a graph step: the context of every step, with the input and results of the graph.
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

/** Both as one object. Properties are getters, so that values computed on first use stay lazy. */
export function withScope<Scope extends object>(ctx: ActivityContext, scope: Scope): ActivityContext & Scope {
  const context = Object.defineProperties({}, Object.getOwnPropertyDescriptors(scope))
  for (const name of Object.keys(NAMES) as (keyof ActivityContext)[])
    Object.defineProperty(context, name, { get: () => ctx[name], enumerable: true })
  return context as ActivityContext & Scope
}
