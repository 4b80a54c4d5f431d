// Options that every handler takes.
import {
  checkOptions,
  type Described,
  type Description,
  named,
  nested,
  type Option,
  option,
} from '../../core/base/described.ts'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import { type Duration, formatDuration, milliseconds } from '../../core/base/time.ts'
import {
  type Activity,
  type ActivityHandler,
  type ActivityOptions,
  activity,
  activityOptions,
} from '../../core/index.ts'

export const commonOptions = {
  /** The name of the activity; a second handler of the same kind needs another one. */
  name: named(
    'The name of the activity; a second handler of the same kind needs another one.',
    'the name of an activity',
    { otherwise: "the handler's own" },
  ),
  /** Retries, queue and time limits, as for any activity. */
  activity: nested('Retries, queue and time limits, as for any activity.', activityOptions),
} as const
export interface HandlerOptions extends Described<typeof commonOptions> {}

/** An activity that carries the description of its input, so that graph documents are checked against it. */
export function handlerActivity<In, Out>(
  name: string,
  options: ActivityOptions | undefined,
  input: Description,
  handler: ActivityHandler<In, Out>,
): Activity<In, Out> {
  return { ...activity<Out, In>(name, options ?? {}, handler), '~input': input }
}

/** Checks the options of a handler and returns its name. */
export function checkedName(description: Description, options: unknown, usual: string): string {
  const given = (options as { readonly name?: unknown } | null | undefined)?.name
  const name = typeof given === 'string' ? given : usual
  checkOptions(description, options, { of: name, code: 'DEFINITION_INVALID' })
  return name
}

/** The option for how long a request may take; `ms` is its default. */
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
