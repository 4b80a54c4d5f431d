// A file that records which step bodies really ran. It is independent of pawl: the outside world of the demo.
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
  // After the last line break there is nothing, or a line that is being written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as LedgerLine)
}
