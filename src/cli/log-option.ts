// `--log`: lines for people, or JSON for machines.
import { Option } from 'commander'
import { consoleLogger, type Logger } from '../core/runtime/logger.ts'
import { jsonLogger } from '../index.ts'

export const LOG_FORMATS = ['text', 'json'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

export function logOption(): Option {
  return new Option('--log <format>', 'how to log to standard error').choices(LOG_FORMATS).env('PAWL_LOG')
}

export function loggerOf(format: LogFormat = 'text'): Logger {
  return format === 'json' ? jsonLogger() : consoleLogger
}
