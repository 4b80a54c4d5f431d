// Group commit: wraps a store so that single calls travel in batches. An element that the store refuses is found by
// halving, and refused alone. Any other error says nothing about the elements, so all callers of the batch get it and
// send again.

import { limits } from '../../core/base/limits.ts'
import { isRefused, isUnavailable, outageOf, unavailable } from '../../core/runtime/availability.ts'
import {
  type Around,
  type AttributeChanges,
  batchOf,
  bodies,
  type Committed,
  type Hint,
  type NewRun,
  type Post,
  Pump,
  RowsLocked,
  type Store,
  type StreamBatch,
  type TaskOutcome,
  type TurnCommit,
  wrapped,
} from '../../core/stores/driver.ts'
import { Apart } from './apart.ts'
import { checkRecord } from './record-checks.ts'

/** `breathe` lets the process run: callers that were just answered get to make their next call. */
export function coalesced(store: Store, breathe: () => Promise<void> = async () => {}): Store {
  const lanes = Array.from({ length: store.traits.lanes }, () => commitLane(store, breathe))
  const create = new Lane(
    (runs) => store.create(runs),
    weightOfRun,
    (run: NewRun) => run.workflowId,
    breathe,
  )
  const post = new Lane(
    (posts) => store.post(posts),
    weightOfPost,
    (each: Post) => each.runId,
    breathe,
  )
  const settle = new Lane(
    (outcomes) => store.settle(outcomes),
    weightOfOutcome,
    (each: TaskOutcome) => each.taskId,
    breathe,
  )
  const append = new Lane(
    (batches) => store.append(batches),
    weightOfBatch,
    (each: StreamBatch) => each.runId,
    breathe,
  )
  const listeners = new Set<(hint: Hint) => void>()
  const streamed = (runId: string): void => {
    for (const listener of listeners) listener({ type: 'streamed', runId })
  }
  return wrapped(store, explained, {
    create: (runs) => Promise.all(runs.map((run) => create.add(run))),
    post: (posts) => Promise.all(posts.map((each) => post.add(each))),
    settle: (outcomes) => Promise.all(outcomes.map((each) => settle.add(each))),
    append: (batches) =>
      Promise.all(
        batches.map(async (each) => {
          const appended = await append.add(each)
          streamed(each.runId)
          return appended
        }),
      ),
    // Few and small, so each call travels alone. What no store takes is not sent.
    records: async (operations) => {
      for (const operation of operations) checkRecord(operation)
      return store.records(operations).catch((error: unknown) => {
        throw outageOf(error)
      })
    },
    // The turns of one run stay in one lane, so they cannot overtake each other.
    commit: (turns) =>
      Promise.all(
        turns.map((turn) => {
          const committed = laneOf(lanes, turn.runId).add(turn)
          if (turn.streams) void committed.then(() => streamed(turn.runId)).catch(() => {})
          return committed
        }),
      ),
    // Only readers in this process hear of streams: for all others, a hint for each batch would cost more than it saves.
    wake: (listener) => {
      listeners.add(listener)
      const stop = store.wake(listener)
      return () => {
        listeners.delete(listener)
        stop()
      }
    },
  })
}

/** An error that a store throws without an explanation means that it is unavailable. */
const explained: Around =
  (_method, call) =>
  async (...args) => {
    try {
      return await call(...args)
    } catch (error) {
      throw outageOf(error)
    }
  }

interface Waiting<In, Out> {
  readonly item: In
  readonly bytes: number
  readonly resolve: (out: Out) => void
  readonly reject: (error: unknown) => void
}

const BOUNDS = {
  elements: limits.batchElements,
  bytes: limits.batchBytes,
  bytesOf: ({ bytes }: { readonly bytes: number }) => bytes,
}

class Lane<In, Out> {
  readonly #waiting: Waiting<In, Out>[] = []
  readonly #pump: Pump
  readonly #send: (items: In[]) => Promise<readonly Out[]>
  readonly #bytes: (item: In) => number
  readonly #key: (item: In) => string
  readonly #apart: Apart<Waiting<In, Out>>
  readonly #breathe: () => Promise<void>
  readonly #refused: (error: unknown) => Out

  constructor(
    send: (items: In[]) => Promise<readonly Out[]>,
    bytes: (item: In) => number,
    key: (item: In) => string,
    breathe: () => Promise<void>,
    refused: (error: unknown) => Out = (error) => {
      throw error
    },
  ) {
    this.#send = send
    this.#bytes = bytes
    this.#key = key
    this.#apart = new Apart({
      key: ({ item }) => key(item),
      send: async (each) => each.resolve((await this.#send([each.item]))[0] as Out),
      fail: (each, error) => void this.#fail([each], error),
    })
    this.#breathe = breathe
    this.#refused = refused
    this.#pump = new Pump({ hasWork: () => this.#waiting.length > 0, step: () => this.#step() })
  }

  add(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      const each = { item, bytes: this.#bytes(item), resolve, reject }
      // Nothing overtakes an element that waits for a locked row.
      if (this.#apart.has(this.#key(item))) return this.#apart.add(each)
      this.#waiting.push(each)
      this.#pump.start()
    })
  }

  async #step(): Promise<void> {
    await this.#flush(this.#waiting.splice(0, batchOf(this.#waiting, BOUNDS)))
    // A caller that was answered and continues at once comes along, instead of missing every other batch.
    if (this.#waiting.length > 0) await this.#breathe()
  }

  async #flush(batch: Waiting<In, Out>[]): Promise<void> {
    try {
      const outs = await this.#send(batch.map((each) => each.item))
      for (const [index, each] of batch.entries()) each.resolve(outs[index] as Out)
    } catch (error) {
      if (error instanceof RowsLocked) await this.#part(batch, error)
      else await this.#fail(batch, error)
    }
  }

  async #fail(batch: Waiting<In, Out>[], error: unknown): Promise<void> {
    const known = outageOf(error)
    if (isUnavailable(known)) for (const each of batch) each.reject(known)
    else await this.#bisect(batch, known)
  }

  /** Elements whose rows are locked wait alone. If the store does not know which they are, halving finds them. */
  async #part(batch: Waiting<In, Out>[], { which }: RowsLocked): Promise<void> {
    if (which.size === 0 && batch.length > 1) return this.#halve(batch)
    const free: Waiting<In, Out>[] = []
    for (const [index, each] of batch.entries()) {
      if (batch.length === 1 || which.has(index)) this.#apart.add(each)
      else free.push(each)
    }
    if (free.length > 0) await this.#flush(free)
  }

  async #bisect(batch: Waiting<In, Out>[], error: unknown): Promise<void> {
    const [only, ...others] = batch
    if (only && others.length === 0) {
      try {
        only.resolve(this.#refused(error))
      } catch (refusal) {
        only.reject(refusal)
      }
      return
    }
    await this.#halve(batch)
  }

  async #halve(batch: Waiting<In, Out>[]): Promise<void> {
    const middle = batch.length >> 1
    await this.#flush(batch.slice(0, middle))
    await this.#flush(batch.slice(middle))
  }
}

function commitLane(store: Store, breathe: () => Promise<void>): Lane<TurnCommit, Committed> {
  return new Lane(
    (turns: TurnCommit[]) => store.commit(turns),
    weightOfTurn,
    (turn) => turn.runId,
    breathe,
    (error) => {
      // Only a turn that the store refuses may end a run.
      if (!isRefused(error)) throw unavailable('the store failed', error)
      return { outcome: 'rejected', reason: String(error) }
    },
  )
}

function laneOf<T>(lanes: readonly T[], runId: string): T {
  const index = Number.parseInt(runId.slice(-4), 16) % lanes.length
  return lanes[Number.isNaN(index) ? 0 : index] as T
}

// How many bytes an element of a batch takes, near enough to bound batches by it.

/** For ids, names, numbers, and the text around them. */
const EACH_BYTES = 256
const ID_BYTES = 64

export function weightOfRun(run: NewRun): number {
  return bodiesIn(run, bodies.inNewRun) + EACH_BYTES + weightOfAttributes(run.attributes)
}

export function weightOfPost(post: Post): number {
  return bodiesIn(post, bodies.inPost) + EACH_BYTES
}

export function weightOfOutcome(outcome: TaskOutcome): number {
  return bodiesIn(outcome, bodies.inOutcome) + EACH_BYTES
}

export function weightOfBatch(batch: StreamBatch): number {
  return bodiesIn(batch, bodies.inBatch) + EACH_BYTES
}

export function weightOfTurn(turn: TurnCommit): number {
  const { consumed, outbox, tasks, dropped, next, attributes } = turn
  const left = next.type === 'pause' ? (next.left ?? []) : []
  const ids = consumed.length + dropped.length + left.length
  let bytes = bodiesIn(turn, bodies.inTurn) + EACH_BYTES * (1 + outbox.length + tasks.length)
  for (const item of outbox) {
    if (item.type === 'start') bytes += weightOfAttributes(item.run.attributes)
  }
  return bytes + ids * ID_BYTES + weightOfAttributes(attributes)
}

function bodiesIn<T>(value: T, walk: (value: T, change: bodies.Change) => T): number {
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
