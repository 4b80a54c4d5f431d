// Options that all handlers have.

import {
  checkOptions,
  type Described,
  type Description,
  named,
  nested,
  type Option,
  option,
} from '../../core/base/described.ts'
import { type Duration, formatDuration, milliseconds } from '../../core/base/duration.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import {
  type Activity,
  type ActivityHandler,
  type ActivityOptions,
  activity,
  activityOptions,
} from '../../core/index.ts'

export const commonOptions = {
  /** Under another name than its own, as for a second one with other options. */
  name: named(
    'Another name than its own, as for a second one with other options.',
    'the name of an activity',
    { otherwise: 'its own' },
  ),
  /** Retries, queue and time limits, as for any activity. */
  activity: nested('Retries, queue and time limits, as for any activity.', activityOptions),
} as const
export interface HandlerOptions extends Described<typeof commonOptions> {}

/** An activity whose input is described. */
export function describedActivity<In, Out>(
  name: string,
  options: ActivityOptions | undefined,
  input: Description,
  handler: ActivityHandler<In, Out>,
): Activity<In, Out> {
  return { ...activity<Out, In>(name, options ?? {}, handler), '~input': input }
}

/** Checks the options of a handler, and gives its name. */
export function checkHandler(description: Description, options: unknown, usual: string): string {
  const given = (options as { readonly name?: unknown } | null | undefined)?.name
  const name = typeof given === 'string' ? given : usual
  checkOptions(description, options, { of: name, code: 'DEFINITION_INVALID' })
  return name
}

/** How long a request may take; `ms` when absent. */
export function timeLimit(about: string, ms?: number): Option<Duration> {
  const takes = `a duration of at most ${formatDuration(limits.handlerTimeoutMsMax)}`
  const accepts = (value: unknown): boolean => timeoutMs(value as Duration, 'it') > 0
  return option(about, takes, accepts, ms === undefined ? {} : { otherwise: formatDuration(ms) })
}

export function timeoutMs(duration: Duration, what: string): number {
  const ms = milliseconds(duration, what)
  if (ms > 0 && ms <= limits.handlerTimeoutMsMax) return ms
  const message = `${what} is ${ms} ms; expected more than 0 and at most ${limits.handlerTimeoutMsMax} ms.`
  throw new PawlError('INPUT_INVALID', message)
}
