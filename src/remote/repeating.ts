// Which calls can be sent again when their answer was lost, and the ids that make it so.
import type { OperationName } from '../operations/routes.ts'

/** Two of these take effect twice, or the second fails because of the first. Of all others the second changes nothing. */
export const once: ReadonlySet<OperationName> = new Set<OperationName>([
  ...(['runs.resume', 'runs.retry', 'runs.reset', 'runs.fork', 'runs.migrate', 'runs.discard'] as const),
  ...(['schedules.update', 'schedules.trigger', 'schedules.backfill', 'schedules.delete'] as const),
  ...(['batches.preview', 'tokens.create', 'tokens.revoke'] as const),
])

interface Ids {
  readonly idempotencyKey?: string
  readonly messageId?: string
}

/** The input with an id for each run and message that has none. */
export function withOwnIds(name: OperationName, input: object, newId: () => string): object {
  const { idempotencyKey = newId(), messageId = newId() } = input as Ids
  switch (name) {
    case 'runs.start':
      return { ...input, idempotencyKey }
    case 'runs.signalWithStart':
    case 'runs.updateWithStart':
      return { ...input, idempotencyKey, messageId }
    case 'runs.signal':
    case 'runs.update':
      return { ...input, messageId }
    case 'runs.startMany': {
      const { runs } = input as { readonly runs: readonly Ids[] }
      return { ...input, runs: runs.map((run) => ({ ...run, idempotencyKey: run.idempotencyKey ?? newId() })) }
    }
    default:
      return input
  }
}
