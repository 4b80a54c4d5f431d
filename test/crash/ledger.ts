// What really happened in the worker processes, written down outside the store: one file for each process, one line
// for each beginning of a step body, each result that the process was told is durable, and each lease it lost.
import { appendFileSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A step body has begun. */
export interface Begun {
  readonly type: 'begun'
  readonly runId: string
  readonly key: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly pid: number
  /** Microseconds of CLOCK_MONOTONIC, which all processes of a machine share. */
  readonly order: number
  /** Steps whose results the code had in hand when it asked for this one. */
  readonly after: readonly string[]
}

/** A step body has come to its end, or was aborted. */
export interface Left {
  readonly type: 'left'
  readonly runId: string
  readonly key: string
  readonly attempt: number
  readonly pid: number
  readonly order: number
}

/** The worker was told that the result of a step is recorded. It was so some time before `order`. */
export interface Recorded {
  readonly type: 'recorded'
  readonly runId: string
  readonly key: string
  readonly pid: number
  readonly order: number
}

/** The worker gave up a run because its lease was no longer its own. */
export interface Lost {
  readonly type: 'lost'
  readonly runId: string
  readonly pid: number
  readonly order: number
}

export type LedgerLine = Begun | Left | Recorded | Lost
type Written<Line> = Line extends LedgerLine ? Omit<Line, 'pid' | 'order'> : never

export class LedgerFile {
  readonly #file: number

  constructor(folder: string) {
    this.#file = openSync(join(folder, `${process.pid}.ledger`), 'a')
  }

  // One write for one line: a process that is killed leaves whole lines, or none.
  write(line: Written<LedgerLine>): void {
    const order = Number(process.hrtime.bigint() / 1_000n)
    appendFileSync(this.#file, `${JSON.stringify({ ...line, pid: process.pid, order })}\n`)
  }
}

export function readLedgers(folder: string): LedgerLine[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ledger'))
  return files.flatMap((name) => {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n')
    return lines.slice(0, -1).map((line) => JSON.parse(line) as LedgerLine)
  })
}
