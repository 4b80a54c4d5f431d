// What waits for a worker, by queue.
import type { LoadAsk, Loaded } from '../stores/store.ts'

/** Runs or tasks of a queue that are due, and neither held by a worker nor paused. */
export interface QueueRecord {
  readonly queue: string
  /** Runs to be continued, or tasks: activities that any worker may take. */
  readonly kind: 'run' | 'task'
  /** How many are due. */
  readonly due: number
  /** When the first of them was due. */
  readonly oldest: Date
}

/** Those that have waited longest first. A queue in which nothing waits is not listed. */
export async function queuesOf(
  load: (asks: readonly LoadAsk[]) => Promise<readonly Loaded[]>,
): Promise<readonly QueueRecord[]> {
  const [loaded] = await load([{ type: 'queues' }])
  const queues = loaded?.type === 'queues' ? loaded.queues : []
  return queues
    .toSorted((one, other) => one.oldest - other.oldest)
    .map(({ queue, kind, due, oldest }) => ({ queue, kind, due, oldest: new Date(oldest) }))
}
