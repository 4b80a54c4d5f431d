// From a decided turn to what the store is asked to write.

import type { Instant } from '../base/instant.ts'
import type { Payload } from '../base/value.ts'
import { encodeMessage, encodePayload, encodeTurn } from '../kernel/codec.ts'
import type { StartChild } from '../kernel/command.ts'
import type { GivenOptions, StepPlan } from '../kernel/decider.ts'
import { taskId } from '../kernel/derived-ids.ts'
import type { Outgoing } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { encodeExtras } from '../kernel/extras.ts'
import { isStop, type Message } from '../kernel/message.ts'
import { awaitsEnd, type OpenStep } from '../kernel/requests.ts'
import { type Head, type RunState } from '../kernel/run.ts'
import type { Closing, Turn } from '../kernel/turn.ts'
import type { NewTask, Outbound, StoredMessage, TurnCommit } from '../stores/store.ts'

export function turnBody(build: string, events: readonly HistoryEvent[]): string {
  // The place of an event is where it stands; writing it down again would only be able to disagree.
  return encodeTurn({ build, events: events.map(({ seq: _, ...event }) => event) })
}

export function outbound(head: Head, outgoing: readonly Outgoing[]): Outbound[] {
  return outgoing.map((each) =>
    each.type === 'start'
      ? startOf(head, each.command, each.runId)
      : {
          type: 'post',
          runId: each.runId,
          message: storedMessage(each.message),
          ...(isStop(each.message) && { urgent: true }),
        },
  )
}

/** What a turn writes besides its events. */
export type Rest = Pick<
  TurnCommit,
  'consumed' | 'outbox' | 'tasks' | 'dropped' | 'attributes' | 'next'
>

/** What a turn takes and sends out, and what its end does. */
export function sentBy(
  head: Head,
  turn: Turn,
  { outgoing, dropped }: Pick<Closing, 'outgoing' | 'dropped'> = { outgoing: [], dropped: [] },
): Omit<Rest, 'next'> {
  return {
    consumed: [...turn.consumed],
    outbox: outbound(head, [...turn.outgoing, ...outgoing]),
    tasks: [],
    dropped: [...turn.dropped, ...dropped].map((key) => taskId(head, key)),
    ...(turn.attributes && { attributes: turn.attributes }),
  }
}

export function storedMessage(message: Message): StoredMessage {
  return { id: message.id, body: encodeMessage(message) }
}

/** What a worker that claims the task needs to know; it may not have the workflow's code. */
export interface TaskBody {
  readonly key: string
  readonly generation: number
  readonly keysOf?: number
  readonly workflowId: string
  readonly input: Payload
  /** As whoever asked for it sees them, who may not have the code of the activity. */
  readonly retry: StepPlan['retry']
  readonly startToCloseMs?: number
  readonly heartbeatMs?: number
  readonly startBy?: Instant
  readonly closeBy?: Instant
  readonly given?: GivenOptions
  /** Attempts it had before it was handed to the queue. */
  readonly failed?: number
  /** When the step is cancelled, its end is waited for. */
  readonly awaited?: true
}

/** The steps of a turn that go to the queue, as far as anybody still waits for them. */
export function tasksOf(
  head: Head,
  state: RunState,
  turn: Turn,
  planOf: (key: string) => StepPlan,
): NewTask[] {
  const keys = [...turn.steps.map(({ key }) => key), ...turn.queued]
  return keys.flatMap((key) => {
    const step = state.open.get(key)
    return step?.type === 'step' && step.queued ? [newTask(head, key, step, planOf(key))] : []
  })
}

function newTask(head: Head, key: string, step: OpenStep, plan: StepPlan): NewTask {
  const { workflowId, generation, keysOf } = head
  const { retry, startToCloseMs, heartbeatMs, given } = plan
  const { startBy, closeBy, failed } = step
  const body: TaskBody = {
    key,
    generation,
    ...(keysOf !== undefined && { keysOf }),
    workflowId,
    input: step.input ?? { json: null },
    retry,
    ...(startToCloseMs !== undefined && { startToCloseMs }),
    ...(heartbeatMs !== undefined && { heartbeatMs }),
    ...(startBy !== undefined && { startBy }),
    ...(closeBy !== undefined && { closeBy }),
    ...(given && { given }),
    ...(failed > 0 && { failed }),
    ...(awaitsEnd(step) && { awaited: true }),
  }
  return {
    taskId: taskId(head, key),
    name: step.name,
    queue: plan.queue ?? head.queue,
    priority: plan.priority ?? head.priority,
    body: JSON.stringify(body),
  }
}

function startOf(head: Head, command: StartChild, runId: string): Outbound {
  const { name, input, digest, key, workflowId, attributes } = command
  const extras = encodeExtras({ ...command.extras, ...(attributes && { attributes }) })
  const { generation } = head
  // The same for a generation that goes on with this one's steps: then the signal is not sent again.
  const id = `from:${head.runId}:${head.keysOf ?? generation}:${key}`
  const told = command.signal && storedMessage({ type: 'signal', id, ...command.signal })
  const message = `workflow id '${workflowId}' is in use by another run`
  return {
    type: 'start',
    run: {
      runId,
      name,
      queue: command.queue ?? head.queue,
      priority: command.priority ?? head.priority,
      workflowId: workflowId ?? runId,
      reuse: told ? 'returnExisting' : 'allow',
      ...(told && { message: told }),
      input: encodePayload(input),
      digest,
      parent: { runId: head.runId, generation, key },
      ...(extras !== undefined && { extras }),
      ...(attributes && { attributes }),
    },
    otherwise: storedMessage({
      type: 'childEnded',
      id: `refused:${runId}`,
      generation,
      key,
      child: runId,
      outcome: { ok: false, failure: { type: 'RunRefused', message, retryable: false } },
    }),
  }
}
