// How a graph run that fails or is cancelled undoes its succeeded steps: one after another, the newest first. If a step
// cannot be undone, the rest is undone all the same, and the run reports the failure.
import type { Failure } from '../../base/failure.ts'
import { nodeKey } from './node-key.ts'
import type { NodeState, Nodes } from './nodes.ts'

export class Undoing {
  begun = false
  readonly #chain: readonly NodeState[]
  #done = 0
  readonly #ended: ReadonlyMap<string, Failure | undefined>

  /** `ended` has the keys of steps whose undoing has ended, with its failure if it failed. */
  constructor(nodes: Nodes, ended: ReadonlyMap<string, Failure | undefined>) {
    this.#chain = chainOf(nodes)
    this.#ended = ended
  }

  get isEmpty(): boolean {
    return this.#chain.length === 0
  }

  /** The next step to undo. */
  get next(): NodeState | undefined {
    for (; ; this.#done++) {
      const state = this.#chain[this.#done]
      if (!state || !this.#ended.has(undoKey(state))) return state
    }
  }

  get failures(): readonly Failure[] {
    return this.#chain.flatMap((state) => this.#ended.get(undoKey(state)) ?? [])
  }
}

export function undoKey({ node, round }: NodeState): string {
  return nodeKey({ kind: 'undo', name: node.name, round })
}

// A step that failed or was stopped may have done half of its work. It is undone only if it asks for that with
// `ownFailure`, and then before all others.
function chainOf(nodes: Nodes): NodeState[] {
  const broken = [...nodes.all()].filter((state) => isBroken(state) && !nodes.completed.has(state))
  const done = [...nodes.completed].filter(({ node }) => node.undo)
  return [...broken.reverse(), ...done.reverse()]
}

function isBroken({ status, node }: NodeState): boolean {
  return (status === 'failed' || status === 'stopped') && node.undo?.ownFailure === true
}
