// Reproducible random numbers: the same seed gives the same numbers on every machine. The generator is xoshiro128**;
// splitmix32 fills its state, so that neighbouring seeds are unrelated.
import type { Random } from '../core/runtime/random.ts'

export class SeededRandom implements Random {
  readonly #state = new Uint32Array(4)
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = seed
    // A seed may be larger than 32 bits, so both halves are used.
    let state = mix((seed >>> 0) ^ mix(Math.floor(seed / 2 ** 32) >>> 0))
    for (let index = 0; index < 4; index++) {
      state = (state + 0x9e3779b9) >>> 0
      this.#state[index] = mix(state)
    }
    // The generator cannot leave the state of zeros.
    if (this.#state.every((word) => word === 0)) this.#state[0] = 1
  }

  fraction(): number {
    return this.#draw() / 2 ** 32
  }

  integer(): number {
    return (this.#draw() & 0xffff) * 2 ** 32 + this.#draw() || 1
  }

  /** A whole number in [0, limit). */
  below(limit: number): number {
    return Math.floor(this.fraction() * limit)
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('cannot pick from an empty list')
    return list[this.below(list.length)] as T
  }

  /** Returns an independent stream, which does not depend on how much was drawn from this one. */
  fork(label: string): SeededRandom {
    let hash = mix(this.#seed >>> 0)
    for (const char of label) hash = mix((hash ^ (char.codePointAt(0) ?? 0)) + 0x9e3779b9)
    return new SeededRandom(hash + (Math.floor(this.#seed) % 2 ** 20) * 2 ** 32)
  }

  #draw(): number {
    const state = this.#state
    const [a = 0, b = 0, c = 0, d = 0] = state
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0
    const third = c ^ a
    const fourth = d ^ b
    state[1] = b ^ third
    state[0] = a ^ fourth
    state[2] = third ^ (b << 9)
    state[3] = rotate(fourth, 11)
    return result
  }
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by))
}

/** The finalizer of splitmix32: every bit of the input changes half of the output. */
function mix(word: number): number {
  let mixed = word | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
  return (mixed ^ (mixed >>> 15)) >>> 0
}
