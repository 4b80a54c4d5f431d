// The progress of a graph run, folded from its events alone: the states and results of its steps, and how the run ends
// if it fails or is cancelled. The same events give the same progress, in one piece or in several.

import { unreachable } from '../../base/assert.ts'
import { defined } from '../../base/defined.ts'
import type { Failure } from '../../base/failure.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import { TIMEOUT } from '../../definitions/context.ts'
import type { GraphScope } from '../../definitions/graph-plan.ts'
import type { RegisteredGraph } from '../../definitions/registry.ts'
import { encodePayload } from '../../kernel/codec.ts'
import { type HeardEvent, type HistoryEvent, isHeard, type Requested } from '../../kernel/event.ts'
import { INPUT_KEY } from '../../kernel/ids.ts'
import type { Head } from '../../kernel/run.ts'
import { Signals } from '../../kernel/signals.ts'
import { requestFailure } from '../errors.ts'
import { InputSchema } from '../input-schema.ts'
import { UnansweredUpdates } from '../interpreter.ts'
import { Definition } from './definition.ts'
import { type NodeKey, parseNodeKey } from './node-key.ts'
import { isEnd, type NodeState, Nodes } from './nodes.ts'
import { Undoing } from './undoing.ts'

/** The key of the event that says that the output of the graph could not be made. */
export const OUTPUT_KEY = 'output#1'

/** An event about one step of the graph. */
type NodeEvent = Extract<
  HeardEvent,
  {
    type:
      | Requested['type']
      | 'StepCompleted'
      | 'StepFailed'
      | 'TimerFired'
      | 'ChildCompleted'
      | 'ChildFailed'
      | 'StepSkipped'
      | 'StepRefused'
      | 'ListTaken'
  }
>

/** How a run ends that does not complete. */
type BadOutcome = { readonly failure: Failure } | { readonly cancelled: true; readonly reason?: string }

export class GraphProgress {
  readonly nodes: Nodes
  readonly definition: Definition
  readonly input: InputSchema
  readonly #signals = new Signals<NodeState | string, Payload>()
  /** Steps with a list of which some items have not begun. */
  readonly lists = new Set<NodeState>()
  /** Keys of steps whose undoing has ended, with its failure if it failed. */
  readonly undone = new Map<string, Failure | undefined>()
  /** The key of the undoing in progress. */
  undoingKey: string | undefined
  undoing: Undoing | undefined
  /** Undefined as long as the run may complete. */
  outcome: BadOutcome | undefined
  /** Keys of open requests that the next commands must cancel. */
  toCancel = new Set<string>()
  readonly updates = new UnansweredUpdates('graph')
  seq = 0

  constructor(graph: RegisteredGraph, head: Head, dependents: ReadonlyMap<string, readonly string[]>) {
    this.nodes = new Nodes(graph.plan, dependents)
    this.definition = new Definition(graph)
    this.input = new InputSchema(graph, head)
  }

  /** Must see all events before `read` gets the first. */
  prepare(events: readonly HistoryEvent[]): void {
    this.definition.prepare(events)
  }

  read(events: readonly HistoryEvent[]): void {
    for (const event of events) {
      this.seq = event.seq
      if (isHeard(event)) this.#fold(event)
    }
    for (const key of this.definition.takeOpen()) this.toCancel.add(key)
  }

  #fold(event: HeardEvent): void {
    switch (event.type) {
      case 'DefinitionTaken':
        this.input.begunWithout()
        return this.definition.take(event)
      case 'MigrationRequested':
        for (const name of this.definition.migrate(event)) this.#skip(name)
        for (const [name, round] of this.definition.usedRounds) this.nodes.skipRounds(name, round)
        return
      case 'SignalReceived': {
        const waiter = this.#signals.receive(event.name, event.payload, (each) =>
          typeof each === 'string' ? !this.definition.hasEnded(each) : !isEnd(each.status),
        )
        if (typeof waiter === 'string') this.definition.endRemoved(waiter)
        else if (waiter) this.#succeed(waiter, () => decode(event.payload))
        return
      }
      case 'UpdateReceived':
      case 'UpdateFailed':
        return this.updates.fold(event)
      case 'CancelRequested': {
        const { reason } = event
        if (!this.outcome) this.outcome = defined({ cancelled: true, reason })
        if (!this.undoing) this.nodes.stop(true)
        this.toCancel.clear()
        return
      }
      case 'CompensationBegan':
        this.beginUndoing().begun = true
        return
      case 'CalledOff':
        for (const key of event.keys) this.#cancelled(key)
        return
      case 'GenerationBegan':
        for (const key of event.again ?? []) this.#nextRound(key)
        return
      case 'StepStarted':
      case 'StepCompleted':
      case 'StepFailed':
      case 'TimerStarted':
      case 'TimerFired':
      case 'WaitStarted':
      case 'ChildStarted':
      case 'ChildCompleted':
      case 'ChildFailed':
      case 'StepSkipped':
      case 'StepRefused':
      case 'ListTaken':
        return this.#foldNode(event)
      // A graph makes no other requests, and no other event concerns it.
      case 'MessageSent':
      case 'AttributesSet':
      case 'StreamWritten':
      case 'TokenMade':
      case 'Patched':
      case 'CompensationEnded':
      case 'UpdateAccepted':
      case 'UpdateCompleted':
      case 'StateMoved':
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        return
      default:
        return unreachable(event)
    }
  }

  #foldNode(event: NodeEvent): void {
    const { key } = event
    if (key === INPUT_KEY) return this.input.fold(event, (failure) => this.fail(failure))
    if (key === OUTPUT_KEY && event.type === 'StepRefused') return this.fail(event.failure)
    const parsed = parseNodeKey(key)
    const name = parsed && this.definition.nameOf(key, parsed)
    const state = name === undefined ? undefined : this.nodes.get(name)
    if (!parsed || !state) return this.#foldRemoved(event, name)
    if (parsed.kind === 'undo') return this.#foldUndo(event, state)
    switch (event.type) {
      case 'StepStarted':
      case 'ChildStarted':
        return this.opened(state, key, parsed.index, event.input)
      case 'WaitStarted':
        return this.awaited(state, key, event.name)
      case 'TimerStarted':
        this.nodes.begin(state, 'delayed')
        state.open.add(key)
        return
      case 'TimerFired':
        if (parsed.kind === 'delay') return state.open.has(key) ? this.nodes.await(state) : undefined
        if (!this.#isEnd(state, key)) return
        this.#signals.forget(state)
        return this.#succeed(state, () => TIMEOUT)
      case 'StepCompleted':
      case 'ChildCompleted':
        return this.#completed(state, key, parsed.index, event.value)
      case 'StepFailed':
      case 'ChildFailed':
        if (state.open.delete(key)) this.failed(state, requestFailure(state.node.name, event))
        return
      case 'StepSkipped':
        return this.nodes.settle(state, 'skipped')
      case 'StepRefused':
        return this.failed(state, event.failure)
      case 'ListTaken':
        return this.listed(state, decode(event.items) as unknown[])
      default:
        return unreachable(event)
    }
  }

  #foldRemoved(event: NodeEvent, name: string | undefined): void {
    this.definition.foldRemoved(event, name)
    if (event.type === 'WaitStarted' && name !== undefined && this.#signals.await(event.name, name))
      this.definition.endRemoved(name)
  }

  #foldUndo(event: NodeEvent, state: NodeState): void {
    const { key, type } = event
    if (type === 'StepStarted') this.undoingKey = key
    if (type === 'StepRefused' && this.undoing) this.undone.set(key, event.failure)
    if (type !== 'StepCompleted' && type !== 'StepFailed') return
    this.undoingKey = undefined
    // An earlier generation undid the step, so it begins again.
    if (!this.undoing) {
      if (type === 'StepCompleted') this.nodes.undo(state)
      return
    }
    this.undone.set(key, type === 'StepFailed' ? requestFailure(`undo ${state.node.name}`, event) : undefined)
  }

  opened(state: NodeState, key: string, index: number | undefined, input?: Payload): void {
    this.nodes.begin(state)
    state.open.add(key)
    if (index !== undefined) state.items?.pending.delete(index)
    if (index !== undefined && input) state.items?.weights.set(key, encodePayload(input).length)
  }

  awaited(state: NodeState, key: string, signal: string): void {
    this.nodes.begin(state)
    state.open.add(key)
    const early = this.#signals.await(signal, state)
    if (early) this.#succeed(state, () => decode(early.signal))
  }

  #completed(state: NodeState, key: string, index: number | undefined, value: Payload): void {
    if (!this.#isEnd(state, key)) return
    const { items } = state
    if (!items || index === undefined) return this.#succeed(state, () => decode(value))
    items.results[index] = value
    items.weights.delete(key)
    items.ended++
    this.#endList(state)
  }

  // A request that was to be cancelled may have ended first.
  #isEnd(state: NodeState, key: string): boolean {
    return state.open.delete(key) || this.toCancel.delete(key)
  }

  listed(state: NodeState, list: readonly unknown[]): void {
    this.nodes.begin(state)
    const inputs = list.map((item) => encode(item, 'an item'))
    state.items = {
      inputs,
      results: new Array(inputs.length),
      pending: new Set(inputs.keys()),
      weights: new Map(),
      ended: 0,
    }
    this.lists.add(state)
    this.#endList(state)
  }

  #endList(state: NodeState): void {
    const { items } = state
    if (!items || items.ended < items.inputs.length) return
    this.#succeed(state, () => items.results.map((each) => each && decode(each)))
  }

  #succeed(state: NodeState, value: () => unknown): void {
    if (isEnd(state.status) && state.status !== 'stopped') return
    state.value = value
    // The step ended before it could be stopped: like every completed step, it is undone.
    if (state.status === 'stopped') this.nodes.completed.add(state)
    else this.nodes.settle(state, 'succeeded')
  }

  failed(state: NodeState, failure: Failure): void {
    if (isEnd(state.status)) return
    // The failure of one item cancels the others.
    for (const key of state.open) this.toCancel.add(key)
    this.nodes.settle(state, 'failed')
    this.fail(failure)
  }

  fail(failure: Failure): void {
    this.outcome ??= { failure }
    if (this.nodes.failing) return
    for (const key of this.nodes.stop(false)) this.toCancel.add(key)
  }

  // A step that is still open was cancelled in an earlier generation: it begins again.
  #cancelled(key: string): void {
    this.toCancel.delete(key)
    const parsed = parseNodeKey(key)
    const state = parsed && this.stateOf(key, parsed)
    if (!state?.open.delete(key)) return
    if (parsed?.index !== undefined && state.items) {
      state.items.pending.add(parsed.index)
      this.lists.add(state)
      return
    }
    this.#signals.forget(state)
    this.nodes.await(state)
  }

  // An earlier generation ran the step after its failure. It runs for another reason now, so it gets another key.
  #nextRound(key: string): void {
    const parsed = parseNodeKey(key)
    const state = parsed && this.stateOf(key, parsed)
    if (state) state.round = Math.max(state.round, parsed.round + 1)
  }

  #skip(name: string): void {
    const state = this.nodes.get(name)
    if (!state || isEnd(state.status)) return
    for (const key of state.open) this.toCancel.add(key)
    this.nodes.settle(state, 'skipped')
  }

  beginUndoing(): Undoing {
    this.undoing ??= new Undoing(this.nodes, this.undone)
    return this.undoing
  }

  scopeOf(state: NodeState, index?: number): GraphScope {
    const item = index === undefined ? undefined : state.items?.inputs[index]
    const own = item && index !== undefined ? { item: decode(item), index } : {}
    const scope = { input: undefined, results: this.results(state.node.sees), ...own }
    lazyProperty(scope, 'input', () => this.input.value())
    return scope
  }

  undoScope(state: NodeState): GraphScope & { readonly result: unknown } {
    return { ...this.scopeOf(state), result: state.value?.() }
  }

  results(names: Iterable<string>): Readonly<Record<string, unknown>> {
    const results = {}
    for (const name of names) {
      const state = this.nodes.get(name)
      if (state?.status !== 'succeeded') continue
      const { value } = state
      lazyProperty(results, name, () => value?.())
    }
    return results
  }

  stateOf(key: string, parsed: NodeKey): NodeState | undefined {
    return this.nodes.get(this.definition.nameOf(key, parsed))
  }
}

// Properties that are computed when they are first read. Each step gets its own copy of what it can see, because it may
// change it, and only of what it reads, because thousands of steps may see the same large value.

/** Defines a property that is computed at the first read, and is a plain property from then on. */
export function lazyProperty(target: object, name: string, make: () => unknown): void {
  const define = (value: unknown): void =>
    void Object.defineProperty(target, name, { ...ORDINARY, value, writable: true })
  Object.defineProperty(target, name, {
    ...ORDINARY,
    get: () => {
      const value = make()
      define(value)
      return value
    },
    set: define,
  })
}

const ORDINARY = { enumerable: true, configurable: true } as const
