// Suggests an existing name for a misspelt one.

const lengthMax = 60

/** The first of the nearest candidates: at most two letters away, or one for a short name. */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > lengthMax) return undefined
  const given = name.toLowerCase()
  let found: string | undefined
  let least = (given.length > 4 ? 2 : 1) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - given.length) >= least) continue
    const distance = distanceOf(given, candidate.toLowerCase(), least)
    if (distance >= least || distance >= Math.max(given.length, candidate.length)) continue
    found = candidate
    least = distance
    if (least === 0) break
  }
  return found
}

/** The number of letters to add, remove, replace or swap, but at most `enough`. */
function distanceOf(a: string, b: string, enough: number): number {
  const width = b.length + 1
  let before: number[] = []
  let last = Array.from({ length: width }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    // Cells further from the diagonal are at least `enough`.
    const first = Math.max(1, row - enough)
    const end = Math.min(b.length, row + enough)
    const next = new Array<number>(width).fill(enough)
    if (row < enough) next[0] = row
    let least = at(next, 0)
    for (let column = first; column <= end; column++) {
      const replaced = at(last, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const isSwapped = row > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const swapped = isSwapped ? at(before, column - 2) + 1 : enough
      const moved = Math.min(at(last, column), at(next, column - 1)) + 1
      const distance = Math.min(replaced, swapped, moved, enough)
      next[column] = distance
      least = Math.min(least, distance)
    }
    if (least >= enough && !last.some((distance) => distance < enough)) return enough
    before = last
    last = next
  }
  return Math.min(at(last, b.length), enough)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
