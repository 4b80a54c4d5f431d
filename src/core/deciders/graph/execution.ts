// One run of a graph. Events move its steps, and steps that may begin become requests. The history records what the
// code of the graph decided (conditions, lists, inputs), so that code may change while the run is in progress.

import { assert } from '../../base/assert.ts'
import { defined } from '../../base/defined.ts'
import { shown } from '../../base/described.ts'
import { PawlError } from '../../base/errors.ts'
import { type Failure, failureOf } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import type { Instant } from '../../base/time.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import type { GraphPlan, GraphScope } from '../../definitions/graph-plan.ts'
import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredGraph } from '../../definitions/registry.ts'
import type { AwaitSignal, Command } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import type { Decision, HistoryEvent } from '../../kernel/event.ts'
import { INPUT_KEY } from '../../kernel/ids.ts'
import type { Head } from '../../kernel/run.ts'
import { Interpreter, unknownQuery } from '../interpreter.ts'
import { type KeyKind, nodeKey, parseNodeKey } from './node-key.ts'
import type { NodeState } from './nodes.ts'
import { GraphProgress, OUTPUT_KEY } from './progress.ts'
import { undoKey } from './undoing.ts'
import { type UndoScope, undoPlan, undoRequest, workPlan, workRequest } from './work.ts'

/** After these events the plan of a step is not needed any more. */
const SETTLES: ReadonlySet<string> = new Set(['StepCompleted', 'StepFailed'])

export class GraphExecution extends Interpreter {
  readonly #plan: GraphPlan
  readonly #activities: ActivityOf
  readonly #progress: GraphProgress
  readonly #plans = new Map<string, StepPlan>()

  constructor(
    graph: RegisteredGraph,
    head: Head,
    dependents: ReadonlyMap<string, readonly string[]>,
    activities: ActivityOf,
  ) {
    super()
    this.#plan = graph.plan
    this.#activities = activities
    this.#progress = new GraphProgress(graph, head, dependents)
  }

  get unrequested(): readonly string[] {
    return this.#progress.definition.removedSteps
  }

  protected react(old: readonly HistoryEvent[], fresh: readonly HistoryEvent[], now: Instant): readonly Command[] {
    const progress = this.#progress
    progress.prepare([...old, ...fresh])
    progress.read(old)
    // Whether this definition fits depends on where the run stood, not on the new events.
    const taken = progress.definition.reconcile(progress.nodes)
    progress.read(fresh)
    const { nodes, input, toCancel, updates } = progress
    for (const event of fresh) if ('key' in event && SETTLES.has(event.type)) this.#plans.delete(event.key)
    const commands: Command[] = []
    if (taken) commands.push({ type: 'Decide', decision: taken })
    commands.push(...updates.takeRefusals())
    const parsing = input.request(progress.seq)
    if (parsing) commands.push(parsing)
    if (input.isKnown) this.#begin(commands, now)
    if (toCancel.size > 0) {
      commands.push({ type: 'CancelRequests', keys: [...toCancel] })
      toCancel.clear()
    }
    if (nodes.settled && (progress.outcome || input.isKnown)) this.#finish(commands)
    return commands
  }

  step(key: string): StepPlan | undefined {
    if (key === INPUT_KEY) return this.#progress.input.plan
    const known = this.#plans.get(key)
    if (known) return known
    const plan = this.#planOf(key)
    if (plan) this.#plans.set(key, plan)
    return plan
  }

  query(name: string): Payload {
    if (name !== 'steps') throw unknownQuery(name, 'graph', 'steps')
    const steps = [...this.#progress.nodes.all()].map(({ node, status }) => ({
      name: node.name,
      status,
    }))
    return encode(steps, 'the steps of a graph')
  }

  #planOf(key: string): StepPlan | undefined {
    const parsed = parseNodeKey(key)
    const state = parsed && this.#progress.stateOf(key, parsed)
    if (!parsed || !state) return undefined
    if (parsed.kind !== 'undo')
      return workPlan(state.node, () => this.#progress.scopeOf(state, parsed.index), this.#activities)
    const { undo } = state.node
    return undo && undoPlan(undo, () => this.#progress.undoScope(state), this.#activities)
  }

  #begin(commands: Command[], now: Instant): void {
    const { nodes, lists } = this.#progress
    for (let state = nodes.takeReady(); state; state = nodes.takeReady()) {
      const each = state
      const key = nodeKey({ kind: kindOf(each), name: each.node.name, round: each.round })
      this.#guarded(each, key, commands, () => this.#beginStep(each, key, commands, now))
      // A step that could not begin has failed, which may let other steps begin.
      for (const list of lists) this.#beginItems(list, commands)
    }
    for (const list of lists) this.#beginItems(list, commands)
  }

  #beginStep(state: NodeState, key: string, commands: Command[], now: Instant): void {
    const { node } = state
    if (!state.cleared && node.when && node.when(this.#progress.scopeOf(state)) !== true) {
      this.#decide(commands, { type: 'StepSkipped', key })
      return this.#progress.nodes.settle(state, 'skipped')
    }
    if (!state.cleared && node.delayMs !== undefined) {
      const timer = nodeKey({ kind: 'delay', name: node.name, round: state.round })
      const until = now + node.delayMs
      commands.push({ type: 'SetTimer', key: timer, after: this.#progress.seq, until })
      state.open.add(timer)
      return this.#progress.nodes.begin(state, 'delayed')
    }
    if (node.each) {
      const items = encode(listOf(node.name, node.each.over(this.#progress.scopeOf(state))), 'a list')
      this.#decide(commands, { type: 'ListTaken', key, items })
      return this.#progress.listed(state, decode(items) as unknown[])
    }
    if (node.work.type !== 'wait') return this.#request(state, key, commands)
    const { signal, timeoutMs } = node.work
    const until = timeoutMs === undefined ? {} : { until: now + timeoutMs }
    const wait: AwaitSignal = {
      type: 'AwaitSignal',
      key,
      after: this.#progress.seq,
      name: signal,
      ...until,
    }
    commands.push(wait)
    this.#progress.awaited(state, key, signal)
  }

  #beginItems(state: NodeState, commands: Command[]): void {
    const { items, node, round } = state
    if (!this.#progress.nodes.mayGoOn(state)) return
    const parallel = node.each?.parallel ?? Number.POSITIVE_INFINITY
    const weights = items?.weights ?? new Map<string, number>()
    let bytes = 0
    for (const key of state.open) bytes += weights.get(key) ?? 0
    for (const index of items?.pending ?? []) {
      if (state.status !== 'begun' || state.open.size >= parallel) return
      // The rest begins when some items have ended: a turn with all requests would be too large to store.
      if (bytes >= limits.graphItemsBytes) return
      const key = nodeKey({ kind: kindOf(state), name: node.name, round, index })
      this.#guarded(state, key, commands, () => this.#request(state, key, commands, index))
      bytes += weights.get(key) ?? 0
    }
    this.#progress.lists.delete(state)
  }

  // An error of the graph's own code while a step begins is a failure of that step.
  #guarded(state: NodeState, key: string, commands: Command[], begin: () => void): void {
    try {
      begin()
    } catch (error) {
      const failure = failureOf(error)
      this.#decide(commands, { type: 'StepRefused', key, failure })
      this.#progress.failed(state, failure)
    }
  }

  #request(state: NodeState, key: string, commands: Command[], index?: number): void {
    const scope = (): GraphScope => this.#progress.scopeOf(state, index)
    const request = workRequest(state.node, key, scope, this.#activities)
    if (request) commands.push({ ...request, after: this.#progress.seq })
    this.#progress.opened(state, key, index, request?.input)
  }

  #decide(commands: Command[], decision: Decision): void {
    commands.push({ type: 'Decide', decision })
  }

  #finish(commands: Command[]): void {
    if (!this.#progress.outcome) {
      try {
        const value = encode(this.#output(), `the output of graph '${this.#plan.name}'`)
        commands.push({ type: 'CompleteRun', value })
        return
      } catch (error) {
        const failure = failureOf(error)
        this.#decide(commands, { type: 'StepRefused', key: OUTPUT_KEY, failure })
        this.#progress.fail(failure)
      }
    }
    this.#undo(commands)
  }

  #undo(commands: Command[]): void {
    const undoing = this.#progress.beginUndoing()
    for (let state = undoing.next; state; state = undoing.next) {
      if (this.#progress.undoingKey !== undefined) return
      if (!undoing.begun) {
        commands.push({ type: 'BeginCompensation', key: 'undo#1', after: this.#progress.seq })
        undoing.begun = true
      }
      if (this.#undoStep(state, commands)) return
    }
    commands.push(this.#ending(undoing.failures))
  }

  // Returns false if the input of the undo step could not be made: that step cannot be undone.
  #undoStep(state: NodeState, commands: Command[]): boolean {
    const key = undoKey(state)
    const { name, undo } = state.node
    assert(undo, 'only a step with `undo` is undone')
    const scope = (): UndoScope => this.#progress.undoScope(state)
    try {
      const request = undoRequest(undo, key, `undo ${name}`, scope, this.#activities)
      commands.push({ ...request, after: this.#progress.seq })
    } catch (error) {
      const failure = failureOf(error)
      this.#decide(commands, { type: 'StepRefused', key, failure })
      this.#progress.undone.set(key, failure)
      return false
    }
    this.#progress.undoingKey = key
    return true
  }

  #ending(failures: readonly Failure[]): Command {
    const undone = failures.length > 0 ? { undone: { failures } } : {}
    const { outcome } = this.#progress
    if (outcome && 'failure' in outcome) return { type: 'FailRun', failure: outcome.failure, ...undone }
    return defined({ type: 'CancelRun', reason: outcome?.reason, ...undone })
  }

  #output(): unknown {
    const scope = {
      input: this.#progress.input.value(),
      results: this.#progress.results(this.#plan.nodes.keys()),
    }
    return this.#plan.output ? this.#plan.output(scope) : scope.results
  }
}

function kindOf({ node: { work } }: NodeState): KeyKind {
  return work.type === 'activity' && work.own ? 'step' : work.type
}

function listOf(step: string, list: unknown): readonly unknown[] {
  if (!Array.isArray(list)) {
    const message = `step '${step}' expects a list, but \`over\` returned ${shown(list)}. Return an array.`
    throw new PawlError('INPUT_INVALID', message)
  }
  if (list.length <= limits.graphItemsMax) return list
  const message = `step '${step}' has a list of ${list.length} items; the limit is ${limits.graphItemsMax}. Split the list into pages, and process each in a run of its own.`
  throw new PawlError('INPUT_INVALID', message)
}
