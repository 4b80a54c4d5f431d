// Where log lines go unless the user says otherwise: standard error, one line each.
import { inspect } from 'node:util'
import { visibleLines } from '../base/visible.ts'

const INSPECT = { breakLength: Number.POSITIVE_INFINITY, depth: 4 } as const

/** Where lines of the log go. */
export interface Logger {
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, fields?: object): void
}

export const consoleLogger: Logger = {
  log(level, message, fields) {
    const rest = fields && Object.keys(fields).length > 0 ? ` ${inspect(fields, INSPECT)}` : ''
    console.error(visibleLines(`pawl ${level}: ${message}${rest}`))
  },
}
