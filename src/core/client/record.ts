// Runs as users see them.

import { PawlError, type PawlErrorCode } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import { decode } from '../base/value.ts'
import { type Attributes, attributesFrom } from '../definitions/attributes.ts'
import { decodeFailure, decodePayload, decodeTurn } from '../kernel/codec.ts'
import type { Ending } from '../kernel/event.ts'
import { isEnding } from '../kernel/event.ts'
import { decodeExtras } from '../kernel/extras.ts'
import type { Status } from '../kernel/run.ts'
import type { RunSnapshot } from '../stores/store.ts'

/** A run as the store has it. */
export interface RunRecord {
  readonly runId: string
  readonly workflowId: string
  readonly name: string
  readonly status: Status
  readonly input: unknown
  readonly output?: unknown
  readonly failure?: Failure
  /** What could not be undone, if the run undid what it had done. */
  readonly compensationFailures?: readonly Failure[]
  readonly memo: Readonly<Record<string, unknown>>
  readonly attributes: Attributes
  readonly parentRunId?: string
  readonly queue: string
  readonly priority: number
  readonly generation: number
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly endedAt?: Date
  /** Why not all of it can be read here, such as for want of a key. What cannot is missing. */
  readonly unreadable?: { readonly code: PawlErrorCode; readonly message: string }
}

export function recordOf(run: RunSnapshot): RunRecord {
  const { head, last, paused } = run
  const reader = new Reader()
  const memo = reader.read(() => decodeExtras(head.extras))?.memo
  const ending = last === undefined ? undefined : reader.read(() => endingOf(last))
  const failure =
    ending?.type === 'RunFailed'
      ? ending.failure
      : paused && reader.read(() => decodeFailure(paused.failure))
  return {
    runId: head.runId,
    workflowId: head.workflowId,
    name: head.name,
    status: run.status,
    input: reader.read(() => decode(decodePayload(head.input))),
    ...(ending?.type === 'RunCompleted' && { output: decode(ending.value) }),
    ...(failure && { failure }),
    ...(ending && 'undone' in ending && { compensationFailures: ending.undone.failures }),
    memo: memo ? (decode(memo) as Record<string, unknown>) : {},
    attributes: attributesFrom(run.attributes),
    ...(head.parent && { parentRunId: head.parent.runId }),
    queue: head.queue,
    priority: head.priority,
    generation: head.generation,
    createdAt: new Date(head.createdAt),
    updatedAt: new Date(run.updatedAt),
    ...(run.endedAt !== undefined && { endedAt: new Date(run.endedAt) }),
    ...(reader.unreadable && { unreadable: reader.unreadable }),
  }
}

/** Reads what can be read: one body that cannot must not hide a whole list of runs. */
class Reader {
  unreadable: RunRecord['unreadable']

  read<T>(body: () => T): T | undefined {
    try {
      return body()
    } catch (error) {
      if (!(error instanceof PawlError)) throw error
      const { code, message } = error
      this.unreadable ??= { code, message }
      return undefined
    }
  }
}

/** How a run ended, from the text of its last turn. */
export function endingOf(body: string): Ending | undefined {
  const last = decodeTurn(body).events.at(-1)
  return last && isEnding(last) ? last : undefined
}
