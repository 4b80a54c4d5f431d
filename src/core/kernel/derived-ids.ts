// Ids that follow from where something was asked for: whoever asks again means the same.
import { deriveUuid, deriveUuidNear } from '../base/digest.ts'

interface Place {
  readonly runId: string
  readonly generation: number
}

/** The run a child is, known before it is started. */
export function childId({ runId, generation }: Place, key: string): string {
  return deriveUuidNear(runId, 'child', runId, String(generation), key)
}

/** A step in the task queue. */
export function taskId({ runId, generation }: Place, key: string): string {
  return deriveUuid('task', runId, String(generation), key)
}
