// The record of a run, as `describe` and `list` show it.

import { defined } from '../base/defined.ts'
import { CancelledError, PawlError, type PawlErrorCode, RunError } from '../base/errors.ts'
import { errorOf, type Failure } from '../base/failure.ts'
import { decode } from '../base/value.ts'
import { type Attributes, attributesFrom } from '../definitions/attributes.ts'
import { decodeFailure, decodePayload, decodeTurn } from '../kernel/codec.ts'
import { type Ending, type Event, isEnding } from '../kernel/event.ts'
import { decodeExtras } from '../kernel/extras.ts'
import type { Status } from '../kernel/run.ts'
import { leftTo, type RunSnapshot } from '../stores/store.ts'
import type { Ended } from './results.ts'

/** A run as the store has it: what `run.describe()` and `engine.list()` return. */
export interface RunRecord {
  readonly runId: string
  readonly workflowId: string
  /** The name of the workflow. */
  readonly name: string
  readonly status: Status
  readonly input: unknown
  /** The output, if the run has completed. */
  readonly output?: unknown
  /** The store that the run has moved to, if its status is `moved`. */
  readonly movedTo?: string
  /** What the run waits for, if it waits: `timer`, `signal:approval`. */
  readonly waitingFor?: string
  /** Why the run failed or is paused. */
  readonly failure?: Failure
  /** Compensations that failed, if the run compensated. */
  readonly compensationFailures?: readonly Failure[]
  readonly memo: Readonly<Record<string, unknown>>
  readonly attributes: Attributes
  /** The run that started this one as a child. */
  readonly parentRunId?: string
  readonly queue: string
  readonly priority: number
  /** The number of the current generation, from 1. */
  readonly generation: number
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly endedAt?: Date
  /** Why some fields could not be read, for example because a key is missing. Those fields are absent. */
  readonly unreadable?: { readonly code: PawlErrorCode; readonly message: string }
}

export function recordOf(run: RunSnapshot): RunRecord {
  const { head, last, paused } = run
  const reader = new Reader()
  const memo = reader.read(() => decodeExtras(head.extras))?.memo
  const ending = last === undefined ? undefined : reader.read(() => endingOf(last))
  const failure =
    ending?.type === 'RunFailed' ? ending.failure : paused && reader.read(() => decodeFailure(paused.failure))
  return {
    runId: head.runId,
    workflowId: head.workflowId,
    name: head.name,
    status: run.status,
    input: reader.read(() => decode(decodePayload(head.input))),
    ...(ending?.type === 'RunCompleted' && { output: decode(ending.value) }),
    ...defined({
      movedTo: run.status === 'moved' ? leftTo(run.reason) : undefined,
      waitingFor: run.status === 'waiting' || run.status === 'compensating' ? run.reason : undefined,
      failure,
      compensationFailures: ending && 'undone' in ending ? ending.undone.failures : undefined,
      memo: memo ? (decode(memo) as Record<string, unknown>) : {},
      attributes: attributesFrom(run.attributes),
      parentRunId: head.parent?.runId,
      queue: head.queue,
      priority: head.priority,
      generation: head.generation,
      createdAt: new Date(head.createdAt),
      updatedAt: new Date(run.updatedAt),
      endedAt: run.endedAt === undefined ? undefined : new Date(run.endedAt),
      unreadable: reader.unreadable,
    }),
  }
}

/** Keeps the first error instead of throwing it, because one unreadable body must not hide a whole list of runs. */
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

/** The event that ended a run, from the text of its last turn. */
export function endingOf(body: string): Ending | undefined {
  const last = decodeTurn(body).events.at(-1)
  return last && isEnding(last) ? last : undefined
}

// What a caller gets for a run that has ended, and for an update that was answered.

/** The output of a run that has ended, or its error. The error names the run by `workflowId`. */
export function resultOf(runId: string, ended: Ended, workflowId = runId): unknown {
  const ending = endingOf(ended)
  switch (ending?.type) {
    case 'RunCompleted':
      return decode(ending.value)
    case 'RunCancelled':
      throw new CancelledError(ending.reason)
    case 'RunFailed': {
      const { failure, undone } = ending
      const compensationFailures = undone?.failures ?? []
      const what = `run '${workflowId}'`
      throw new RunError({ failure, runId, compensationFailures, what }, { cause: errorOf(failure) })
    }
    default:
      throw new PawlError('STORE_UNAVAILABLE', `the end of run ${runId} cannot be read. Try again.`)
  }
}

/** The answer to an update, or its error; undefined if the events have none. */
export function answerOf(events: readonly Event[], id: string): { readonly value: unknown } | undefined {
  for (const event of events) {
    if (event.type === 'UpdateCompleted' && event.id === id) return { value: decode(event.value) }
    if (event.type !== 'UpdateFailed' || event.id !== id) continue
    const { failure, rejected } = event
    const [code, what] = rejected
      ? (['UPDATE_REJECTED', 'was rejected'] as const)
      : (['UPDATE_FAILED', 'failed'] as const)
    throw new PawlError(code, `the update ${what}: ${failure.message}`, {
      cause: errorOf(failure),
    })
  }
  return undefined
}
