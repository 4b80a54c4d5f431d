// The difference of two texts by lines: the longest common subsequence. Equal beginnings and ends are set aside first,
// and very large texts are compared as a whole, so that no text makes the page slow.

export interface Line {
  readonly is: 'same' | 'added' | 'removed'
  readonly text: string
}

const CELLS_MAX = 4_000_000

export function difference(before: string, after: string): readonly Line[] {
  const [one, other] = [before.split('\n'), after.split('\n')]
  let first = 0
  while (first < one.length && first < other.length && one[first] === other[first]) first++
  let last = 0
  while (
    last < one.length - first &&
    last < other.length - first &&
    one[one.length - 1 - last] === other[other.length - 1 - last]
  ) {
    last++
  }
  const same = (lines: readonly string[]): Line[] => lines.map((text) => ({ is: 'same', text }))
  const middle = compared(one.slice(first, one.length - last), other.slice(first, other.length - last))
  return [...same(one.slice(0, first)), ...middle, ...same(one.slice(one.length - last))]
}

function compared(one: readonly string[], other: readonly string[]): readonly Line[] {
  const whole = (is: 'added' | 'removed', lines: readonly string[]): Line[] => lines.map((text) => ({ is, text }))
  if (one.length * other.length > CELLS_MAX) return [...whole('removed', one), ...whole('added', other)]
  const width = other.length + 1
  /** The length of the longest common subsequence of what begins at (row, column). */
  const lengths = new Uint32Array((one.length + 1) * width)
  const at = (row: number, column: number): number => lengths[row * width + column] ?? 0
  for (let row = one.length - 1; row >= 0; row--) {
    for (let column = other.length - 1; column >= 0; column--) {
      lengths[row * width + column] =
        one[row] === other[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
    }
  }
  const lines: Line[] = []
  let [row, column] = [0, 0]
  while (row < one.length || column < other.length) {
    const [left, right] = [one[row], other[column]]
    if (left !== undefined && left === right) {
      lines.push({ is: 'same', text: left })
      row++
      column++
    } else if (right === undefined || (left !== undefined && at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ is: 'removed', text: left ?? '' })
      row++
    } else {
      lines.push({ is: 'added', text: right })
      column++
    }
  }
  return lines
}
