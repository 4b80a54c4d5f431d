// Where the steps of a graph stand after a part of its history, worked out from the first event each time.

import { decode } from '../../src/core/base/value.ts'
import { parseNodeKey } from '../../src/core/deciders/graph/node-key.ts'
import type { Event } from '../../src/core/kernel/event.ts'
import { TIMEOUT } from '../../src/index.ts'
import { type Ended, endIn, type Standing, verdictOf } from './graph-reference.ts'
import type { GraphSpec } from './random-graphs.ts'

const RULED = { run: 'ready', skip: 'skipped', wait: 'waiting' } as const

/** What a part of a history says, in its own words. */
export class Told {
  /** What is known of steps, without what follows from the rules. */
  readonly known = new Map<string, 'begun' | Ended>()
  /** What is recorded of steps that are done, in the order they were done; also of those that were to be stopped by then. */
  readonly done = new Map<string, unknown>()
  /** Keys under which something is open. */
  readonly open = new Set<string>()
  /** Steps whose delay is over. */
  readonly delayed = new Set<string>()
  cancelled = false
  failing = false
  compensating = false
  readonly #spec: GraphSpec
  readonly #lists = new Map<string, { items: number[]; results: unknown[]; ended: number }>()
  readonly #waiting: { readonly signal: string; readonly key: string }[] = []
  readonly #signals = new Map<string, unknown[]>()

  constructor(spec: GraphSpec, events: readonly Event[]) {
    this.#spec = spec
    for (const event of events) this.#tell(event)
  }

  /** Each step, with what follows from the rules. */
  standing(): ReadonlyMap<string, Standing> {
    const standing = new Map<string, Standing>()
    const ends = new Map<string, Ended>()
    const afterTrouble = new Set<string>()
    for (const { name, after, rule } of this.#spec.steps) {
      const parents = after.map((parent) => ends.get(parent))
      const isAfter = (parent: string): boolean => afterTrouble.has(parent)
      if (parents.includes('failed') || parents.includes('stopped') || after.some(isAfter)) afterTrouble.add(name)
      // Nothing begins any more but what comes, at whatever distance, after a step that failed or was stopped.
      const isLost = this.cancelled || (this.failing && !afterTrouble.has(name))
      const now = this.known.get(name) ?? (isLost ? 'skipped' : RULED[verdictOf(rule, parents)])
      standing.set(name, now)
      const end = endIn(now)
      if (end) ends.set(name, end)
    }
    return standing
  }

  /** The list a step is done for, as it was written down. */
  itemsOf(name: string): readonly number[] {
    return this.#lists.get(name)?.items ?? []
  }

  #tell(event: Event): void {
    switch (event.type) {
      case 'SignalReceived':
        return this.#signal(event.name, decode(event.payload))
      case 'CancelRequested':
        this.cancelled = true
        this.open.clear()
        return this.#trouble()
      case 'CompensationBegan':
        this.compensating = true
        return
      case 'CalledOff':
        for (const key of event.keys) this.open.delete(key)
        return
      default:
        if ('key' in event) this.#tellOf(event, parseNodeKey(event.key))
    }
  }

  #tellOf(event: Extract<Event, { key: string }>, key: ReturnType<typeof parseNodeKey>): void {
    if (event.type === 'StepRefused') {
      if (key) this.known.set(key.name, 'failed')
      return this.#trouble()
    }
    if (!key) return
    if (key.kind === 'undo') return this.#undo(event.type, key.name)
    switch (event.type) {
      case 'TimerStarted':
      case 'StepStarted':
      case 'ChildStarted':
        return this.#begin(key.name, event.key)
      case 'WaitStarted':
        this.#begin(key.name, event.key)
        this.#waiting.push({ signal: event.name, key: event.key })
        return this.#match(event.name)
      case 'ListTaken': {
        const items = decode(event.items) as number[]
        this.#lists.set(key.name, { items, results: items.map(() => undefined), ended: 0 })
        this.known.set(key.name, 'begun')
        return items.length === 0 ? this.#succeed(key.name, []) : undefined
      }
      case 'StepSkipped':
        this.known.set(key.name, 'skipped')
        return
      case 'TimerFired':
        return this.#fired(key.kind, key.name, event.key)
      case 'StepCompleted':
      case 'ChildCompleted':
        return this.#completed(key.name, event.key, key.index, decode(event.value))
      case 'StepFailed':
      case 'ChildFailed':
        this.open.delete(event.key)
        if (this.known.get(key.name) === 'begun') this.known.set(key.name, 'failed')
        return this.#trouble()
      default:
    }
  }

  #begin(name: string, key: string): void {
    this.open.add(key)
    this.known.set(name, 'begun')
  }

  // Its end in an earlier generation: it is as if it had never begun.
  #undo(type: Event['type'], name: string): void {
    if (this.compensating || type !== 'StepCompleted') return
    for (const map of [this.known, this.done, this.#lists]) map.delete(name)
    this.delayed.delete(name)
  }

  #fired(kind: string, name: string, key: string): void {
    if (!this.open.delete(key)) return
    if (kind !== 'delay') {
      const at = this.#waiting.findIndex((each) => each.key === key)
      this.#waiting.splice(at, 1)
      return this.#succeed(name, TIMEOUT)
    }
    this.delayed.add(name)
    if (this.known.get(name) === 'begun') this.known.delete(name)
  }

  #completed(name: string, key: string, index: number | undefined, value: unknown): void {
    this.open.delete(key)
    const list = this.#lists.get(name)
    if (index === undefined || !list) return this.#succeed(name, value)
    list.results[index] = value
    list.ended++
    if (list.ended === list.items.length) this.#succeed(name, list.results)
  }

  #succeed(name: string, value: unknown): void {
    this.done.set(name, value)
    if (this.known.get(name) === 'begun') this.known.set(name, 'succeeded')
  }

  // First come, first served, on both sides.
  #signal(name: string, payload: unknown): void {
    this.#signals.set(name, [...(this.#signals.get(name) ?? []), payload])
    this.#match(name)
  }

  #match(name: string): void {
    const at = this.#waiting.findIndex(({ signal, key }) => signal === name && this.open.has(key))
    const waiter = this.#waiting[at]
    const [payload, ...rest] = this.#signals.get(name) ?? []
    const step = waiter && parseNodeKey(waiter.key)?.name
    if (!waiter || step === undefined || payload === undefined) return
    // To be stopped already: it is cancelled in this very turn, and the signal stays.
    if (this.known.get(step) !== 'begun') return
    this.#signals.set(name, rest)
    this.#waiting.splice(at, 1)
    this.open.delete(waiter.key)
    this.#succeed(step, payload)
  }

  #trouble(): void {
    if (!this.failing || this.cancelled)
      for (const [name, known] of this.known) if (known === 'begun') this.known.set(name, 'stopped')
    this.failing = true
  }
}
