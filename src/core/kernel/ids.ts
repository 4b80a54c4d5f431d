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

// The structure of step keys: scopes, then kind, name and occurrence, as in `scope:refund#1/activity:pay#2`. Names are
// escaped, so that they cannot look like structure.

/** The segment of a scope that is not cancelled with its surroundings. */
export const SHIELD = 'shield'

const shielded = new RegExp(`(^|/)${SHIELD}#\\d+/`)

/** Whether a request under this key survives the cancellation of the run. */
export function isShielded(key: string): boolean {
  return key.includes(SHIELD) && shielded.test(key)
}

/** The key under which a run records its input as the workflow's schema parsed it. No call of `ctx` has this kind. */
export const INPUT_KEY = 'schema:input#1'

// A key's structure is made of these characters, so a name must not contain them as they are.
const structural = /[%/#:[\]]/g

export function escapeKey(name: string): string {
  if (name.search(structural) < 0) return name
  return name.replace(structural, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** The name that `escapeKey` was given. */
export function unescapeKey(escaped: string): string {
  return escaped.replace(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}
