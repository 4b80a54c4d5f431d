// A run as readable objects: `runs/<id>/state.json`, one object per step beside it, and `names/<workflow id>.json`,
// which names the run. They are written after the log, for people and scripts; pawl never reads a run from them.

import { codecsOf, isEncoded } from '../../../core/base/envelope.ts'
import type { Instant } from '../../../core/base/time.ts'
import type { Payload } from '../../../core/base/value.ts'
import { decodeFailure, decodePayload, decodeTurn, type Event } from '../../../core/index.ts'
import { NEVER, type RowTurn, type RunRow, type StoredTurn, statusOf, turnsOf } from '../../../core/stores/driver.ts'
import { nameKey, runKey, stepKey } from '../layout.ts'

export interface Projected {
  readonly key: string
  readonly body: string
}

interface StepState {
  readonly key: string
  readonly name: string
  readonly status: 'running' | 'retrying' | 'left' | 'completed' | 'failed'
  readonly attempts: number
  readonly startedAt: string
  readonly endedAt?: string
  readonly input?: unknown
  readonly result?: unknown
  readonly failure?: unknown
}

/**
 * Returns the objects of a run: its state, the steps that ended at event `since` or later, and, for the newest run of a
 * workflow id, the object that names it.
 */
export function projectionOf(
  row: RunRow,
  turns: readonly RowTurn[],
  { since = 0, newest = true }: { readonly since?: number; readonly newest?: boolean } = {},
): Projected[] {
  const { runId, workflowId } = row.head
  const own = turnsOf(turns, row.generation)
  const events = own.flatMap(eventsOf)
  const steps = stepsOf(events.filter((event) => event !== undefined))
  const state = runKey(runId, 'state.json')
  const hidden = own.flatMap(({ body }) => (isEncoded(body) ? codecsOf(body) : []))
  const encoded = hidden.length > 0 && { encoded: [...new Set(hidden)] }
  return [
    { key: state, body: readable({ ...stateOf(row, events, [...steps.values()]), ...encoded }) },
    ...(workflowId === runId || !newest
      ? []
      : [{ key: nameKey(workflowId), body: readable({ workflowId, runId, state }) }]),
    ...[...endedSteps(events.slice(since))].flatMap((key) => {
      const step = steps.get(key)
      return step ? [{ key: stepKey(runId, key), body: readable({ runId, ...step }) }] : []
    }),
  ]
}

/** The events of a turn. Of an encoded turn only the number of events is known. */
function eventsOf({ body, count }: StoredTurn): readonly (Event | undefined)[] {
  return isEncoded(body) ? Array.from({ length: count }, () => undefined) : decodeTurn(body).events
}

function stateOf(row: RunRow, events: readonly (Event | undefined)[], steps: readonly StepState[]): object {
  const { head, paused, pin } = row
  const ending = events.at(-1)
  return {
    runId: head.runId,
    workflowId: head.workflowId,
    workflow: head.name,
    status: statusOf(row),
    queue: head.queue,
    ...(pin !== undefined && { pin }),
    ...(row.generation > 1 && { generation: row.generation }),
    ...(row.attributes && { attributes: row.attributes }),
    createdAt: iso(head.createdAt),
    updatedAt: iso(row.updatedAt),
    ...(row.endedAt !== undefined && { endedAt: iso(row.endedAt) }),
    ...(row.at < NEVER && row.endedAt === undefined && { dueAt: iso(row.at) }),
    input: unlessEncoded(head.input, (text) => plain(decodePayload(text))),
    ...(ending?.type === 'RunCompleted' && { result: plain(ending.value) }),
    ...(ending?.type === 'RunFailed' && { failure: ending.failure }),
    ...(paused && {
      paused: { build: paused.build, failure: unlessEncoded(paused.failure, decodeFailure) },
    }),
    steps: steps.map(({ key, name, attempts, ...step }) => ({
      key,
      name,
      status: step.status,
      attempts,
    })),
    events: events.length,
  }
}

function stepsOf(events: readonly Event[]): Map<string, StepState> {
  const steps = new Map<string, StepState>()
  const change = (key: string, now: Partial<StepState>): void => {
    const step = steps.get(key)
    if (step) steps.set(key, { ...step, ...now })
  }
  for (const event of events) {
    if (event.type === 'StepStarted') {
      const { key, name, input, at } = event
      const begun = { key, name, status: 'running', attempts: 1, startedAt: iso(at) } as const
      steps.set(key, { ...begun, ...(input && { input: plain(input) }) })
    } else if (event.type === 'StepCompleted') {
      const endedAt = iso(event.at)
      change(event.key, {
        status: 'completed',
        attempts: event.attempt,
        endedAt,
        result: plain(event.value),
      })
    } else if (event.type === 'StepFailed') {
      const endedAt = iso(event.at)
      change(event.key, {
        status: 'failed',
        attempts: event.attempt,
        endedAt,
        failure: event.failure,
      })
    } else if (event.type === 'StepRetried') {
      const { attempt: attempts, failure, left } = event
      change(event.key, left ? { status: 'left', attempts } : { status: 'retrying', attempts, failure })
    }
  }
  return steps
}

function endedSteps(events: readonly (Event | undefined)[]): Set<string> {
  return new Set(
    events.flatMap((event) => (event?.type === 'StepCompleted' || event?.type === 'StepFailed' ? [event.key] : [])),
  )
}

function unlessEncoded(text: string, read: (text: string) => unknown): unknown {
  return isEncoded(text) ? { encoded: codecsOf(text) } : read(text)
}

/** The value as plain JSON, without what only pawl's encoding can express. */
function plain(payload: Payload): unknown {
  return payload.json
}

function iso(at: Instant): string {
  return new Date(at).toISOString()
}

function readable(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** Returns the time of the state in a projection; NaN if it has none. */
export function updatedAtIn(body: string): Instant {
  try {
    return Date.parse((JSON.parse(body) as { readonly updatedAt: string }).updatedAt)
  } catch {
    return Number.NaN
  }
}
