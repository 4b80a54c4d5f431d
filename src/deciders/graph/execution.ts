// One run of a graph. Events move its steps; what may begin then is asked for. Whatever code of the graph decided
// (conditions, lists, inputs) is in the history, so the code may change while the run is under way.
import { TIMEOUT } from '../../definitions/context.ts'
import type { GraphPlan, GraphScope } from '../../definitions/graph-plan.ts'
import type { RegisteredGraph } from '../../definitions/registry.ts'
import type { AwaitSignal, Command } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import { ActivityError, PawlError, RunError } from '../../kernel/errors.ts'
import type { Decision, HistoryEvent, Instant } from '../../kernel/event.ts'
import { errorOf, type Failure, failureOf } from '../../kernel/failure.ts'
import { INPUT_KEY } from '../../kernel/key.ts'
import { limits } from '../../kernel/limits.ts'
import type { Head } from '../../kernel/run.ts'
import { decode, encode, type Payload } from '../../kernel/value.ts'
import { Interpreter, refuseUpdate, unknownQuery } from '../interpreter.ts'
import { Definition } from './definition.ts'
import { InputSchema } from './input-schema.ts'
import { type KeyKind, nodeKey, parseNodeKey } from './keys.ts'
import { isEnd, type NodeState, Nodes } from './nodes.ts'
import { Signals } from './signals.ts'
import { Undoing, undoKey } from './undoing.ts'
import { type ActivityOf, undoAsk, undoPlan, workAsk, workPlan } from './work.ts'

/** The key under which it is recorded that a graph's output could not be made. */
const OUTPUT_KEY = 'output#1'

/** Why the run does not come to a good end. */
type Doom = { readonly failure: Failure } | { readonly cancelled: true; readonly reason?: string }

export class GraphExecution extends Interpreter {
  readonly #plan: GraphPlan
  readonly #activities: ActivityOf
  readonly #nodes: Nodes
  readonly #definition: Definition
  readonly #input: InputSchema
  readonly #signals = new Signals<NodeState | string>()
  /** Steps with a list that is not begun to its end. */
  readonly #lists = new Set<NodeState>()
  readonly #plans = new Map<string, StepPlan>()
  /** Undoings that have ended, and the one that is under way. */
  readonly #undone = new Map<string, Failure | undefined>()
  #undoingKey: string | undefined
  #undoing: Undoing | undefined
  #doom: Doom | undefined
  #toCallOff = new Set<string>()
  #updates: string[] = []
  #seq = 0

  constructor(
    graph: RegisteredGraph,
    head: Head,
    dependents: ReadonlyMap<string, readonly string[]>,
    activities: ActivityOf,
  ) {
    super()
    this.#plan = graph.plan
    this.#activities = activities
    this.#nodes = new Nodes(graph.plan, dependents)
    this.#definition = new Definition(graph)
    this.#input = new InputSchema(graph, head)
  }

  get unasked(): readonly string[] {
    return this.#definition.gone
  }

  protected react(events: readonly HistoryEvent[], now: Instant): readonly Command[] {
    this.#definition.prepare(events)
    for (const event of events) {
      this.#seq = event.seq
      this.#fold(event)
    }
    for (const key of this.#definition.takeOpen()) this.#toCallOff.add(key)
    const commands: Command[] = []
    const taken = this.#definition.reconcile(this.#nodes)
    if (taken) commands.push({ type: 'Decide', decision: taken })
    for (const id of this.#updates.splice(0)) commands.push(refuseUpdate(id, 'graph'))
    const parsing = this.#input.ask(this.#seq)
    if (parsing) commands.push(parsing)
    if (this.#input.isKnown) this.#begin(commands, now)
    if (this.#toCallOff.size > 0) {
      commands.push({ type: 'CallOff', keys: [...this.#toCallOff] })
      this.#toCallOff.clear()
    }
    if (this.#nodes.settled && (this.#doom || this.#input.isKnown)) this.#finish(commands)
    return commands
  }

  step(key: string): StepPlan | undefined {
    if (key === INPUT_KEY) return this.#input.plan
    const known = this.#plans.get(key)
    if (known) return known
    const plan = this.#planOf(key)
    if (plan) this.#plans.set(key, plan)
    return plan
  }

  query(name: string): Payload {
    if (name !== 'steps') throw unknownQuery(name, 'graph', 'steps')
    const steps = [...this.#nodes.all()].map(({ node, status }) => ({ name: node.name, status }))
    return encode(steps, 'the steps of a graph')
  }

  #planOf(key: string): StepPlan | undefined {
    const parsed = parseNodeKey(key)
    const state = parsed && this.#stateOf(parsed.name)
    if (!parsed || !state) return undefined
    if (parsed.kind !== 'undo')
      return workPlan(state.node, () => this.#scopeOf(state, parsed.index), this.#activities)
    const { undo } = state.node
    return undo && undoPlan(undo, () => this.#undoScope(state), this.#activities)
  }

  // ── what happened ──

  #fold(event: HistoryEvent): void {
    switch (event.type) {
      case 'DefinitionTaken':
        this.#input.begunWithout()
        return this.#definition.take(event)
      case 'MigrationRequested':
        for (const name of this.#definition.migrate(event)) this.#skip(name)
        return
      case 'SignalReceived': {
        const waiter = this.#signals.receive(event.name, event.payload)
        if (typeof waiter === 'string') this.#definition.endGone(waiter)
        else if (waiter) this.#succeed(waiter, () => decode(event.payload))
        return
      }
      case 'UpdateReceived':
        this.#updates.push(event.id)
        return
      case 'UpdateFailed':
        this.#updates = this.#updates.filter((id) => id !== event.id)
        return
      case 'CancelRequested': {
        const { reason } = event
        if (!this.#doom) this.#doom = { cancelled: true, ...(reason !== undefined && { reason }) }
        if (!this.#undoing) this.#nodes.stop(true)
        this.#toCallOff.clear()
        return
      }
      case 'CompensationBegan':
        this.#beginUndoing().begun = true
        return
      case 'CalledOff':
        for (const key of event.keys) this.#letGo(key)
        return
      default:
        if ('key' in event) this.#foldKeyed(event)
    }
  }

  #foldKeyed(event: Extract<HistoryEvent, { key: string }>): void {
    const { key } = event
    if (key === INPUT_KEY) return this.#input.fold(event, (failure) => this.#fail(failure))
    if (key === OUTPUT_KEY && event.type === 'StepRefused') return this.#fail(event.failure)
    const parsed = parseNodeKey(key)
    const state = parsed && this.#stateOf(parsed.name)
    if (!parsed || !state) return this.#foldGone(event, parsed?.name)
    if (parsed.kind === 'undo') return this.#foldUndo(event, state)
    switch (event.type) {
      case 'StepStarted':
      case 'ChildStarted':
        return this.#opened(state, key, parsed.index)
      case 'WaitStarted':
        return this.#awaited(state, key, event.name)
      case 'TimerStarted':
        this.#nodes.begin(state, 'delayed')
        state.open.add(key)
        return
      case 'TimerFired':
        if (!state.open.has(key)) return
        if (parsed.kind === 'delay') return this.#nodes.await(state)
        this.#signals.forget(state)
        return this.#succeed(state, () => TIMEOUT)
      case 'StepCompleted':
      case 'ChildCompleted':
        return this.#completed(state, key, parsed.index, event.value)
      case 'StepFailed':
      case 'ChildFailed':
        if (state.open.delete(key)) this.#failed(state, failureOfStep(state.node.name, event))
        return
      case 'StepSkipped':
        return this.#nodes.settle(state, 'skipped')
      case 'StepRefused':
        return this.#failed(state, event.failure)
      case 'ListTaken':
        return this.#listed(state, decode(event.items) as unknown[])
      default:
        return
    }
  }

  // Of a step that this graph does not have any more.
  #foldGone(event: Extract<HistoryEvent, { key: string }>, name: string | undefined): void {
    this.#definition.foldGone(event, name)
    if (event.type === 'WaitStarted' && name !== undefined && this.#signals.await(event.name, name))
      this.#definition.endGone(name)
  }

  #foldUndo(event: Extract<HistoryEvent, { key: string }>, state: NodeState): void {
    const { key, type } = event
    if (type === 'StepStarted') this.#undoingKey = key
    if (type !== 'StepCompleted' && type !== 'StepFailed') return
    this.#undoingKey = undefined
    // Of an earlier generation: what was undone then is done again.
    if (!this.#undoing) {
      if (type === 'StepCompleted') this.#nodes.undo(state)
      return
    }
    this.#undone.set(
      key,
      type === 'StepFailed' ? failureOfStep(`undo ${state.node.name}`, event) : undefined,
    )
  }

  #opened(state: NodeState, key: string, index: number | undefined): void {
    this.#nodes.begin(state)
    state.open.add(key)
    if (state.items && index !== undefined) state.items.next = Math.max(state.items.next, index + 1)
  }

  #awaited(state: NodeState, key: string, signal: string): void {
    this.#nodes.begin(state)
    state.open.add(key)
    const early = this.#signals.await(signal, state)
    if (early) this.#succeed(state, () => decode(early))
  }

  #completed(state: NodeState, key: string, index: number | undefined, value: Payload): void {
    if (!state.open.delete(key)) return
    this.#plans.delete(key)
    const { items } = state
    if (!items || index === undefined) return this.#succeed(state, () => decode(value))
    items.results[index] = value
    items.ended++
    this.#endList(state)
  }

  #listed(state: NodeState, list: readonly unknown[]): void {
    this.#nodes.begin(state)
    const inputs = list.map((item) => encode(item, 'an item'))
    state.items = { inputs, results: new Array(inputs.length), next: 0, ended: 0 }
    this.#lists.add(state)
    this.#endList(state)
  }

  #endList(state: NodeState): void {
    const { items } = state
    if (!items || items.ended < items.inputs.length) return
    this.#succeed(state, () => items.results.map((each) => each && decode(each)))
  }

  #succeed(state: NodeState, value: () => unknown): void {
    if (isEnd(state.status)) return
    state.value = value
    this.#nodes.settle(state, 'succeeded')
  }

  #failed(state: NodeState, failure: Failure): void {
    if (isEnd(state.status)) return
    // Others of its list are let go.
    for (const key of state.open) this.#toCallOff.add(key)
    this.#nodes.settle(state, 'failed')
    this.#fail(failure)
  }

  #fail(failure: Failure): void {
    this.#doom ??= { failure }
    if (this.#nodes.failing) return
    for (const key of this.#nodes.stop(false)) this.#toCallOff.add(key)
  }

  // By this run when it began to fail; or in an earlier generation, and then it is begun again.
  #letGo(key: string): void {
    this.#toCallOff.delete(key)
    const parsed = parseNodeKey(key)
    const state = parsed && this.#stateOf(parsed.name)
    if (!state?.open.has(key)) return
    this.#signals.forget(state)
    this.#nodes.await(state)
  }

  #skip(name: string): void {
    const state = this.#nodes.get(name)
    if (!state || isEnd(state.status)) return
    for (const key of state.open) this.#toCallOff.add(key)
    this.#nodes.settle(state, 'skipped')
  }

  // ── what follows from it ──

  #begin(commands: Command[], now: Instant): void {
    for (let state = this.#nodes.takeReady(); state; state = this.#nodes.takeReady()) {
      const key = nodeKey({ kind: kindOf(state), name: state.node.name, round: state.round })
      try {
        this.#beginStep(state, key, commands, now)
      } catch (error) {
        this.#decide(commands, { type: 'StepRefused', key, failure: failureOf(error) })
        this.#failed(state, failureOf(error))
      }
    }
    for (const state of this.#lists) this.#beginItems(state, commands)
  }

  #beginStep(state: NodeState, key: string, commands: Command[], now: Instant): void {
    const { node } = state
    if (!state.cleared && node.when && node.when(this.#scopeOf(state)) !== true) {
      this.#decide(commands, { type: 'StepSkipped', key })
      return this.#nodes.settle(state, 'skipped')
    }
    if (!state.cleared && node.delayMs !== undefined) {
      const timer = nodeKey({ kind: 'delay', name: node.name, round: state.round })
      const until = now + node.delayMs
      commands.push({ type: 'SetTimer', key: timer, after: this.#seq, until })
      state.open.add(timer)
      return this.#nodes.begin(state, 'delayed')
    }
    if (node.each) {
      const items = encode(listOf(node.name, node.each.over(this.#scopeOf(state))), 'a list')
      this.#decide(commands, { type: 'ListTaken', key, items })
      return this.#listed(state, decode(items) as unknown[])
    }
    if (node.work.type !== 'wait') return this.#ask(state, key, commands)
    const { signal, timeoutMs } = node.work
    const until = timeoutMs === undefined ? {} : { until: now + timeoutMs }
    const wait: AwaitSignal = { type: 'AwaitSignal', key, after: this.#seq, name: signal, ...until }
    commands.push(wait)
    this.#awaited(state, key, signal)
  }

  #beginItems(state: NodeState, commands: Command[]): void {
    const { items, node, round } = state
    if (state.status !== 'begun') this.#lists.delete(state)
    const parallel = node.each?.parallel ?? Number.POSITIVE_INFINITY
    while (items && state.status === 'begun' && items.next < items.inputs.length) {
      if (state.open.size >= parallel) return
      const index = items.next++
      this.#ask(
        state,
        nodeKey({ kind: kindOf(state), name: node.name, round, index }),
        commands,
        index,
      )
    }
  }

  #ask(state: NodeState, key: string, commands: Command[], index?: number): void {
    const ask = workAsk(state.node, key, () => this.#scopeOf(state, index), this.#activities)
    if (ask) commands.push({ ...ask, after: this.#seq })
    this.#opened(state, key, index)
  }

  #decide(commands: Command[], decision: Decision): void {
    commands.push({ type: 'Decide', decision })
  }

  #finish(commands: Command[]): void {
    if (!this.#doom) {
      try {
        const value = encode(this.#output(), `the output of graph '${this.#plan.name}'`)
        commands.push({ type: 'CompleteRun', value })
        return
      } catch (error) {
        const failure = failureOf(error)
        this.#decide(commands, { type: 'StepRefused', key: OUTPUT_KEY, failure })
        this.#fail(failure)
      }
    }
    this.#undo(commands)
  }

  #undo(commands: Command[]): void {
    const undoing = this.#beginUndoing()
    const state = undoing.next
    if (state) {
      if (this.#undoingKey !== undefined) return
      if (!undoing.begun) {
        commands.push({ type: 'BeginCompensation', key: 'undo#1', after: this.#seq })
        undoing.begun = true
      }
      const key = undoKey(state)
      const { node } = state
      if (!node.undo) return
      const ask = undoAsk(
        node.undo,
        key,
        `undo ${node.name}`,
        () => this.#undoScope(state),
        this.#activities,
      )
      commands.push({ ...ask, after: this.#seq })
      this.#undoingKey = key
      return
    }
    commands.push(this.#ending(undoing.failures))
  }

  #ending(failures: readonly Failure[]): Command {
    const undone = failures.length > 0 ? { undone: { failures } } : {}
    const doom = this.#doom
    if (doom && 'failure' in doom) return { type: 'FailRun', failure: doom.failure, ...undone }
    const reason = doom?.reason === undefined ? {} : { reason: doom.reason }
    return { type: 'CancelRun', ...reason, ...undone }
  }

  #beginUndoing(): Undoing {
    this.#undoing ??= new Undoing(this.#nodes, this.#undone)
    return this.#undoing
  }

  // ── what its code sees ──

  #output(): unknown {
    const scope = { input: this.#input.value(), results: this.#results(this.#plan.nodes.keys()) }
    return this.#plan.output ? this.#plan.output(scope) : scope.results
  }

  #scopeOf(state: NodeState, index?: number): GraphScope {
    const scope = { input: this.#input.value(), results: this.#results(state.node.sees) }
    const item = index === undefined ? undefined : state.items?.inputs[index]
    return item && index !== undefined ? { ...scope, item: decode(item), index } : scope
  }

  #undoScope(state: NodeState): GraphScope & { readonly result: unknown } {
    return { ...this.#scopeOf(state), result: state.value?.() }
  }

  #results(names: Iterable<string>): Readonly<Record<string, unknown>> {
    const known: [string, unknown][] = []
    for (const name of names) {
      const state = this.#nodes.get(name)
      if (state?.status === 'succeeded') known.push([name, state.value?.()])
    }
    return Object.fromEntries(known)
  }

  #stateOf(name: string): NodeState | undefined {
    return this.#nodes.get(this.#definition.nameNow(name))
  }
}

function kindOf({ node: { work } }: NodeState): KeyKind {
  return work.type === 'activity' && work.own ? 'step' : work.type
}

function listOf(step: string, list: unknown): readonly unknown[] {
  if (!Array.isArray(list))
    throw new PawlError(
      'INPUT_INVALID',
      `step '${step}' is to be done for a list, and was given none.`,
    )
  if (list.length <= limits.graphItemsMax) return list
  throw new PawlError(
    'INPUT_INVALID',
    `step '${step}' is to be done for ${list.length} items; the limit is ${limits.graphItemsMax}. Do it for pages of them, in runs of their own.`,
  )
}

function failureOfStep(
  step: string,
  event: Extract<HistoryEvent, { type: 'StepFailed' | 'ChildFailed' }>,
): Failure {
  const { failure } = event
  const cause = errorOf(failure)
  if (event.type === 'ChildFailed')
    return failureOf(new RunError({ failure, runId: event.child }, { cause }))
  const { attempt: attempts, reason } = event
  return failureOf(new ActivityError({ failure, activity: step, attempts, reason }, { cause }))
}
