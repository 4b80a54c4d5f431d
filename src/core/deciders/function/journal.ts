// The journal: the history of a run, indexed for replay. It knows which requests were recorded, which of them are
// settled, and which settlement comes next. It delivers the lowest-numbered settlement whose request is open, one at a
// time. Live execution and replay use the same rule; that is why `Promise.all` and `race` replay identically.
import { assert, unreachable } from '../../base/assert.ts'
import type { ContinueRun } from '../../kernel/command.ts'
import type {
  AttributesSet,
  Compensated,
  HeardEvent,
  Requested,
  Resolution,
  Sent,
  StreamWritten,
} from '../../kernel/event.ts'
import { MinHeap } from './heap.ts'

/** A request as the history has it. */
export type RecordedRequest = (Requested | Sent | AttributesSet | StreamWritten | Compensated) & {
  readonly seq: number
}
/** An event that settles a request, starts a handler, or cancels the run. */
export type Settlement = (Resolution | Sent | AttributesSet | StreamWritten | Compensated) & {
  readonly seq: number
  readonly at: number
}

/** What delivery needs to know of an open request. */
export interface Waiter {
  readonly key: string
  /** The name of the signal that it waits for. */
  readonly signal?: string
}

export class Journal {
  /** Recorded requests that the replayed code has not made yet. */
  readonly unrequested = new Map<string, RecordedRequest>()
  /** How often each kind and name is recorded in a scope. */
  readonly #occurrences = new Map<string, number>()
  /** Keys that the history has as cancelled, until the replayed code cancels them. */
  readonly cancelled = new Set<string>()
  readonly patches = new Set<string>()
  /** Keys that an earlier generation requested and did not see settled: known steps, although they are not recorded. */
  readonly again = new Set<string>()
  /** The code need not request again what was recorded from this event on. */
  looseFrom = Number.POSITIVE_INFINITY
  /** Tokens by the keys of their webhooks. */
  readonly tokens = new Map<string, string>()
  /** Ids of updates: accepted by their validator, refused by it, and answered. */
  readonly accepted = new Set<string>()
  readonly rejected = new Set<string>()
  readonly answered = new Set<string>()
  /** Channels whose messages a handler gets. */
  readonly #handled = new Set<string>()
  readonly #settlements = new Map<number, Settlement>()
  readonly #seqByKey = new Map<string, number>()
  readonly #open = new Map<string, Waiter>()
  #messages: Map<string, number[]> | undefined
  /** Open waits by channel, oldest first; recorded ones come before new ones. */
  #waits: Map<string, string[]> | undefined
  readonly #deliverable = new MinHeap()

  add(event: HeardEvent): void {
    switch (event.type) {
      case 'StepStarted':
      case 'TimerStarted':
      case 'WaitStarted':
      case 'ChildStarted':
        return this.#record(event)
      case 'MessageSent':
      case 'AttributesSet':
      case 'StreamWritten':
      case 'CompensationBegan':
      case 'CompensationEnded':
        // These events both record a request and settle it.
        this.#record(event)
        return this.#settle(event)
      case 'SignalReceived':
      case 'UpdateReceived':
        return this.#receive(event)
      case 'UpdateAccepted':
        this.accepted.add(event.id)
        return
      case 'UpdateFailed':
        if (event.rejected) this.rejected.add(event.id)
        this.answered.add(event.id)
        return
      case 'UpdateCompleted':
        this.answered.add(event.id)
        return
      case 'CancelRequested':
        this.#settlements.set(event.seq, event)
        this.#deliverable.push(event.seq)
        return
      case 'StepCompleted':
      case 'StepFailed':
      case 'TimerFired':
      case 'ChildCompleted':
      case 'ChildFailed':
        return this.#settle(event)
      case 'CalledOff':
        for (const key of event.keys) this.cancelled.add(key)
        return
      case 'Patched':
        this.patches.add(event.id)
        return
      case 'TokenMade':
        this.tokens.set(event.key, event.token)
        return
      case 'GenerationBegan':
        for (const key of event.again ?? []) this.again.add(key)
        this.looseFrom = event.looseFrom ?? this.looseFrom
        return
      // Decisions of graphs and machines, and events that the code of a function does not hear of.
      case 'MigrationRequested':
      case 'DefinitionTaken':
      case 'StepSkipped':
      case 'StepRefused':
      case 'ListTaken':
      case 'StateMoved':
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        return
      default:
        return unreachable(event)
    }
  }

  #record(event: RecordedRequest): void {
    this.unrequested.set(event.key, event)
    this.#occurrences.set(nameOf(event.key), this.occurrences(event.key) + 1)
  }

  #receive(event: MessageSettlement): void {
    const channel = channelOf(event)
    this.#settlements.set(event.seq, event)
    this.#messages = push(this.#messages, channel, event.seq)
    if (this.#isAwaited(channel)) this.#deliverable.push(event.seq)
  }

  #settle(event: Extract<Settlement, { key: string }>): void {
    this.#settlements.set(event.seq, event)
    this.#seqByKey.set(event.key, event.seq)
    if (this.#open.has(event.key)) this.#deliverable.push(event.seq)
  }

  occurrences(key: string): number {
    return this.#occurrences.get(nameOf(key)) ?? 0
  }

  /** Opens a request of the code. Returns what is recorded under its key. */
  request(waiter: Waiter): RecordedRequest | undefined {
    const { key, signal } = waiter
    const recorded = this.unrequested.get(key)
    this.unrequested.delete(key)
    this.#open.set(key, waiter)
    const settled = this.#seqByKey.get(key)
    if (settled !== undefined) this.#deliverable.push(settled)
    if (signal !== undefined) this.#wait(key, `signal:${signal}`)
    return recorded
  }

  /** Closes the request, if it is open. */
  forget(key: string): void {
    const waiter = this.#open.get(key)
    if (!waiter) return
    this.#open.delete(key)
    if (waiter.signal === undefined) return
    const waits = this.#waits?.get(`signal:${waiter.signal}`)
    waits?.splice(waits.indexOf(key), 1)
  }

  /** The next settlement to deliver, and the key it settles, if it settles one. */
  next(): { readonly settlement: Settlement; readonly key?: string } | undefined {
    for (;;) {
      const seq = this.#deliverable.pop()
      if (seq === undefined) return undefined
      const settlement = this.#settlements.get(seq)
      if (!settlement) continue
      if (settlement.type === 'CancelRequested') return this.#take(settlement, undefined)
      if (isMessage(settlement) && this.#handled.has(channelOf(settlement))) {
        return this.#take(settlement, undefined)
      }
      const key = isMessage(settlement) ? this.#waits?.get(channelOf(settlement))?.[0] : settlement.key
      // A signal whose wait has timed out stays queued for the next wait.
      if (key === undefined || !this.#open.has(key)) continue
      return this.#take(settlement, key)
    }
  }

  #take(settlement: Settlement, key: string | undefined): { settlement: Settlement; key?: string } {
    this.#settlements.delete(settlement.seq)
    if (key !== undefined) {
      this.#seqByKey.delete(key)
      this.forget(key)
    }
    if (isMessage(settlement)) {
      const channel = channelOf(settlement)
      const queue = this.#messages?.get(channel)
      assert(queue?.shift() === settlement.seq, 'messages are taken in order')
      this.#offerNext(channel)
    }
    return key === undefined ? { settlement } : { settlement, key }
  }

  /** Messages and a cancellation that the code has not seen, in the order of their arrival. */
  get unread(): ContinueRun['carried'] {
    return [...this.#settlements.values()]
      .filter((each) => isMessage(each) || each.type === 'CancelRequested')
      .sort((a, b) => a.seq - b.seq)
      .map(({ seq: _, at: __, ...message }) => message)
  }

  /** From now on a handler gets the messages of this channel, including those that arrived earlier. */
  handle(channel: string): void {
    this.#handled.add(channel)
    this.#offerNext(channel)
  }

  isHandled(channel: string): boolean {
    return this.#handled.has(channel)
  }

  hasWaits(channel: string): boolean {
    return (this.#waits?.get(channel)?.length ?? 0) > 0
  }

  #wait(key: string, channel: string): void {
    this.#waits = push(this.#waits, channel, key)
    this.#offerNext(channel)
  }

  #offerNext(channel: string): void {
    const seq = this.#messages?.get(channel)?.[0]
    if (seq !== undefined && this.#isAwaited(channel)) this.#deliverable.push(seq)
  }

  #isAwaited(channel: string): boolean {
    return this.isHandled(channel) || this.hasWaits(channel)
  }
}

interface MessageType {
  readonly type: 'SignalReceived' | 'UpdateReceived'
}
type MessageSettlement = Extract<Settlement, MessageType>

export function isMessage(settlement: Settlement): settlement is MessageSettlement {
  return settlement.type === 'SignalReceived' || settlement.type === 'UpdateReceived'
}

/** Messages of one channel, that is of one kind and name, are taken in order. */
export function channelOf({ type, name }: Pick<MessageSettlement, 'type' | 'name'>): string {
  return `${type === 'SignalReceived' ? 'signal' : 'update'}:${name}`
}

/** The part of a key that counts occurrences: everything before `#n`. */
function nameOf(key: string): string {
  const hash = key.lastIndexOf('#')
  return hash < 0 ? key : key.slice(0, hash)
}

// Most runs wait for no signal at all, so the map is made when the first one arrives.
function push<T>(lists: Map<string, T[]> | undefined, name: string, item: T): Map<string, T[]> {
  const made = lists ?? new Map<string, T[]>()
  const list = made.get(name)
  if (list) list.push(item)
  else made.set(name, [item])
  return made
}
