// The lines of a terminal that a command keeps up to date.
import { print, visibleLength } from './output.ts'

const escape = String.fromCharCode(27)

export class Screen {
  readonly isTerminal = process.stdout.isTTY
  #rows = 0

  /** Replaces the lines that were shown before. */
  show(lines: readonly string[]): void {
    // Not by `print`, which escapes control characters.
    if (this.#rows > 0) process.stdout.write(`${escape}[${this.#rows}A${escape}[J`)
    // What scrolled off the top cannot be replaced, so only as many lines as fit are shown.
    const fitting = lines.slice(0, Math.max(1, (process.stdout.rows || 24) - 1))
    for (const line of fitting) print(line)
    const width = process.stdout.columns || 80
    this.#rows = fitting.reduce((sum, line) => sum + Math.max(1, Math.ceil(visibleLength(line) / width)), 0)
  }
}
