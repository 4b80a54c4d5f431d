// Draws a timeline as text: the start of each row, a bar for its duration, and its outcome.
import { unreachable } from '../core/base/assert.ts'
import { formatDuration } from '../core/base/time.ts'
import type { TimelineRow as Row, Timeline } from '../index.ts'
import { clip, padEnd, padStart, paint, plain, type Style } from './output.ts'
import { showFailure } from './show-why.ts'

interface Layout {
  readonly name: number
  readonly bar: number
  readonly width: number
}

const offsetWidth = 9

export function drawTimeline(timeline: Timeline, width: number): string[] {
  const longest = Math.max(0, ...timeline.rows.map((row) => row.name.length))
  const name = Math.min(longest, Math.max(10, Math.floor(width / 4)))
  const bar = Math.max(8, Math.min(32, width - name - offsetWidth - 38))
  const layout = { name, bar, width }
  return timeline.rows.flatMap((row) => draw(row, timeline, layout))
}

function draw(row: Row, timeline: Timeline, layout: Layout): string[] {
  const offset = padStart(`+${formatDuration(span(timeline.from, row.from))}`, offsetWidth)
  const head = [
    paint('dim', offset),
    mark(row),
    padEnd(clip(plain(row.name), layout.name), layout.name),
    barOf(row, timeline, layout.bar),
    padEnd(took(row), 8),
    paint('dim', remarks(row)),
  ].join(' ')
  const indent = ' '.repeat(offsetWidth + 3)
  const notes = notesOf(row).map((note) => clip(`${indent}${paint('red', '↳')} ${note}`, layout.width))
  return [clip(head.trimEnd(), layout.width), ...notes]
}

function mark(row: Row): string {
  switch (row.outcome) {
    case 'done':
      return row.kind === 'mark' ? paint('dim', '■') : paint('green', '✓')
    case 'failed':
      return paint('red', '✗')
    case 'timeout':
      return paint('yellow', '⏱')
    case 'cancelled':
      return paint('dim', '-')
    case 'skipped':
      return paint('dim', '○')
    case 'open':
      return paint('yellow', '…')
    default:
      return unreachable(row.outcome)
  }
}

// The bars start at the first row; only the offset shows how long the run waited to start.
function barOf(row: Row, { rows, to }: Timeline, width: number): string {
  const from = rows[0]?.from ?? to
  const whole = span(from, to)
  const scale = (time: Date): number => (whole > 0 ? (Math.min(span(from, time), whole) / whole) * width : 0)
  const first = Math.min(width - 1, Math.floor(scale(row.from)))
  const last = Math.max(first + 1, Math.ceil(scale(row.to ?? to)))
  const failedAt = new Set(row.retries.map(({ at }) => Math.min(last - 1, Math.floor(scale(at)))))
  const cells: string[] = []
  for (let cell = 0; cell < width; cell++) {
    if (cell < first || cell >= last) cells.push(paint('dim', '·'))
    else if (failedAt.has(cell)) cells.push(paint('red', '✗'))
    else cells.push(paint(styleOf(row), isWaiting(row) ? '─' : '█'))
  }
  return cells.join('')
}

function isWaiting(row: Row): boolean {
  return ['sleep', 'signal', 'condition'].includes(row.kind)
}

function styleOf(row: Row): Style {
  if (row.outcome === 'failed') return 'red'
  if (row.outcome === 'open') return 'yellow'
  if (row.outcome === 'cancelled' || row.outcome === 'skipped') return 'dim'
  if (row.kind === 'undo') return 'magenta'
  return isWaiting(row) ? 'blue' : 'green'
}

function took(row: Row): string {
  if (row.to === undefined) return paint('yellow', 'open')
  return row.kind === 'mark' || row.outcome === 'skipped' ? '' : formatDuration(span(row.from, row.to))
}

function remarks(row: Row): string {
  const { kind, attempts, items, outcome, note } = row
  const tries = attempts > 1 ? `${attempts} attempts` : ''
  const late = { timeout: 'timed out', cancelled: 'cancelled', skipped: 'skipped' } as const
  const end = outcome in late ? late[outcome as keyof typeof late] : ''
  const left = outcome === 'open' && row.left.has(attempts) ? 'left to be completed' : ''
  const done = items ? `${items.ended} of ${items.all} done` : ''
  const what = kind === 'mark' ? '' : kind === 'sideEffect' ? 'side effect' : kind
  return [what, done, tries, left, end, note === undefined ? '' : plain(note)].filter(Boolean).join(', ')
}

// An attempt without a failure was cut off: its worker died, and another worker tried again.
function notesOf(row: Row): string[] {
  const failed = new Map(row.retries.map(({ attempt, failure }) => [attempt, failure]))
  const notes: string[] = []
  for (let attempt = 1; attempt < row.attempts + (row.outcome === 'open' ? 1 : 0); attempt++) {
    const failure = failed.get(attempt) ?? row.left.get(attempt)
    const isLeft = row.left.has(attempt) && attempt === row.attempts
    if ((!failure && row.queued) || isLeft) continue
    notes.push(
      failure
        ? `attempt ${attempt} failed: ${showFailure(failure)}`
        : `attempt ${attempt} was cut off: its worker died`,
    )
  }
  if (row.failure) notes.push(`gave up: ${showFailure(row.failure)}`)
  return notes
}

function span(from: Date, to: Date): number {
  return to.getTime() - from.getTime()
}
