// What history says about a run, indexed for replay: which requests were recorded, which of them are settled,
// and which settlement comes next. It delivers the lowest-numbered settlement whose request is open, one at a
// time, and does so live and in replay alike: that is why `Promise.all` and `race` come out the same.
import { assert } from '../../kernel/assert.ts'
import type { HistoryEvent, Requested, Resolution } from '../../kernel/event.ts'
import { MinHeap } from './heap.ts'

export type Recorded = Requested & { readonly seq: number }
export type Settlement = Resolution & { readonly seq: number; readonly at: number }

/** A request that is open, as far as delivery is concerned. */
export interface Waiter {
  readonly key: string
  /** The name of the signal it waits for, if it does. */
  readonly signal?: string
}

export class Journal {
  /** Recorded requests the code has not made again yet. */
  readonly unrequested = new Map<string, Recorded>()
  /** How often each kind and name was recorded in a scope. */
  readonly #occurrences = new Map<string, number>()
  /** What the code let go of, and the patches it took. */
  readonly calledOff = new Set<string>()
  readonly patches = new Set<string>()
  readonly #settlements = new Map<number, Settlement>()
  readonly #seqByKey = new Map<string, number>()
  readonly #open = new Map<string, Waiter>()
  #signals: Map<string, number[]> | undefined
  /** Open waits by signal, oldest first; recorded ones come before new ones. */
  #waits: Map<string, string[]> | undefined
  readonly #deliverable = new MinHeap()

  add(event: HistoryEvent): void {
    switch (event.type) {
      case 'StepStarted':
      case 'TimerStarted':
      case 'WaitStarted':
      case 'ChildStarted':
        this.unrequested.set(event.key, event)
        this.#occurrences.set(nameOf(event.key), this.occurrences(event.key) + 1)
        return
      case 'SignalReceived':
        this.#settlements.set(event.seq, event)
        this.#signals = push(this.#signals, event.name, event.seq)
        if (this.#waits?.get(event.name)?.length) this.#deliverable.push(event.seq)
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
        this.#settlements.set(event.seq, event)
        this.#seqByKey.set(event.key, event.seq)
        if (this.#open.has(event.key)) this.#deliverable.push(event.seq)
        return
      case 'CalledOff':
        for (const key of event.keys) this.calledOff.add(key)
        return
      case 'Patched':
        this.patches.add(event.id)
        return
      case 'StepRetried':
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        return
    }
  }

  occurrences(key: string): number {
    return this.#occurrences.get(nameOf(key)) ?? 0
  }

  /** The code asks for `key`. Answers what was recorded about it, if anything. */
  request(waiter: Waiter): Recorded | undefined {
    const { key, signal } = waiter
    const recorded = this.unrequested.get(key)
    this.unrequested.delete(key)
    this.#open.set(key, waiter)
    const settled = this.#seqByKey.get(key)
    if (settled !== undefined) this.#deliverable.push(settled)
    if (signal !== undefined) this.#wait(key, signal)
    return recorded
  }

  /** Nobody waits for this key any more. */
  forget(key: string): void {
    const waiter = this.#open.get(key)
    if (!waiter) return
    this.#open.delete(key)
    if (waiter.signal === undefined) return
    const waits = this.#waits?.get(waiter.signal)
    waits?.splice(waits.indexOf(key), 1)
  }

  /** The next settlement to deliver, and the key it settles; none for a cancellation. */
  next(): { readonly settlement: Settlement; readonly key?: string } | undefined {
    for (;;) {
      const seq = this.#deliverable.pop()
      if (seq === undefined) return undefined
      const settlement = this.#settlements.get(seq)
      if (!settlement) continue
      if (settlement.type === 'CancelRequested') return this.#take(settlement, undefined)
      const key =
        settlement.type === 'SignalReceived'
          ? this.#waits?.get(settlement.name)?.[0]
          : settlement.key
      // A signal whose wait timed out stays queued for the next one.
      if (key === undefined || !this.#open.has(key)) continue
      return this.#take(settlement, key)
    }
  }

  #take(settlement: Settlement, key: string | undefined): { settlement: Settlement; key?: string } {
    this.#settlements.delete(settlement.seq)
    if (key === undefined) return { settlement }
    this.#seqByKey.delete(key)
    this.forget(key)
    if (settlement.type === 'SignalReceived') {
      const queue = this.#signals?.get(settlement.name)
      assert(queue?.shift() === settlement.seq, 'signals are taken in order')
      this.#offerNext(settlement.name)
    }
    return { settlement, key }
  }

  #wait(key: string, signal: string): void {
    this.#waits = push(this.#waits, signal, key)
    this.#offerNext(signal)
  }

  #offerNext(signal: string): void {
    const seq = this.#signals?.get(signal)?.[0]
    if (seq !== undefined && this.#waits?.get(signal)?.length) this.#deliverable.push(seq)
  }
}

/** The part of a key that counts occurrences: everything before `#n`. */
function nameOf(key: string): string {
  const hash = key.lastIndexOf('#')
  return hash < 0 ? key : key.slice(0, hash)
}

// Most runs wait for no signal at all, so the lists are made when the first comes.
function push<T>(lists: Map<string, T[]> | undefined, name: string, item: T): Map<string, T[]> {
  const made = lists ?? new Map<string, T[]>()
  const list = made.get(name)
  if (list) list.push(item)
  else made.set(name, [item])
  return made
}
