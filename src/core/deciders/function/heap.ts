// A binary heap of numbers, smallest first.

export class MinHeap {
  readonly #items: number[] = []

  get size(): number {
    return this.#items.length
  }

  push(value: number): void {
    const items = this.#items
    let index = items.push(value) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = items[parent] as number
      if (above <= value) break
      items[index] = above
      index = parent
    }
    items[index] = value
  }

  pop(): number | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (last === undefined || items.length === 0) return first
    let index = 0
    for (;;) {
      const child = this.#smallerChild(index)
      if (child === undefined || (items[child] as number) >= last) break
      items[index] = items[child] as number
      index = child
    }
    items[index] = last
    return first
  }

  #smallerChild(index: number): number | undefined {
    const left = 2 * index + 1
    const right = left + 1
    const items = this.#items
    if (left >= items.length) return undefined
    const rightWins = right < items.length && (items[right] as number) < (items[left] as number)
    return rightWins ? right : left
  }
}
