// The difference of two texts, line by line.

export interface Line {
  readonly kind: 'same' | 'add' | 'del'
  readonly text: string
}

/** Longer texts are compared from both ends only: what is between counts as replaced. */
const MOST = 1_500

export function diffOf(before: string, after: string): readonly Line[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const same = (lines: readonly string[]): Line[] => lines.map((text) => ({ kind: 'same', text }))
  return [
    ...same(old.slice(0, start)),
    ...between(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...same(old.slice(old.length - end)),
  ]
}

function between(old: readonly string[], now: readonly string[]): Line[] {
  const del = (text: string): Line => ({ kind: 'del', text })
  const add = (text: string): Line => ({ kind: 'add', text })
  if (old.length > MOST || now.length > MOST) return [...old.map(del), ...now.map(add)]
  const width = now.length + 1
  // The length of the longest common part of what follows, for each pair of places.
  const common = new Uint16Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      common[i * width + j] =
        old[i] === now[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0)
  const lines: Line[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < now.length) {
    const [left, right] = [old[i], now[j]]
    const isBoth = left !== undefined && right !== undefined
    if (isBoth && left === right) {
      lines.push({ kind: 'same', text: left })
      i++
      j++
    } else if (right === undefined || (isBoth && goesDown(common, { i, j, width }))) {
      lines.push(del(left ?? ''))
      i++
    } else {
      lines.push(add(right))
      j++
    }
  }
  return lines
}

function goesDown(common: Uint16Array, { i, j, width }: { i: number; j: number; width: number }): boolean {
  return (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0)
}
