// How many bytes an element of a batch takes, near enough to bound batches by it.
import { type Change, inNewRun, inOutcome, inPost, inTurn } from './bodies.ts'
import type { AttributeChanges, NewRun, Post, TaskOutcome, TurnCommit } from './store.ts'

/** For ids, names, numbers, and the text around them. */
const EACH_BYTES = 256
const ID_BYTES = 64

export function weightOfRun(run: NewRun): number {
  return bodiesIn(run, inNewRun) + EACH_BYTES + weightOfAttributes(run.attributes)
}

export function weightOfPost(post: Post): number {
  return bodiesIn(post, inPost) + EACH_BYTES
}

export function weightOfOutcome(outcome: TaskOutcome): number {
  return bodiesIn(outcome, inOutcome) + EACH_BYTES
}

export function weightOfTurn(turn: TurnCommit): number {
  const { consumed, outbox, tasks, dropped, next, attributes } = turn
  const left = next.type === 'pause' ? (next.left ?? []) : []
  const ids = consumed.length + dropped.length + left.length
  let bytes = bodiesIn(turn, inTurn) + EACH_BYTES * (1 + outbox.length + tasks.length)
  for (const item of outbox) {
    if (item.type === 'start') bytes += weightOfAttributes(item.run.attributes)
  }
  return bytes + ids * ID_BYTES + weightOfAttributes(attributes)
}

function bodiesIn<T>(value: T, walk: (value: T, change: Change) => T): number {
  let bytes = 0
  walk(value, (text) => {
    bytes += Buffer.byteLength(text)
    return text
  })
  return bytes
}

function weightOfAttributes(attributes: AttributeChanges | undefined): number {
  return attributes === undefined ? 0 : Buffer.byteLength(JSON.stringify(attributes))
}
