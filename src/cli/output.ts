// Output of the command line: colours, tables, times. Node's styleText applies colours only on a terminal without
// NO_COLOR. `print` and `printError` write everything and escape control characters, except the colours of this file.
import { inspect, stripVTControlCharacters, styleText } from 'node:util'
import { formatDuration } from '../core/base/time.ts'
import { visible, visibleLines } from '../core/base/visible.ts'
import type { Status } from '../index.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta' | 'blue'

export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

export function paintStatus(status: Status): string {
  return paint(statusStyles[status], status)
}

export const statusStyles: Readonly<Record<Status, Style>> = {
  pending: 'cyan',
  running: 'blue',
  waiting: 'yellow',
  paused: 'magenta',
  compensating: 'magenta',
  completed: 'green',
  failed: 'red',
  cancelled: 'dim',
  moved: 'dim',
}

export function print(text = ''): void {
  process.stdout.write(`${harmless(text, process.stdout)}\n`)
}

/** Prints a text without a line break at its end. */
export function printText(text: string): void {
  process.stdout.write(harmless(text, process.stdout))
}

/** Prints to standard error, which is not for results. */
export function printError(text: string): void {
  process.stderr.write(`${harmless(text, process.stderr)}\n`)
}

/** The message of an error after `error:` in red. */
export function errorLine(text: string): string {
  return `${styleText('red', 'error:', { stream: process.stderr })} ${text}`
}

const escape = String.fromCharCode(27)
const styling = new RegExp(`(${escape}\\[[0-9;]*m)`)
/** The escape sequences that `paint` writes. */
const painting = new RegExp(`(${escape}\\[(?:1|2|22|3[1-6]|39)m)`)

/** Escapes control characters. Where colours are off, the sequences of `paint` are escaped, too. */
function harmless(text: string, stream: NodeJS.WriteStream): string {
  if (styleText('red', '.', { stream }) === '.') return visibleLines(text)
  const parts = text.split(painting)
  return parts.map((part, index) => (index % 2 === 1 ? part : visibleLines(part))).join('')
}

/** Prints a value as JSON, for `--json`. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, jsonable, 2) ?? 'null')
}

/** Prints a value as one line of JSON, for `--json` of a command that prints until it is stopped. */
export function printJsonLine(value: unknown): void {
  print(JSON.stringify(value, jsonable) ?? 'null')
}

/** Prints what was done: as facts with `--json`, else as a sentence. */
export function printDone(
  { json }: { readonly json?: true },
  facts: Readonly<Record<string, unknown>>,
  done: string,
): void {
  if (json) printJson({ ...facts, done })
  else print(proseLines(done))
}

// Values that JSON cannot represent are converted to the nearest JSON value.
function jsonable(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map || value instanceof Set) return [...value]
  return value
}

/** A value of a run, printed after `indent` columns: on one line if it fits. */
export function showValue(value: unknown, indent: number): string {
  const text = inspect(value, { breakLength: columns() - indent, depth: 8, compact: 4 })
  return text
    .split('\n')
    .map(plain)
    .join(`\n${' '.repeat(indent)}`)
}

/** The text on one line, with control characters escaped. */
export function plain(text: string): string {
  return visible(text.replace(/[\r\n\t]+/g, ' '))
}

/** Like `plain`, for prose that may contain colours, which are removed. */
export function plainProse(text: string): string {
  return plain(stripVTControlCharacters(text))
}

/** Like `plainProse`, but keeps the line breaks. */
export function proseLines(text: string): string {
  return text.split(/\r?\n/).map(plainProse).join('\n')
}

/** `1 run`, `2 runs`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}

/** The width of the terminal, or `otherwise` without one. Some terminals report 0 columns. */
export function columns(otherwise = 100): number {
  return process.stdout.isTTY ? Math.max(20, process.stdout.columns || 80) : otherwise
}

export function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - visibleLength(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - visibleLength(text))) + text
}

/** Shortens the text to `width` columns; colours do not count. */
export function clip(text: string, width: number): string {
  if (visibleLength(text) <= width) return text
  let room = Math.max(0, width - 1)
  let clipped = false
  const kept = text.split(styling).map((part) => {
    if (styling.test(part)) return part
    if (clipped) return ''
    const shown = part.slice(0, room)
    room -= shown.length
    clipped = shown.length < part.length
    return clipped ? `${shown}…` : shown
  })
  return kept.join('')
}

export interface Column {
  readonly title: string
  /** The column may be shortened to this width if the terminal is narrow. */
  readonly least?: number
  readonly align?: 'end'
  /** The column is left out if the terminal is still too narrow, the last one first. */
  readonly optional?: true
}

export function printTable(heads: readonly Column[], rows: readonly (readonly string[])[]): void {
  for (const line of table(heads, rows)) print(line)
}

/** The lines of a table that fit the terminal. */
export function table(heads: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const widths = heads.map(({ title }, index) =>
    Math.max(title.length, ...rows.map((row) => visibleLength(row[index] ?? ''))),
  )
  // Only a terminal gets shortened columns; a program reads all of them.
  if (process.stdout.isTTY) shrink(heads, widths)
  const line = (cells: readonly string[]): string =>
    heads
      .map(({ align }, index) => {
        const width = widths[index] ?? 0
        const cell = clip(cells[index] ?? '', width)
        return align === 'end' ? padStart(cell, width) : padEnd(cell, width)
      })
      .filter((_, index) => widths[index] !== 0)
      .join('  ')
      .trimEnd()
  return [paint('dim', line(heads.map(({ title }) => title))), ...rows.map(line)]
}

function shrink(heads: readonly Column[], widths: number[]): void {
  let excess = widths.reduce((sum, width) => sum + width + 2, -2) - columns()
  for (const [index, { least }] of heads.entries()) {
    const width = widths[index] ?? 0
    if (excess <= 0 || least === undefined || width <= least) continue
    widths[index] = Math.max(least, width - excess)
    excess -= width - (widths[index] ?? 0)
  }
  for (let index = heads.length - 1; index > 0 && excess > 0; index--) {
    if (!heads[index]?.optional) continue
    excess -= (widths[index] ?? 0) + 2
    widths[index] = 0
  }
}

/** Breaks the text at spaces into lines of at most `width` columns. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && visibleLength(line) + 1 + visibleLength(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** '3 min ago', 'in 2 s'. */
export function relative(time: Date, now: number): string {
  const ms = time.getTime() - now
  if (Math.abs(ms) < 500) return 'now'
  return ms > 0 ? `in ${formatAge(ms)}` : `${formatAge(-ms)} ago`
}

/** The time between two instants; 0 if the clock was set back in between. */
export function spent(from: Date | number, to: Date | number): string {
  return formatDuration(Math.max(0, Number(to) - Number(from)))
}

/** A duration rounded to a tenth of a second, or to seconds from 10 s. */
export function formatAge(ms: number): string {
  const grain = ms < 10_000 ? 100 : 1_000
  return formatDuration(Math.max(0, Math.round(ms / grain) * grain))
}

/** Local time to the second, with the date unless it is today. */
export function clockTime(time: Date, now: number): string {
  const [date, clock] = [time.toLocaleDateString('sv-SE'), time.toLocaleTimeString('sv-SE')]
  return date === new Date(now).toLocaleDateString('sv-SE') ? clock : `${date} ${clock}`
}

/** The URL of a store without passwords. */
export function showStore(url: string): string {
  // Up to the last @: a password that should have been encoded may contain further ones, and slashes.
  return url.replace(/(\/\/[^/:@]*):.*@/, '$1:***@').replace(/(password=)[^&]*/gi, '$1***')
}
