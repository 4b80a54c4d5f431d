// A Bloom filter: a small summary of a set of texts that tells which texts are certainly not in it. About one in a
// hundred texts outside the set is taken for one that may be in it.
import { digest } from '../../core/base/digest.ts'

const BITS_PER_TEXT = 10
const HASHES = 7

export class Bloom {
  readonly #bits: Buffer

  private constructor(bits: Buffer) {
    this.#bits = bits
  }

  static of(texts: readonly string[]): Bloom {
    const bloom = new Bloom(Buffer.alloc(Math.ceil((texts.length * BITS_PER_TEXT) / 8)))
    for (const text of texts) {
      for (const bit of bloom.#places(text)) {
        bloom.#bits[bit >> 3] = (bloom.#bits[bit >> 3] ?? 0) | (1 << (bit & 7))
      }
    }
    return bloom
  }

  static decode(text: string): Bloom {
    return new Bloom(Buffer.from(text, 'base64'))
  }

  encode(): string {
    return this.#bits.toString('base64')
  }

  mayHave(text: string): boolean {
    if (this.#bits.length === 0) return false
    return this.#places(text).every((bit) => ((this.#bits[bit >> 3] ?? 0) >> (bit & 7)) & 1)
  }

  // Derives all hashes from the two halves of one digest.
  #places(text: string): number[] {
    const hex = digest(text)
    const [first, step] = [hex.slice(0, 8), hex.slice(8)].map((half) => Number.parseInt(half, 16))
    const count = this.#bits.length * 8
    return Array.from({ length: HASHES }, (_, n) => ((first ?? 0) + n * (step || 1)) % count)
  }
}
