// The horizontal axis of a timeline. A run may wait for days between two steps of a second, so stretches in which nothing
// but waits is open are folded to a fixed width.

export interface Span {
  readonly from: number
  readonly to: number
}

export interface Fold extends Span {
  /** Where it is drawn, in percent. */
  readonly at: number
  readonly width: number
}

export interface Scale {
  /** The place of a time, in percent of the width. */
  readonly x: (time: number) => number
  readonly folds: readonly Fold[]
  /** Times that have a label. */
  readonly ticks: readonly number[]
}

/** Of the width, in percent. */
const FOLD_WIDTH = 5
/** Idle time is folded if it is longer than this part of the whole, and than so many usual steps. */
const FOLD_SHARE = 0.05
const FOLD_BARS = 10
const TICKS = 6

interface Given extends Span {
  /** When bodies ran. */
  readonly work: readonly Span[]
  /** When children ran: time with one is not idle, but does not tell how long a step is. */
  readonly children?: readonly Span[]
  /** Times that count, such as the start and the end of a wait: a fold does not hide them. */
  readonly points: readonly number[]
  readonly isFolding: boolean
}

export function scaleOf({ from, to, work, children = [], points, isFolding }: Given): Scale {
  const end = Math.max(to, from + 1)
  const idle = isFolding && work.length > 0 ? idleSpans({ from, to: end, work, children, points }) : []
  const idleMs = idle.reduce((sum, each) => sum + each.to - each.from, 0)
  const perMs = (100 - idle.length * FOLD_WIDTH) / Math.max(1, end - from - idleMs)
  const folds: Fold[] = []
  let hidden = 0
  for (const each of idle) {
    const at = (each.from - from - hidden) * perMs + folds.length * FOLD_WIDTH
    folds.push({ ...each, at, width: FOLD_WIDTH })
    hidden += each.to - each.from
  }
  const x = (time: number): number => {
    const bounded = Math.min(Math.max(time, from), end)
    let ms = bounded - from
    let extra = 0
    for (const each of folds) {
      if (bounded <= each.from) break
      const inside = Math.min(bounded, each.to) - each.from
      ms -= inside
      extra += FOLD_WIDTH * (inside / (each.to - each.from))
    }
    return ms * perMs + extra
  }
  return { x, folds, ticks: ticksOf(from, end, { folds, x }) }
}

/** The stretches between two points in which nothing ran, if they are long. */
function idleSpans({ from, to, work, children, points }: Omit<Required<Given>, 'isFolding'>): readonly Span[] {
  const times = [from, to, ...points, ...work.flatMap((each) => [each.from, each.to])]
  const all = [...new Set(times.filter((each) => each >= from && each <= to))].toSorted((one, other) => one - other)
  const lengths = work.map((each) => each.to - each.from).toSorted((one, other) => one - other)
  const median = lengths[Math.floor(lengths.length / 2)] ?? 0
  const least = Math.max((to - from) * FOLD_SHARE, median * FOLD_BARS)
  const sorted = [...work, ...children].toSorted((one, other) => one.from - other.from)
  let busyUntil = from
  let next = 0
  const found: Span[] = []
  for (const [index, start] of all.entries()) {
    const stop = all[index + 1]
    for (let each = sorted[next]; each && each.from <= start; each = sorted[++next])
      busyUntil = Math.max(busyUntil, each.to)
    if (stop === undefined || busyUntil > start || stop - start <= least) continue
    // A little of the wait stays on both sides, so that its marks can be seen.
    const rest = Math.min((stop - start) * 0.02, median)
    found.push({ from: start + rest, to: stop - rest })
  }
  return found.slice(0, 8)
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000]

function ticksOf(from: number, to: number, { folds, x }: Pick<Scale, 'folds' | 'x'>): readonly number[] {
  const shownMs = to - from - folds.reduce((sum, each) => sum + each.to - each.from, 0)
  const wanted = shownMs / TICKS
  const step = STEPS.find((each) => each >= wanted) ?? Math.ceil(wanted / 60_000) * 60_000
  const ticks: number[] = []
  let last = Number.NEGATIVE_INFINITY
  const spans = [from, ...folds.map((each) => each.to)]
  for (const [index, start] of spans.entries()) {
    const stop = folds[index]?.from ?? to
    for (let at = index === 0 ? start : start + step / 2; at < stop && ticks.length < 20; at += step) {
      if (x(at) - last < 8) continue
      last = x(at)
      ticks.push(at)
    }
  }
  return ticks
}
