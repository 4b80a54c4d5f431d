// A file that says which step bodies really ran. It knows nothing of pawl: it is the outside world of the demo.
import { appendFileSync, readFileSync } from 'node:fs'

export interface LedgerLine {
  readonly step: string
  readonly attempt: number
  readonly pid: number
}

export function writeLedger(file: string, line: LedgerLine): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`)
}

export function readLedger(file: string): readonly LedgerLine[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  // What follows the last line break is nothing, or a line being written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as LedgerLine)
}
