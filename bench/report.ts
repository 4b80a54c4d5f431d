// The tables. As a program it joins result files: node report.ts results/a.json results/b.json
import { judge } from './bars.ts'
import { type Figures, type MedianCell, type Medians, mediansOf, type Row, readResults } from './results.ts'

export function renderReport(rows: readonly Row[]): string {
  const medians = new Map(rows.map((row) => [row.id, mediansOf(row)]))
  return [
    '## Figures\n',
    renderFigures(medians),
    legend,
    '\n## pawl against the best of its peers\n',
    renderVerdicts(medians),
    '\n## Settings\n',
    ...rows.map(describeRow),
    ...faults(medians),
  ].join('\n')
}

const legend = `
\\* a time cap came before the full count (latency: fewer samples; rate: over what finished)
! never quiet: other programs or the hypervisor took CPU in every round of this cell
DISQUALIFIED: a step body ran twice or not at all; ERROR: it failed in every round`

interface Column {
  title: string
  cell(medians: Medians): MedianCell | undefined
  show(figures: Figures): string
}

const columns: readonly Column[] = [
  { title: 'W1 ms', cell: (row) => row.W1, show: latency },
  { title: 'W2 ms', cell: (row) => row.W2, show: latency },
  { title: 'W2 ms/step', cell: (row) => row.W2, show: (it) => round(it.perStep, 2) },
  { title: 'W3 workflows/s', cell: (row) => row.W3, show: (it) => round(it.drainPerSecond, 0) },
  { title: 'W4 ms', cell: (row) => row.W4, show: (it) => round(it.p50, 1) },
  { title: 'W5 start/s', cell: (row) => row.W5, show: (it) => round(it.startPerSecond, 0) },
  { title: 'W5 drain/s', cell: (row) => row.W5, show: (it) => round(it.drainPerSecond, 0) },
  { title: 'W6 ms', cell: (row) => row.W6, show: latency },
  { title: 'MB idle', cell: (row) => row.idle, show: memory },
  { title: 'MB after W3', cell: (row) => row.W3, show: memory },
]

function renderFigures(medians: ReadonlyMap<string, Medians>): string {
  const lines = [...medians].map(([id, row]) => [id, ...columns.map((column) => renderCell(column, row))])
  return renderTable(['', ...columns.map(({ title }) => title)], lines)
}

function renderCell(column: Column, row: Medians): string {
  const cell = column.cell(row)
  if (!cell) return '-'
  switch (cell.kind) {
    case 'measured':
      return column.show(cell.figures) + (cell.capped ? '\\*' : '') + (cell.noisy ? '!' : '')
    case 'disqualified':
      return 'DISQUALIFIED'
    case 'failed':
      return 'ERROR'
  }
}

function renderVerdicts(medians: ReadonlyMap<string, Medians>): string {
  const lines = judge(medians).map((it) => [it.name, it.ours, it.best, it.ratio, it.wanted, it.verdict])
  return renderTable(['bar', 'pawl', 'best peer', 'ratio', 'wanted', 'verdict'], lines)
}

function describeRow(row: Row): string {
  const versions = Object.entries(row.versions).map(([name, version]) => `${name} ${version}`)
  return `- ${row.id} (${versions.join(', ')}): ${row.settings}.`
}

/** The table has no room for reasons, and nobody should have to guess them. */
function faults(medians: ReadonlyMap<string, Medians>): string[] {
  const found: string[] = []
  for (const [id, row] of medians) {
    for (const [thing, cell] of Object.entries(row)) {
      if (cell.kind !== 'measured') {
        found.push(`- ${id} ${thing} ${cell.kind}: ${cell.reason.split('\n', 1)[0]}`)
      } else if (cell.failures > 0) {
        found.push(`- ${id} ${thing} failed in ${cell.failures} of its rounds`)
      }
    }
  }
  return found.length > 0 ? ['\n## What went wrong\n', ...found] : []
}

export function renderTable(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const rule = head.map(() => '---')
  return [head, rule, ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n')
}

function latency({ p50, p99 }: Figures): string {
  return `${round(p50, 2)} / ${round(p99, 2)}`
}

function memory({ residentMegabytes, serverMegabytes }: Figures): string {
  const server = serverMegabytes === undefined ? '' : ` + ${round(serverMegabytes, 0)}`
  return round(residentMegabytes, 0) + server
}

function round(value: number | undefined, digits: number): string {
  if (value === undefined || !Number.isFinite(value)) return '-'
  return value.toFixed(value >= 100 ? 0 : digits)
}

if (import.meta.main) console.log(renderReport(readResults(process.argv.slice(2))))
