// A logger for machines: one JSON object per line.
import { inspect } from 'node:util'
import { checkOptions, type Described, fn } from '../base/described.ts'
import { limits } from '../base/limits.ts'
import { visibleJson } from '../base/visible.ts'
import type { Logger } from './logger.ts'

export const jsonLoggerOptions = {
  /** Takes each line, with its line break. Default: standard error. */
  write: fn<(line: string) => void>('Takes each line, with its line break.', { otherwise: 'standard error' }),
} as const
/** Options of `jsonLogger`. */
export interface JsonLoggerOptions extends Described<typeof jsonLoggerOptions> {}

/** Fields of pawl's own, which are properties of the object; all others are in its `fields`. */
const OWN = ['runId', 'workflowId', 'workflow', 'step', 'attempt', 'worker', 'traceId', 'requestId'] as const
const own: ReadonlySet<string> = new Set(OWN)

/**
 * A logger that writes one JSON object per line: time, level, message, what the line is about, and `fields`.
 *
 * ```ts
 * const engine = await open('sqlite:./pawl.db', { logger: jsonLogger() })
 * ```
 */
export function jsonLogger(options: JsonLoggerOptions = {}): Logger {
  checkOptions(jsonLoggerOptions, options, { of: 'jsonLogger' })
  const { write = (line: string) => void process.stderr.write(line) } = options
  return {
    log(level, message, fields = {}) {
      const time = new Date().toISOString()
      const known = Object.entries(fields).filter(([name]) => own.has(name))
      const others = Object.entries(fields).filter(([name]) => !own.has(name))
      const about = Object.fromEntries(known)
      const rest = others.length === 0 ? {} : { fields: Object.fromEntries(others) }
      write(`${lineOf({ time, level, message }, about, rest)}\n`)
    },
  }
}

// What no JSON can say, such as a cycle or a bigint, must not cost the line.
interface First {
  readonly time: string
  readonly level: string
  readonly message: string
}

function lineOf(first: First, about: object, rest: { readonly fields?: object }): string {
  const line =
    jsonOf({ ...first, ...about, ...rest }) ?? jsonOf({ ...first, fields: inspect({ ...about, ...rest.fields }) })
  if (line !== undefined && line.length <= limits.logLineLengthMax) return line
  const message = first.message.slice(0, limits.messageLengthMax)
  return jsonOf({ ...first, message, isCut: true }) ?? '{}'
}

// Escaped, so that no reader takes a sign in a text for the end of the line, or for a command of its terminal.
function jsonOf(value: object): string | undefined {
  try {
    return visibleJson(JSON.stringify(value))
  } catch {
    return undefined
  }
}
