// Options that all handlers have.
import type { ActivityOptions } from '../definitions/options.ts'
import { PawlError } from '../kernel/errors.ts'

export interface HandlerOptions {
  /** Under another name than its own, as for a second one with other options. */
  readonly name?: string
  /** Retries, queue and time limits, as for any activity. */
  readonly activity?: ActivityOptions
}

export function checkedSize(given: number, what: string, max: number): number {
  if (Number.isSafeInteger(given) && given >= 0 && given <= max) return given
  const message = `${what} is ${given}; expected a whole number from 0 to ${max}.`
  throw new PawlError('DEFINITION_INVALID', message)
}
