// What the body of a step of a graph gets: the context of every step, and what the graph gives it.
import type { ActivityContext } from './contract.ts'

const MADE_WHEN_READ = ['idempotencyKey', 'signal', 'log', 'client'] as const

/** The two in one; what is made only when it is read stays so. */
export function withScope<Scope extends object>(
  ctx: ActivityContext,
  scope: Scope,
): ActivityContext & Scope {
  const { runId, workflowId, stepKey, attempt, maxAttempts } = ctx
  const own: Omit<ActivityContext, (typeof MADE_WHEN_READ)[number]> = {
    runId,
    workflowId,
    stepKey,
    attempt,
    maxAttempts,
    heartbeat: (details?: unknown) => ctx.heartbeat(details),
    lastHeartbeat: <Details>() => ctx.lastHeartbeat<Details>(),
    completionToken: () => ctx.completionToken(),
    completeLater: () => ctx.completeLater(),
    runOnce: <R>(key: string, fn: () => R | Promise<R>) => ctx.runOnce(key, fn),
  }
  const context = Object.defineProperties(own, Object.getOwnPropertyDescriptors(scope))
  for (const name of MADE_WHEN_READ)
    Object.defineProperty(context, name, { get: () => ctx[name], enumerable: true })
  return context as ActivityContext & Scope
}
