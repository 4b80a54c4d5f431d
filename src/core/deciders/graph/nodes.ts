// Where each step of a graph stands, and what follows from that. A step begins when the set of distinct steps it comes
// after has ended as its rule wants; since each ends once, it can begin neither early nor twice.

import { assert, unreachable } from '../../base/assert.ts'
import type { Payload } from '../../base/value.ts'
import type { GraphNode, GraphPlan } from '../../definitions/graph-plan.ts'

export type NodeStatus =
  | 'waiting'
  /** It waits for its own delay. */
  | 'delayed'
  | 'begun'
  | 'succeeded'
  | 'failed'
  | 'skipped'
  /** It was under way when the run began to fail, or was cancelled. */
  | 'stopped'

/** The list a step is done for. */
export interface Items {
  readonly inputs: readonly Payload[]
  readonly results: (Payload | undefined)[]
  /** Those that are not begun, and how many have ended. */
  readonly pending: Set<number>
  /** What the inputs of those under way take, by their keys. */
  readonly weights: Map<string, number>
  ended: number
}

export class NodeState {
  readonly node: GraphNode
  status: NodeStatus = 'waiting'
  /** How often it has begun from the start. */
  round = 1
  /** Its condition and its delay are behind it. */
  cleared = false
  items: Items | undefined
  /** What it gave, made anew for whoever asks. */
  value: (() => unknown) | undefined
  /** Keys under which it has something open. */
  readonly open = new Set<string>()
  /** Steps somewhere before it that were undone, and have not ended again. */
  readonly undone = new Set<NodeState>()
  // Of the steps it comes after.
  readonly ended = { all: 0, succeeded: 0, failed: 0, stopped: 0 }

  constructor(node: GraphNode) {
    this.node = node
  }
}

type EndStatus = 'succeeded' | 'failed' | 'skipped' | 'stopped'

export class Nodes {
  readonly #states = new Map<string, NodeState>()
  readonly #dependents: ReadonlyMap<string, readonly string[]>
  /** Steps that may begin, in the order it came to that. */
  readonly #ready = new Set<NodeState>()
  #unsettled: number
  /** Steps that have succeeded, in that order. */
  readonly completed = new Set<NodeState>()
  /** Nothing begins any more but what comes after a step that failed or was stopped. */
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

  /** Keys with this name, up to this number, were those of another step. */
  spend(name: string, round: number): void {
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

  /** Whether a step that has begun can go on: what it comes after may have been undone since, and is done anew first. */
  mayGoOn(state: NodeState): boolean {
    return state.undone.size === 0 && verdictOf(state) !== 'wait'
  }

  begin(state: NodeState, status: 'begun' | 'delayed' = 'begun'): void {
    state.status = status
    state.cleared = true
    this.#ready.delete(state)
  }

  /** It was let go of, and nobody is to blame: it begins again. */
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
      for (const freed of this.#free(each))
        if (this.#consider(freed) === 'skip') settled.push([freed, 'skipped'])
      for (const name of this.#dependents.get(each.node.name) ?? []) {
        const dependent = this.#states.get(name)
        assert(dependent, 'what comes after a step is a step')
        count(dependent, as, 1)
        // Skipping follows from the rules, and is not written down.
        if (this.#consider(dependent) === 'skip') settled.push([dependent, 'skipped'])
      }
    }
  }

  /** Stops what is under way and skips what has nothing to do with it. Answers with what is open and to be called off. */
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
    // Who comes after these decides by its rule. After a cancellation nobody does: what was done is undone, and that is all.
    const after = cancelled ? new Set<NodeState>() : this.#after(broken)
    for (const state of this.#states.values()) {
      if (state.status === 'waiting' && !after.has(state)) this.settle(state, 'skipped')
    }
    for (const state of broken) this.settle(state, 'stopped')
    return open
  }

  /** It was undone, done or not: it is as if it had not begun, and begins under another key. What comes after it waits. */
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

  // Who waited for it because it was undone.
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
      // It was skipped for how this one had ended, and that is open again.
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

  #consider(state: NodeState): Verdict {
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

type Verdict = 'run' | 'skip' | 'wait'

function verdictOf({ node, ended }: NodeState): Verdict {
  const all = ended.all === node.after.length
  const when = (run: boolean): Verdict => (run ? 'run' : all ? 'skip' : 'wait')
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

/** Who comes directly after whom. */
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
