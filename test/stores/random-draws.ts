// What random calls are made of. The same seed gives the same draws.
import type { AttributeChanges, InitialTurn, ListQuery, StoredMessage } from '../../src/core/stores/store.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'

/** Sessions, nonces and turn ids are as large as real ones. */
export const LARGE = 2 ** 47

export class RandomDraws {
  readonly #random: SeededRandom
  #drawn = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  below(limit: number): number {
    return this.#random.below(limit)
  }

  chance(probability: number): boolean {
    return this.#random.chance(probability)
  }

  pick<T>(list: readonly T[]): T {
    return this.#random.pick(list)
  }

  attributeTest(): NonNullable<ListQuery['attributes']>[number] {
    const value = this.pick<string | number | boolean | { at: number }>([
      'x',
      'y',
      this.below(3),
      true,
      { at: this.below(3) },
    ])
    return {
      name: this.pick(['p', 'q']),
      is: this.pick(['eq', 'eq', 'gt', 'gte', 'lt', 'lte'] as const),
      value,
    }
  }

  attributes(): AttributeChanges {
    const value = (): AttributeChanges[string] =>
      this.pick([null, 'x', 'y', this.below(3), true, false, { at: this.below(3) }, ['x', 'z'], ['y'], []])
    return { p: value(), ...(this.chance(0.4) && { q: value() }) }
  }

  firstTurn(): InitialTurn {
    return { turnId: this.number(), count: 1 + this.below(3), body: this.body() }
  }

  message(): StoredMessage {
    return { id: `m${this.#drawn++}`, body: this.body() }
  }

  body(): string {
    return `{"n":${this.#drawn++}}`
  }

  number(): number {
    return LARGE + 1_000 + this.#random.below(1_000_000_000)
  }

  id(): string {
    const hex = (digits: number): string =>
      Array.from({ length: digits }, () => this.#random.below(16).toString(16)).join('')
    return `${hex(8)}-${hex(4)}-7${hex(3)}-8${hex(3)}-${hex(12)}`
  }

  maybe<T extends object>(probability: number, make: () => T): T | Record<string, never> {
    return this.#random.chance(probability) ? make() : {}
  }
}
