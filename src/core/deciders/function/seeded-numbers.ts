// Numbers that look random and are the same in every replay of a run: they are derived from a seed.
import { digest } from '../../base/digest.ts'

export class SeededNumbers {
  #state: number

  constructor(seed: string) {
    this.#state = Number.parseInt(digest(seed).slice(0, 8), 16)
  }

  /** A number in [0, 1). Computed by mulberry32, which is small and fast but not fit for secrets. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  uuid(): string {
    const hex = Array.from({ length: 4 }, () =>
      Math.floor(this.fraction() * 2 ** 32)
        .toString(16)
        .padStart(8, '0'),
    ).join('')
    const variant = (8 + (Number.parseInt(hex.slice(16, 17), 16) & 3)).toString(16)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`
  }
}
