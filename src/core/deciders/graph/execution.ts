// One run of a graph. Events move its steps; what may begin then is asked for. Whatever code of the graph decided
// (conditions, lists, inputs) is in the history, so the code may change while the run is under way.

import { assert } from '../../base/assert.ts'
import { PawlError } from '../../base/errors.ts'
import { type Failure, failureOf } from '../../base/failure.ts'
import type { Instant } from '../../base/instant.ts'
import { limits } from '../../base/limits.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import type { GraphPlan } from '../../definitions/graph-plan.ts'
import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredGraph } from '../../definitions/registry.ts'
import type { AwaitSignal, Command } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import type { Decision, HistoryEvent } from '../../kernel/event.ts'
import { INPUT_KEY } from '../../kernel/key.ts'
import type { Head } from '../../kernel/run.ts'
import { Interpreter, refuseUpdate, unknownQuery } from '../interpreter.ts'
import { type KeyKind, nodeKey, parseNodeKey } from './node-key.ts'
import type { NodeState } from './nodes.ts'
import { OUTPUT_KEY, Progress } from './progress.ts'
import { undoKey } from './undoing.ts'
import { type UndoScope, undoAsk, undoPlan, workAsk, workPlan } from './work.ts'

/** After these nobody asks for the plan of a step again. */
const SETTLES: ReadonlySet<string> = new Set(['StepCompleted', 'StepFailed'])

export class GraphExecution extends Interpreter {
  readonly #plan: GraphPlan
  readonly #activities: ActivityOf
  readonly #progress: Progress
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
    this.#progress = new Progress(graph, head, dependents)
  }

  get unasked(): readonly string[] {
    return this.#progress.definition.gone
  }

  protected react(
    old: readonly HistoryEvent[],
    fresh: readonly HistoryEvent[],
    now: Instant,
  ): readonly Command[] {
    const progress = this.#progress
    progress.prepare([...old, ...fresh])
    progress.read(old)
    // Whether the run may go by this definition depends on where it stood, and not on what has come since.
    const taken = progress.definition.reconcile(progress.nodes)
    progress.read(fresh)
    const { nodes, input, toCallOff, updates } = progress
    for (const event of fresh)
      if ('key' in event && SETTLES.has(event.type)) this.#plans.delete(event.key)
    const commands: Command[] = []
    if (taken) commands.push({ type: 'Decide', decision: taken })
    for (const id of updates.splice(0)) commands.push(refuseUpdate(id, 'graph'))
    const parsing = input.ask(progress.seq)
    if (parsing) commands.push(parsing)
    if (input.isKnown) this.#begin(commands, now)
    if (toCallOff.size > 0) {
      commands.push({ type: 'CallOff', keys: [...toCallOff] })
      toCallOff.clear()
    }
    if (nodes.settled && (progress.doom || input.isKnown)) this.#finish(commands)
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
      return workPlan(
        state.node,
        () => this.#progress.scopeOf(state, parsed.index),
        this.#activities,
      )
    const { undo } = state.node
    return undo && undoPlan(undo, () => this.#progress.undoScope(state), this.#activities)
  }

  #begin(commands: Command[], now: Instant): void {
    const { nodes, lists } = this.#progress
    for (let state = nodes.takeReady(); state; state = nodes.takeReady()) {
      const each = state
      const key = nodeKey({ kind: kindOf(each), name: each.node.name, round: each.round })
      this.#guarded(each, key, commands, () => this.#beginStep(each, key, commands, now))
      // One that cannot be begun may let others begin.
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
      const items = encode(
        listOf(node.name, node.each.over(this.#progress.scopeOf(state))),
        'a list',
      )
      this.#decide(commands, { type: 'ListTaken', key, items })
      return this.#progress.listed(state, decode(items) as unknown[])
    }
    if (node.work.type !== 'wait') return this.#ask(state, key, commands)
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
      // The rest begins when some of them have ended: a turn that asks for all would be too large to be stored.
      if (bytes >= limits.graphItemsBytes) return
      const key = nodeKey({ kind: kindOf(state), name: node.name, round, index })
      this.#guarded(state, key, commands, () => this.#ask(state, key, commands, index))
      bytes += weights.get(key) ?? 0
    }
    this.#progress.lists.delete(state)
  }

  // What a graph's own code throws while a step is begun is a failure of that step.
  #guarded(state: NodeState, key: string, commands: Command[], begin: () => void): void {
    try {
      begin()
    } catch (error) {
      const failure = failureOf(error)
      this.#decide(commands, { type: 'StepRefused', key, failure })
      this.#progress.failed(state, failure)
    }
  }

  #ask(state: NodeState, key: string, commands: Command[], index?: number): void {
    const ask = workAsk(
      state.node,
      key,
      () => this.#progress.scopeOf(state, index),
      this.#activities,
    )
    if (ask) commands.push({ ...ask, after: this.#progress.seq })
    this.#progress.opened(state, key, index, ask?.input)
  }

  #decide(commands: Command[], decision: Decision): void {
    commands.push({ type: 'Decide', decision })
  }

  #finish(commands: Command[]): void {
    if (!this.#progress.doom) {
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

  // Whether it could be asked for. If what makes its input fails, it is one more that cannot be undone.
  #undoStep(state: NodeState, commands: Command[]): boolean {
    const key = undoKey(state)
    const { name, undo } = state.node
    assert(undo, 'only what can be undone is undone')
    const scope = (): UndoScope => this.#progress.undoScope(state)
    try {
      const ask = undoAsk(undo, key, `undo ${name}`, scope, this.#activities)
      commands.push({ ...ask, after: this.#progress.seq })
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
    const doom = this.#progress.doom
    if (doom && 'failure' in doom) return { type: 'FailRun', failure: doom.failure, ...undone }
    const reason = doom?.reason === undefined ? {} : { reason: doom.reason }
    return { type: 'CancelRun', ...reason, ...undone }
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
