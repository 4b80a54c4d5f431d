// The state of each step of a graph. A step begins when the distinct steps it comes after have ended as its rule
// demands. Each of them ends once, so the step can begin neither early nor twice.

import { assert, unreachable } from '../../base/assert.ts'
import type { Payload } from '../../base/value.ts'
import type { GraphNode, GraphPlan } from '../../definitions/graph-plan.ts'

export type NodeStatus =
  | 'waiting'
  /** The step waits for its own delay. */
  | 'delayed'
  | 'begun'
  | 'succeeded'
  | 'failed'
  | 'skipped'
  /** The step was in progress when the run began to fail or was cancelled. */
  | 'stopped'

/** The items of a step that runs once for each item of a list. */
export interface Items {
  readonly inputs: readonly Payload[]
  readonly results: (Payload | undefined)[]
  /** Indexes of items that have not begun. */
  readonly pending: Set<number>
  /** The sizes of the inputs of items in progress, by their keys. */
  readonly weights: Map<string, number>
  ended: number
}

export class NodeState {
  readonly node: GraphNode
  status: NodeStatus = 'waiting'
  /** How often the step has begun from the start. */
  round = 1
  /** The condition of the step has held, and its delay has begun. */
  cleared = false
  items: Items | undefined
  /** The result of the step: a new copy for each caller. */
  value: (() => unknown) | undefined
  /** Keys of the open requests of the step. */
  readonly open = new Set<string>()
  /** Steps before this one, direct or not, that were undone and have not ended again. */
  readonly undone = new Set<NodeState>()
  /** How many of the steps it comes after have ended, and how. */
  readonly ended = { all: 0, succeeded: 0, failed: 0, stopped: 0 }

  constructor(node: GraphNode) {
    this.node = node
  }
}

type EndStatus = 'succeeded' | 'failed' | 'skipped' | 'stopped'

export class Nodes {
  readonly #states = new Map<string, NodeState>()
  readonly #dependents: ReadonlyMap<string, readonly string[]>
  /** Steps that may begin, in the order in which they became ready. */
  readonly #ready = new Set<NodeState>()
  #unsettled: number
  /** Steps that have succeeded, the oldest first. */
  readonly completed = new Set<NodeState>()
  /** From now on only steps that come after a failed or stopped step may begin. */
  failing = false

  constructor(plan: GraphPlan, dependents: ReadonlyMap<string, readonly string[]>) {
    this.#dependents = dependents
    for (const node of plan.nodes.values()) this.#states.set(node.name, new NodeState(node))
    this.#unsettled = this.#states.size
    for (const state of this.#states.values()) this.#consider(state)
  }

  get(name: string): NodeState | undefined {
    return this.#states.get(name)
  }

  all(): Iterable<NodeState> {
    return this.#states.values()
  }

  get settled(): boolean {
    return this.#unsettled === 0
  }

  /** Another step used keys with this name up to this round, so this one begins with the next. */
  skipRounds(name: string, round: number): void {
    const state = this.#states.get(name)
    if (state && state.round <= round) state.round = round + 1
  }

  takeReady(): NodeState | undefined {
    for (const state of this.#ready) {
      this.#ready.delete(state)
      if (state.status === 'waiting') return state
    }
    return undefined
  }

  /** False if a step before this one was undone since this one began: that step must run again first. */
  mayGoOn(state: NodeState): boolean {
    return state.undone.size === 0 && verdictOf(state) !== 'wait'
  }

  begin(state: NodeState, status: 'begun' | 'delayed' = 'begun'): void {
    state.status = status
    state.cleared = true
    this.#ready.delete(state)
  }

  /** The step was cancelled without failing: it begins again. */
  await(state: NodeState): void {
    state.status = 'waiting'
    state.open.clear()
    this.#consider(state)
  }

  settle(state: NodeState, status: EndStatus): void {
    const settled: [NodeState, EndStatus][] = [[state, status]]
    for (let next = settled.pop(); next; next = settled.pop()) {
      const [each, as] = next
      if (isEnd(each.status)) continue
      this.#end(each, as)
      for (const freed of this.#free(each)) if (this.#consider(freed) === 'skip') settled.push([freed, 'skipped'])
      for (const name of this.#dependents.get(each.node.name) ?? []) {
        const dependent = this.#states.get(name)
        assert(dependent, 'what comes after a step is a step')
        count(dependent, as, 1)
        // That a rule skips a step follows from the events, so it is not recorded.
        if (this.#consider(dependent) === 'skip') settled.push([dependent, 'skipped'])
      }
    }
  }

  /** Stops the steps in progress, and skips those that do not depend on a broken one. Returns the keys to cancel. */
  stop(cancelled: boolean): readonly string[] {
    this.failing = true
    const open: string[] = []
    const broken: NodeState[] = []
    for (const state of this.#states.values()) {
      if (state.status === 'failed') broken.push(state)
      if (state.status !== 'begun' && state.status !== 'delayed') continue
      open.push(...state.open)
      broken.push(state)
    }
    // A step that comes after a broken one is decided by its rule. After a cancellation no step begins.
    const after = cancelled ? new Set<NodeState>() : this.#after(broken)
    for (const state of this.#states.values()) {
      if (state.status === 'waiting' && !after.has(state)) this.settle(state, 'skipped')
    }
    for (const state of broken) this.settle(state, 'stopped')
    return open
  }

  /** The step was undone: it begins again, under another key, and the steps after it wait for it. */
  undo(state: NodeState): void {
    if (isEnd(state.status)) this.#reopen(state, state.status)
    state.round++
    state.cleared = false
    state.items = undefined
    state.value = undefined
    for (const each of this.#after([state])) {
      each.undone.add(state)
      this.#consider(each)
    }
    this.await(state)
  }

  // Steps that waited because this one had been undone.
  #free(state: NodeState): readonly NodeState[] {
    if (state.round === 1) return []
    return [...this.#after([state])].filter((each) => each.undone.delete(state))
  }

  #reopen(state: NodeState, status: EndStatus): void {
    for (const name of this.#dependents.get(state.node.name) ?? []) {
      const dependent = this.#states.get(name)
      if (!dependent) continue
      const isRuledOut = dependent.status === 'skipped' && verdictOf(dependent) === 'skip'
      count(dependent, status, -1)
      // The rule of the dependent skipped it because of how this step had ended, which is open again.
      if (isRuledOut && verdictOf(dependent) !== 'skip') {
        this.#reopen(dependent, 'skipped')
        dependent.status = 'waiting'
      }
      this.#consider(dependent)
    }
    this.completed.delete(state)
    this.#unsettled++
  }

  #end(state: NodeState, status: EndStatus): void {
    state.status = status
    state.open.clear()
    this.#ready.delete(state)
    this.#unsettled--
    if (status === 'succeeded') this.completed.add(state)
  }

  #after(from: readonly NodeState[]): Set<NodeState> {
    const found = new Set<NodeState>()
    const next = [...from]
    for (let state = next.pop(); state; state = next.pop()) {
      for (const name of this.#dependents.get(state.node.name) ?? []) {
        const dependent = this.#states.get(name)
        if (!dependent || found.has(dependent)) continue
        found.add(dependent)
        next.push(dependent)
      }
    }
    return found
  }

  #consider(state: NodeState): RuleVerdict {
    if (state.status !== 'waiting') return 'wait'
    const verdict = state.undone.size > 0 ? 'wait' : verdictOf(state)
    if (verdict === 'run') this.#ready.add(state)
    else this.#ready.delete(state)
    return verdict
  }
}

export function isEnd(status: NodeStatus): status is EndStatus {
  return status !== 'waiting' && status !== 'delayed' && status !== 'begun'
}

function count({ ended }: NodeState, status: EndStatus, by: 1 | -1): void {
  ended.all += by
  if (status !== 'skipped') ended[status] += by
}

type RuleVerdict = 'run' | 'skip' | 'wait'

function verdictOf({ node, ended }: NodeState): RuleVerdict {
  const all = ended.all === node.after.length
  const when = (run: boolean): RuleVerdict => (run ? 'run' : all ? 'skip' : 'wait')
  switch (node.rule) {
    case 'allSucceeded':
      return ended.all > ended.succeeded ? 'skip' : all ? 'run' : 'wait'
    case 'noneFailed':
      return ended.failed + ended.stopped > 0 ? 'skip' : all ? 'run' : 'wait'
    case 'allDone':
      return all ? 'run' : 'wait'
    case 'oneSucceeded':
      return when(ended.succeeded > 0)
    case 'oneDone':
      return when(ended.succeeded + ended.failed > 0)
    case 'oneFailed':
      return when(ended.failed > 0)
    default:
      return unreachable(node.rule)
  }
}

/** By step: the steps that come directly after it. */
export function dependentsIn(plan: GraphPlan): ReadonlyMap<string, readonly string[]> {
  const dependents = new Map<string, string[]>()
  for (const { name, after } of plan.nodes.values()) {
    for (const parent of after) {
      const known = dependents.get(parent)
      if (known) known.push(name)
      else dependents.set(parent, [name])
    }
  }
  return dependents
}
