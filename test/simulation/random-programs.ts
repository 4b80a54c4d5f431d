// Random programs made of every primitive, and a model that says what they come to. Whatever happens to their workers,
// it is the model's outcome: programs are made so that there is only one.
import type { SeededRandom } from '../../src/testing/seeded-random.ts'

/** What a run does by itself. */
export type Own =
  | { readonly do: 'step'; readonly n: number; readonly fails: number }
  | { readonly do: 'activity'; readonly n: number; readonly far: boolean }
  | { readonly do: 'sleep'; readonly n: number; readonly ms: number }
  | { readonly do: 'sideEffect' | 'late' | 'attributes' | 'patched' | 'doomed'; readonly n: number }
/** What it waits for the client to do, each for something of its own. */
export type Want = { readonly do: 'signal' | 'handled' | 'update' | 'webhook'; readonly n: number }
export type Family = { readonly do: 'cancelledChild' | 'toldChild'; readonly n: number }
/** What is made of others. */
export type Compound =
  | { readonly do: 'catch' | 'shield' | 'child' | 'raced'; readonly of: Node }
  | { readonly do: 'scope'; readonly how: 'done' | 'timeout' | 'cancel'; readonly of: Node }
  | { readonly do: 'seq' | 'all' | 'promiseAll' | 'settled' | 'map'; readonly of: readonly Node[] }
export type Node = Own | Want | Family | Compound

export function* wantsOf(node: Node): Iterable<Want> {
  if (isWant(node)) yield node
  if ('of' in node) for (const each of [node.of].flat()) yield* wantsOf(each)
}

export function isWant(node: Node): node is Want {
  return ['signal', 'handled', 'update', 'webhook'].includes(node.do)
}

export function isFamily(node: Own | Family): node is Family {
  return node.do === 'cancelledChild' || node.do === 'toldChild'
}

/** The model: what a node gives. A failure is thrown. */
export function valueOf(node: Node): unknown {
  switch (node.do) {
    case 'doomed':
      throw new Error('doomed')
    case 'catch':
      try {
        return valueOf(node.of)
      } catch {
        return 'caught'
      }
    case 'shield':
    case 'child':
    case 'raced':
      return valueOf(node.of)
    case 'scope':
      if (node.how === 'done') return valueOf(node.of)
      return node.how === 'timeout' ? 'timeout' : 'cancelled'
    case 'seq':
    case 'all':
    case 'promiseAll':
    case 'map':
      return node.of.map(valueOf)
    case 'settled':
      return node.of.map((of) => valueOf({ do: 'catch', of }))
    default:
      return node.n
  }
}

/** Makes programs. Each leaf has a number of its own. */
export class Maker {
  readonly #random: SeededRandom
  #n: number

  constructor(random: SeededRandom, first: number) {
    this.#random = random
    this.#n = first
  }

  parts(): Node[] {
    return Array.from({ length: 1 + this.#random.below(3) }, () => this.#node(3, true))
  }

  // What may fail, or be cancelled, is made of quiet nodes only: no caller waits for an answer of theirs.
  #node(depth: number, loud: boolean): Node {
    if (depth === 0 || this.#random.chance(0.25)) return this.#leaf(loud)
    const make = this.#random.pick(['seq', 'all', 'promiseAll', 'settled', 'map', 'one', 'quiet'] as const)
    if (make === 'one') {
      const wrap = this.#random.pick(['shield', 'raced', 'scope', 'child'] as const)
      // A child is another run: what the client says does not reach it.
      const of = this.#node(depth - 1, loud && wrap !== 'child')
      return wrap === 'scope' ? { do: 'scope', how: 'done', of } : { do: wrap, of }
    }
    if (make === 'quiet') return this.#failing(depth)
    const width = 1 + this.#random.below(3)
    return { do: make, of: Array.from({ length: width }, () => this.#node(depth - 1, loud)) }
  }

  #failing(depth: number): Node {
    const of = this.#node(depth - 1, false)
    if (this.#random.chance(0.4)) {
      return { do: 'scope', how: this.#random.pick(['timeout', 'cancel'] as const), of }
    }
    const doomed: Node = { do: 'doomed', n: ++this.#n }
    const how = this.#random.pick(['seq', 'all', 'promiseAll', 'map'] as const)
    const inner: Node = this.#random.chance(0.5) ? { do: how, of: [of, doomed] } : doomed
    return { do: 'catch', of: this.#random.chance(0.3) ? { do: 'child', of: inner } : inner }
  }

  #leaf(loud: boolean): Node {
    const n = ++this.#n
    const random = this.#random
    const leaves: (() => Node)[] = [
      () => ({ do: 'step', n, fails: random.pick([0, 0, 1, 2]) }),
      () => ({ do: 'activity', n, far: random.chance(0.5) }),
      () => ({ do: 'sleep', n, ms: random.below(60) }),
      () => ({ do: random.pick(['sideEffect', 'late', 'attributes', 'patched'] as const), n }),
      () => ({ do: random.pick(['cancelledChild', 'toldChild'] as const), n }),
    ]
    if (loud) {
      const one = random.pick(['signal', 'handled', 'update', 'webhook'] as const)
      leaves.push(
        () => ({ do: one, n }),
        () => ({ do: one, n }),
      )
    }
    return random.pick(leaves)()
  }
}
