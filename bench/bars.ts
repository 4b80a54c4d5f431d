// The bars pawl set itself, against the best of the named peers. A bar is stated as a factor: a latency
// passes when it is at most the peers' best times the factor, a rate when it is at least that.
import type { Figure, Measured, MedianCell, Medians } from './results.ts'

interface Bar {
  name: string
  ours: string
  thing: Measured
  figure: Figure
  peers: readonly string[]
  factor: number
  better: 'lower' | 'higher'
}

export interface Verdict {
  name: string
  ours: string
  best: string
  ratio: string
  wanted: string
  verdict: string
}

/** Tuned and default rows both stand: the best of them counts. */
const dbosAndRestate = ['dbos', 'dbos-queue', 'restate']
const postgresEngines = ['dbos', 'dbos-tuned', 'restate', 'absurd', 'openworkflow-postgres']
const graphileRows = ['graphile-worker', 'graphile-worker-batched']
const fanoutEngines = ['dbos', 'dbos-queue', 'restate', 'absurd', 'openworkflow-postgres']

const bars: readonly Bar[] = [
  latencyBar('W1 start to result', 'pawl-postgres', 'W1', 'p50', dbosAndRestate, 1 / 3),
  latencyBar('W1 start to result', 'pawl-sqlite', 'W1', 'p50', dbosAndRestate, 1 / 7),
  latencyBar('W2 per step', 'pawl-postgres', 'W2', 'perStep', dbosAndRestate, 1 / 3),
  rateBar('W3 workflows/s', 'pawl-postgres', 'W3', postgresEngines, 6),
  rateBar('W3 workflows/s', 'pawl-sqlite', 'W3', ['restate'], 10),
  latencyBar('W4 fan-out', 'pawl-postgres', 'W4', 'p50', fanoutEngines, 1 / 3),
  rateBar('W5 drain/s', 'pawl-postgres', 'W5', ['pg-boss-tuned'], 1 / 4),
  rateBar('W5 drain/s', 'pawl-postgres', 'W5', ['graphile-worker-batched'], 1 / 4),
  latencyBar('W6 pick-up', 'pawl-postgres', 'W6', 'p50', graphileRows, 1),
]

export function judge(medians: ReadonlyMap<string, Medians>): Verdict[] {
  return bars.map((bar) => judgeBar(bar, medians))
}

function judgeBar(bar: Bar, medians: ReadonlyMap<string, Medians>): Verdict {
  const cellOf = (id: string): MedianCell | undefined => medians.get(id)?.[bar.thing]
  const own = figureOf(cellOf(bar.ours), bar.figure)
  const best = bestPeer(bar, cellOf)
  const ratio = own !== undefined && best ? own / best.figure : undefined
  const absent = bar.peers.filter((id) => figureOf(cellOf(id), bar.figure) === undefined)
  return {
    name: bar.name,
    ours: `${bar.ours} ${own?.toFixed(2) ?? describeAbsence(cellOf(bar.ours))}`,
    best: best ? `${best.id} ${best.figure.toFixed(2)}` : 'not measured',
    ratio: ratio === undefined ? '-' : `${ratio.toFixed(2)}x`,
    wanted: `${bar.better === 'lower' ? 'at most' : 'at least'} ${bar.factor.toFixed(2)}x`,
    verdict: describeVerdict(bar, ratio, absent, [cellOf(bar.ours), best && cellOf(best.id)]),
  }
}

function bestPeer(bar: Bar, cellOf: (id: string) => MedianCell | undefined) {
  const direction = bar.better === 'lower' ? 1 : -1
  return bar.peers
    .flatMap((id) => {
      const figure = figureOf(cellOf(id), bar.figure)
      return figure === undefined ? [] : [{ id, figure }]
    })
    .toSorted((left, right) => direction * (left.figure - right.figure))[0]
}

/** A peer that is not in the table cannot be beaten, so the verdict names who was missing. */
function describeVerdict(
  bar: Bar,
  ratio: number | undefined,
  absent: readonly string[],
  compared: readonly (MedianCell | undefined)[],
): string {
  const [own] = compared
  if (own !== undefined && own.kind !== 'measured') return 'MISS'
  if (ratio === undefined) return '-'
  const passes = bar.better === 'lower' ? ratio <= bar.factor : ratio >= bar.factor
  const noisy = compared.some((cell) => cell?.kind === 'measured' && cell.noisy)
  const without = absent.length > 0 ? ` (without ${absent.join(', ')})` : ''
  return (passes ? 'pass' : 'MISS') + (noisy ? '!' : '') + without
}

const figureOf = (cell: MedianCell | undefined, figure: Figure): number | undefined =>
  cell?.kind === 'measured' ? cell.figures[figure] : undefined

const describeAbsence = (cell: MedianCell | undefined): string => cell?.kind ?? 'not measured'

function latencyBar(
  name: string,
  ours: string,
  thing: Measured,
  figure: Figure,
  peers: readonly string[],
  factor: number,
): Bar {
  return { name, ours, thing, figure, peers, factor, better: 'lower' }
}

function rateBar(name: string, ours: string, thing: Measured, peers: readonly string[], factor: number): Bar {
  return { name, ours, thing, figure: 'drainPerSecond', peers, factor, better: 'higher' }
}
