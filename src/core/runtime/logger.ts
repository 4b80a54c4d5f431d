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
    const shown = Object.fromEntries(
      Object.entries(fields ?? {}).filter(([name, value]) => isShown(name, value, message)),
    )
    const rest = Object.keys(shown).length > 0 ? ` ${inspect(shown, INSPECT)}` : ''
    console.error(visibleLines(`pawl ${level}: ${message}${rest}`))
  },
}

/** Only for machines, which do not read the message: see `jsonLogger`. */
const HIDDEN: ReadonlySet<string> = new Set(['workflowId', 'worker', 'traceId'])

// The console does not repeat what the message says.
function isShown(name: string, value: unknown, message: string): boolean {
  if (name === 'runId' || name === 'workflow') return !message.includes(String(value))
  return !HIDDEN.has(name)
}
