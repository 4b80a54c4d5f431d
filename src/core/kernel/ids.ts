// Ids that follow from the place of a request, so that the same request always gets the same id.
import { deriveUuid, deriveUuidNear } from '../base/digest.ts'

interface Place {
  readonly runId: string
  readonly generation: number
}

/** The run id of a child, known before the child is created. */
export function childId({ runId, generation }: Place, key: string): string {
  return deriveUuidNear(runId, 'child', runId, String(generation), key)
}

/** The id of a queued step. */
export function taskId({ runId, generation }: Place, key: string): string {
  return deriveUuid('task', runId, String(generation), key)
}
