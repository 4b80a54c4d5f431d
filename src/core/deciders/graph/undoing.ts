// What a run that fails, or is cancelled, undoes: steps that have succeeded, newest first, one after another. One that
// cannot be undone stops nobody: the rest is undone all the same, and the run says what it could not undo.
import type { Failure } from '../../base/failure.ts'
import { nodeKey } from './node-key.ts'
import type { NodeState, Nodes } from './nodes.ts'

export class Undoing {
  /** It has begun. */
  begun = false
  readonly #chain: readonly NodeState[]
  #done = 0
  readonly #ended: ReadonlyMap<string, Failure | undefined>

  /** `ended` are undoings by their keys, with what went wrong. */
  constructor(nodes: Nodes, ended: ReadonlyMap<string, Failure | undefined>) {
    this.#chain = chainOf(nodes)
    this.#ended = ended
  }

  get isEmpty(): boolean {
    return this.#chain.length === 0
  }

  /** The step to be undone now. What is undone stays so, and is not looked at again. */
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

// What failed or was stopped may have done half of what it was to do; it is undone only if it says so, and first.
function chainOf(nodes: Nodes): NodeState[] {
  const broken = [...nodes.all()].filter((state) => isBroken(state) && !nodes.completed.has(state))
  const done = [...nodes.completed].filter(({ node }) => node.undo)
  return [...broken.reverse(), ...done.reverse()]
}

function isBroken({ status, node }: NodeState): boolean {
  return (status === 'failed' || status === 'stopped') && node.undo?.ownFailure === true
}
