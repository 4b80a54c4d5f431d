// Which changes the audit trail has, and when its entry must be durable.
import { defined } from '../core/base/defined.ts'
import { PawlError } from '../core/base/errors.ts'
import { limits } from '../core/base/limits.ts'
import { isAllowed } from '../operations/operate.ts'
import { type OperationName, type Route, routes, type Scope } from '../operations/routes.ts'
import type { Audit } from './audit.ts'

export interface Change {
  readonly name: OperationName
  readonly input: Readonly<Record<string, unknown>>
  readonly by: string
  readonly scope: Scope
  readonly requestId: string
  /** The header `X-Reason`. */
  readonly reason: string | undefined
}

/** Fields that name what an operation is done to. */
const TARGETS = ['run', 'batch', 'schedule', 'build', 'name', 'workflowId', 'workflow'] as const
/** The histories of runs have these themselves, so they need not wait for their entry. */
const TRAFFIC: ReadonlySet<OperationName> = new Set([
  ...(['runs.start', 'runs.startMany', 'runs.signal', 'runs.update', 'runs.signalWithStart'] as const),
  ...(['runs.updateWithStart', 'completions.resolve', 'completions.reject'] as const),
])

function isChange({ method, scope }: Route): boolean {
  return method !== 'GET' && (scope === 'operate' || scope === 'admin')
}

/**
 * Makes a change, and notes it in the trail. The entry is durable before the answer; of what operators do, before the
 * change.
 */
export async function audited<T>(audit: Audit, change: Change, make: () => Promise<T>): Promise<T> {
  const { name, input, by, requestId } = change
  // What the scope refuses changes nothing, and would push older entries out of the ring.
  if (!isChange(routes[name]) || !isAllowed(change.scope, routes[name].scope)) return make()
  const target = firstText(TARGETS.map((field) => input[field]))
  const reason = firstText([change.reason, input['reason'], input['note']])
  const entry = audit.add(defined({ by, operation: name, target, reason, requestId }))
  try {
    if (!TRAFFIC.has(name)) await entry.written
    const [made] = await Promise.all([make(), entry.written])
    entry.end('done')
    return made
  } catch (error) {
    entry.end(error instanceof PawlError ? error.code : 'INTERNAL')
    throw error
  }
}

/** Shortened, because a refused call may name anything. */
function firstText(values: readonly unknown[]): string | undefined {
  const text = values.find((value) => typeof value === 'string')
  return typeof text === 'string' ? text.slice(0, limits.auditLengthMax) : undefined
}
