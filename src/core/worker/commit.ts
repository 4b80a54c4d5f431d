// A decided turn on its way to the store: whether it must be committed now, and what it writes.

import { limits } from '../base/limits.ts'
import type { Instant } from '../base/time.ts'
import { encodeMessage, encodePayload, encodeTurn } from '../kernel/codec.ts'
import type { StartChild } from '../kernel/command.ts'
import type { Execution } from '../kernel/decider.ts'
import type { Outgoing } from '../kernel/endings.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { encodeExtras } from '../kernel/extras.ts'
import { taskId } from '../kernel/ids.ts'
import { ItemBatch } from '../kernel/items.ts'
import { isStop, type Message } from '../kernel/message.ts'
import type { Head } from '../kernel/run.ts'
import { traceForChild } from '../kernel/trace.ts'
import type { Turn, TurnEnd, WrittenItem } from '../kernel/turn.ts'
import type { Outbound, StoredMessage, StreamTurn, TurnCommit } from '../stores/store.ts'

/**
 * Whether the events need not be committed yet. They need not if a crash now would lose only that steps were begun, and
 * replaying the committed history begins the same steps again. They must if a step may not begin twice, or if they have
 * waited for so long that an operator would miss them.
 */
export function canWait(uncommitted: readonly HistoryEvent[], turn: Turn, execution: Execution, now: Instant): boolean {
  if (uncommitted.length === 0 && turn.consumed.length === 0) return true
  if (!turn.derivable || execution.readClock) return false
  if (turn.consumed.length > 0 || turn.outgoing.length > 0) return false
  if (now - (uncommitted[0]?.at ?? now) >= limits.carryMsMax) return false
  return uncommitted.every((event) => isDecidedAgain(event, execution))
}

function isDecidedAgain(event: HistoryEvent, execution: Execution): boolean {
  const { type } = event
  if (type === 'DefinitionTaken' || type === 'StepSkipped' || type === 'ListTaken') return true
  if (type !== 'StepStarted' || event.queued) return false
  return (execution.step(event.key)?.retry.maxAttempts ?? 1) > 1
}

export function turnBody(build: string, events: readonly HistoryEvent[]): string {
  // The position of an event in the turn gives its `seq`, so that it is not written.
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
export type Rest = Pick<TurnCommit, 'consumed' | 'outbox' | 'tasks' | 'dropped' | 'attributes' | 'streams' | 'next'>

/** The messages that a turn consumes and sends; `closing` is the end of the run or generation, if the turn has one. */
export function sentBy(head: Head, turn: Turn, closing?: TurnEnd): Omit<Rest, 'next'> {
  const outgoing = closing ? [...turn.outgoing, ...closing.outgoing] : turn.outgoing
  const dropped = closing ? [...turn.dropped, ...closing.dropped] : turn.dropped
  return {
    consumed: [...turn.consumed],
    outbox: outbound(head, outgoing),
    tasks: [],
    dropped: dropped.map((key) => taskId(head, key)),
    ...(turn.attributes && { attributes: turn.attributes }),
    ...(turn.streams && { streams: batched(head, turn.streams) }),
  }
}

/** Items of one stream travel together, up to the size of a batch. */
function batched(head: Head, written: readonly WrittenItem[]): StreamTurn[] {
  const streams: StreamTurn[] = []
  const waiting = new Map<string, { readonly batch: ItemBatch; readonly keep: number }>()
  const flush = (stream: string): void => {
    const { batch, keep } = waiting.get(stream) ?? {}
    if (!batch || batch.items === 0) return
    streams.push({ type: 'write', stream, chapter: head.chapter ?? head.generation, keep: keep ?? 0, ...batch.take() })
  }
  for (const { stream, item, keep } of written) {
    if (!item) {
      flush(stream)
      streams.push({ type: 'close', stream })
      continue
    }
    const { batch } = waiting.get(stream) ?? { batch: new ItemBatch() }
    if (!waiting.has(stream)) waiting.set(stream, { batch, keep })
    batch.add(item)
    if (batch.isFull) flush(stream)
  }
  for (const stream of waiting.keys()) flush(stream)
  return streams
}

export function storedMessage(message: Message): StoredMessage {
  return { id: message.id, body: encodeMessage(message) }
}

function startOf(head: Head, command: StartChild, runId: string): Outbound {
  const { name, input, digest, key, workflowId, attributes } = command
  const trace = traceForChild(head)
  const extras = encodeExtras({ ...command.extras, ...(attributes && { attributes }), trace })
  const { generation } = head
  // A retry keeps the idempotency keys of the generation it repeats, so that the signal is not sent again.
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
