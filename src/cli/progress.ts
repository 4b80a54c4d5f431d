// Progress of long work, on standard error: a bar on a terminal, nothing elsewhere, so that output can be piped.
import { styleText } from 'node:util'
import { columns } from './output.ts'

const BAR_WIDTH = 24

export class Progress {
  readonly #isShown = process.stderr.isTTY === true
  #shown = ''

  /** Shows how much is done. Without a total, only the number. */
  show(done: number, total: number | undefined, what: string): void {
    if (!this.#isShown) return
    const text = total === undefined ? `${done} ${what}` : `${bar(done, total)} ${done} of ${total} ${what}`
    const line = text.slice(0, columns() - 1)
    if (line === this.#shown) return
    this.#shown = line
    process.stderr.write(`\r${styleText('dim', line, { stream: process.stderr })}\u001b[K`)
  }

  /** Removes the line, so that what follows begins at the margin. */
  end(): void {
    if (this.#shown !== '') process.stderr.write('\r\u001b[K')
    this.#shown = ''
  }
}

/** Four tenths done: `━━━━──────`. */
export function bar(done: number, total: number, width: number = BAR_WIDTH): string {
  const full = total <= 0 ? width : Math.floor((Math.min(done, total) / total) * width)
  return '━'.repeat(full) + '─'.repeat(width - full)
}
