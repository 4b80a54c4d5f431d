// A list that is always in order. It consists of short pieces, so that adding an item moves few others.

const PIECE_MAX = 512

export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number
  /** No piece is empty. */
  readonly #pieces: T[][] = []

  /** No two items may compare as equal, unless they are the same. */
  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0
  }

  add(item: T): void {
    const isBefore = (other: T): boolean => this.#compare(other, item) < 0
    const at = Math.min(this.#pieceAt(isBefore), this.#pieces.length - 1)
    const piece = this.#pieces[at]
    if (!piece) {
      this.#pieces.push([item])
      return
    }
    piece.splice(partition(piece, isBefore), 0, item)
    if (piece.length > PIECE_MAX) this.#pieces.splice(at + 1, 0, piece.splice(PIECE_MAX / 2))
  }

  delete(item: T): void {
    const isBefore = (other: T): boolean => this.#compare(other, item) < 0
    const at = this.#pieceAt(isBefore)
    const piece = this.#pieces[at]
    if (!piece) return
    const index = partition(piece, isBefore)
    if (piece[index] !== item) return
    piece.splice(index, 1)
    if (piece.length === 0) this.#pieces.splice(at, 1)
  }

  /** Items in order, from the first for which `isBefore` is false. */
  *from(isBefore: (item: T) => boolean = () => false): Generator<T> {
    for (let at = this.#pieceAt(isBefore); at < this.#pieces.length; at++) {
      const piece = this.#pieces[at] ?? []
      for (let index = partition(piece, isBefore); index < piece.length; index++) {
        yield piece[index] as T
      }
    }
  }

  // The first piece with an item for which `isBefore` is false.
  #pieceAt(isBefore: (item: T) => boolean): number {
    return partition(this.#pieces, (piece) => isBefore(piece.at(-1) as T))
  }
}

/** How many items at the front pass the test. Behind the first that fails, all must fail. */
function partition<T>(items: readonly T[], holds: (item: T) => boolean): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(items[middle] as T)) low = middle + 1
    else high = middle
  }
  return low
}
