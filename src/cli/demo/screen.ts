// Shows the demo: redrawn in place on a terminal, line by line elsewhere.
import { unreachable } from '../../core/base/assert.ts'
import { clip, columns, padEnd, paint, print, wrap } from '../output.ts'
import { whySentence } from '../show-why.ts'
import type { DemoSnapshot, StepState, StepView } from './snapshot.ts'

export interface Screen {
  show(snapshot: DemoSnapshot, elapsedMs: number): void
  /** Prints a line that stays. */
  say(text: string, elapsedMs: number): void
  /** Removes everything but the lines of `say`. */
  close(): void
}

/** The height that redrawing needs; a lower terminal gets lines that scroll. */
const rowsMin = 24

export function newScreen(): Screen {
  const { isTTY, rows } = process.stdout
  return isTTY && rows >= rowsMin ? new LiveScreen() : new PlainScreen()
}

class PlainScreen implements Screen {
  readonly #shown = new Map<string, string>()

  show(snapshot: DemoSnapshot, elapsedMs: number): void {
    for (const { name, state, text } of snapshot.steps) {
      if (state === 'coming' || this.#shown.get(name) === text) continue
      this.#shown.set(name, text)
      print(`${stamp(elapsedMs)}  ${mark(state, 0)} ${padEnd(name, 15)} ${text}`)
    }
  }

  say(text: string, elapsedMs: number): void {
    print(`${stamp(elapsedMs)}  ${text}`)
  }

  close(): void {}
}

const hideCursor = '\u001b[?25l'
const showCursor = '\u001b[?25h'
const clearBelow = '\u001b[0J'

class LiveScreen implements Screen {
  #drawn: readonly string[] = []
  #frame = 0

  constructor() {
    process.stdout.write(hideCursor)
  }

  show(snapshot: DemoSnapshot, elapsedMs: number): void {
    this.#frame++
    this.#redraw([], this.#block(snapshot, elapsedMs))
  }

  say(text: string, elapsedMs: number): void {
    const indent = ' '.repeat(8)
    const lines = wrap(text, columns() - indent.length)
    const said = lines.map((line, index) =>
      index === 0 ? `${paint('dim', stamp(elapsedMs))}  ${line}` : `${indent}${line}`,
    )
    this.#redraw(said, this.#drawn)
  }

  close(): void {
    this.#redraw([], [])
    process.stdout.write(showCursor)
  }

  // One write, so that no partial screen is visible.
  #redraw(said: readonly string[], block: readonly string[]): void {
    const up = this.#drawn.length > 0 ? `\u001b[${this.#drawn.length}A\r` : '\r'
    const text = [...said, ...block].map((line) => `${line}\n`).join('')
    process.stdout.write(`${up}${clearBelow}${text}`)
    this.#drawn = block
  }

  #block(snapshot: DemoSnapshot, elapsedMs: number): string[] {
    const width = columns() - 1
    const why = wrap(`why  ${whySentence(snapshot.why, snapshot.now)}`, width - 3)
    const workers = snapshot.workers.map(({ id, pid, alive }) =>
      alive ? `${paint('green', '●')} ${id} pid ${pid}` : paint('red', `✗ ${id} killed`),
    )
    const lines = [
      '',
      ...snapshot.steps.map((step) => this.#step(step)),
      '',
      `  ${workers.join('   ')}   ${paint('dim', stamp(elapsedMs).trim())}`,
      // Always two lines, so that the screen does not jump.
      ...[why[0] ?? '', why[1] ?? ''].map((line) => `  ${paint('yellow', line)}`),
    ]
    return lines.map((line) => clip(line, width))
  }

  #step({ name, state, text }: StepView): string {
    const line = `  ${mark(state, this.#frame)} ${padEnd(name, 15)} `
    return state === 'coming' ? paint('dim', line + text) : line + text
  }
}

const spinner = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'

function mark(state: StepState, frame: number): string {
  switch (state) {
    case 'coming':
      return '·'
    case 'running':
      return paint('cyan', frame === 0 ? '▶' : (spinner[frame % spinner.length] ?? '▶'))
    case 'waiting':
      return paint('yellow', '…')
    case 'retrying':
      return paint('yellow', '↻')
    case 'cutOff':
      return paint('red', '✗')
    case 'recorded':
      return paint('green', '✓')
    default:
      return unreachable(state)
  }
}

function stamp(elapsedMs: number): string {
  return `${(elapsedMs / 1000).toFixed(1).padStart(4)} s`
}
