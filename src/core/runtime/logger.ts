// The logger, and its default: one line on standard error for each log line.
import { inspect } from 'node:util'
import { visibleLines } from '../base/visible.ts'

const INSPECT = { breakLength: Number.POSITIVE_INFINITY, depth: 4 } as const

/** Receives the log lines of an engine: `open(url, { logger })`. Default: standard error. */
export interface Logger {
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: object): void
}

export const consoleLogger: Logger = {
  log(level, message, fields) {
    const rest = fields && Object.keys(fields).length > 0 ? ` ${inspect(fields, INSPECT)}` : ''
    console.error(visibleLines(`pawl ${level}: ${message}${rest}`))
  },
}
