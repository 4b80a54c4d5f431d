// What a benchmark leaves behind, and its reduction to one figure per cell.
import { readFileSync } from 'node:fs'
import type { Noise } from './quiet.ts'
import { median } from './statistics.ts'
import { type Sizes, type Workload, workloads } from './workloads.ts'

export type Figure =
  | 'p50'
  | 'p99'
  | 'mean'
  | 'samples'
  | 'perStep'
  | 'startPerSecond'
  | 'drainPerSecond'
  | 'stepsPerSecond'
  | 'drainMs'
  | 'tailMs'
  | 'finished'
  | 'residentMegabytes'
  | 'serverMegabytes'

export type Figures = Partial<Record<Figure, number>>

/** The memory of an idle worker is measured beside the six workloads. */
export type Measured = Workload | 'idle'
export const measuredThings: readonly Measured[] = [...workloads, 'idle']

export type Cell =
  | {
      kind: 'measured'
      figures: Figures
      capped: boolean
      noisy: boolean
      noise: Noise | undefined
    }
  | { kind: 'disqualified'; reason: string }
  | { kind: 'failed'; reason: string }

/** What one attempt at a cell gave, before the noise is known. */
export interface Outcome {
  figures: Figures
  capped: boolean
}

export type Round = Partial<Record<Measured, Cell>>

export interface Row {
  id: string
  versions: Record<string, string>
  settings: string
  rounds: Round[]
}

export interface Machine {
  node: string
  processors: string[]
  memoryGigabytes: number
  kernel: string
  postgres: string
  redis: boolean
}

export interface Results {
  startedAt: string
  machine: Machine
  sizes: Sizes
  rows: Row[]
  /** Adapters that could not run here, and why. */
  skipped: Record<string, string>
}

export type MedianCell =
  | { kind: 'measured'; figures: Figures; capped: boolean; noisy: boolean; failures: number }
  | { kind: 'disqualified'; reason: string }
  | { kind: 'failed'; reason: string }

export type Medians = Partial<Record<Measured, MedianCell>>

export function mediansOf(row: Row): Medians {
  const medians: Medians = {}
  for (const thing of measuredThings) {
    const cells = row.rounds.flatMap((round) => round[thing] ?? [])
    const cell = medianCell(cells)
    if (cell) medians[thing] = cell
  }
  return medians
}

/** A single round in which the count was wrong is enough: a wrong engine has no speed. */
function medianCell(cells: readonly Cell[]): MedianCell | undefined {
  const disqualified = cells.find((cell) => cell.kind === 'disqualified')
  if (disqualified) return disqualified
  const measured = cells.filter((cell) => cell.kind === 'measured')
  if (measured.length === 0) return cells.find((cell) => cell.kind === 'failed')
  const quiet = measured.filter((cell) => !cell.noisy)
  const used = quiet.length > 0 ? quiet : measured
  return {
    kind: 'measured',
    figures: medianFigures(used.map((cell) => cell.figures)),
    capped: used.some((cell) => cell.capped),
    noisy: quiet.length === 0,
    failures: cells.length - measured.length,
  }
}

function medianFigures(rounds: readonly Figures[]): Figures {
  const medians: Figures = {}
  for (const name of new Set(rounds.flatMap((figures) => Object.keys(figures) as Figure[]))) {
    medians[name] = median(rounds.flatMap((figures) => figures[name] ?? []))
  }
  return medians
}

/** Joins result files: a row of a later file replaces the earlier one of the same name. */
export function readResults(files: readonly string[]): Row[] {
  const rows = new Map<string, Row>()
  for (const file of files) {
    const results: Results = JSON.parse(readFileSync(file, 'utf8'))
    for (const row of results.rows) rows.set(row.id, row)
  }
  return [...rows.values()]
}
