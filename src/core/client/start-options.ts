// How a run is started.

import {
  checkOptions,
  choice,
  type Described,
  type Description,
  duration,
  flag,
  given,
  option,
  required,
  text,
  whole,
} from '../base/described.ts'
import { milliseconds } from '../base/duration.ts'
import { PawlError } from '../base/errors.ts'
import { instantOf, NEVER } from '../base/instant.ts'
import type { Given } from '../definitions/contract.ts'
import { aboutRun, placement } from '../definitions/options.ts'
import type { Extras } from '../kernel/extras.ts'
import { type NewRun, REUSES, type Reuse, type SqlClient } from '../stores/store.ts'

export const startOptions = {
  /** A name of your own for the run. By default its run id. */
  workflowId: text('A name of your own for the run.', { otherwise: 'its run id' }),
  /** What to do if a run of this workflow id exists. That of `open`, or else 'allow'. */
  reuse: choice<Reuse>('What to do if a run of this workflow id exists.', REUSES, {
    otherwise: "that of `open`, or else 'allow'",
  }),
  /** The same key starts the same run once, however often it is asked for. */
  idempotencyKey: text('The same key starts the same run once, however often it is asked for.'),
  runAt: option<Date>('When it begins.', 'a Date', (value) => value instanceof Date),
  delay: duration('How long after the start it begins.'),
  /** Of a definition that is kept in the store; the newest at the time it begins, when absent. */
  version: whole(
    'The version of a definition that is kept in the store.',
    [1, Number.MAX_SAFE_INTEGER],
    { otherwise: 'the newest when it begins' },
  ),
  /** The run is there, and waits for `run.trigger()`. */
  pending: flag('The run waits for `run.trigger()`.', { otherwise: 'false' }),
  ...placement,
  ...aboutRun,
  /** A Postgres transaction of yours: the run is there if it commits. */
  transaction: given<SqlClient>(
    'A Postgres transaction of yours: the run exists if it commits.',
    'a client with a transaction open',
  ),
} as const
/** How a run is started, beside its input. */
export interface StartOptions extends Described<typeof startOptions> {}

/** One of many starts. */
export type Begin<In> = Given<'input', In> & StartOptions

export const beginOptions: Description = {
  ...startOptions,
  input: given<unknown>('What it is started with.', 'the input of the workflow'),
}

const withMessage = {
  ...beginOptions,
  payload: given<unknown>('What it is told.', 'the payload of the message'),
  messageId: text('The same id is taken once.'),
}
const message = (is: 'signal' | 'update') =>
  required(
    option<object>(
      'What it is sent.',
      `${is === 'signal' ? 'a' : 'an'} ${is}`,
      (value) => (value as { is?: unknown } | null)?.is === is,
    ),
  )

/** What `signalWithStart` and `updateWithStart` take. */
export const startRequests: Readonly<Record<'signal' | 'update', Description>> = {
  signal: { ...withMessage, signal: message('signal') },
  update: { ...withMessage, update: message('update') },
}

export function checkStarts(runs: unknown): void {
  const isStart = (run: unknown): boolean =>
    typeof run === 'object' && run !== null && !Array.isArray(run)
  if (Array.isArray(runs) && runs.every(isStart)) {
    for (const run of runs) checkOptions(beginOptions, run, { of: 'startMany' })
    return
  }
  const message = 'startMany takes a list of objects: [{ input, workflowId, … }, …].'
  throw new PawlError('INPUT_INVALID', message)
}

/** When it begins, if not at once. */
export function beginning(options: StartOptions): Pick<NewRun, 'startAt' | 'delayMs'> {
  const { runAt, delay, pending } = options
  if (pending && (runAt !== undefined || delay !== undefined)) {
    throw new PawlError(
      'INPUT_INVALID',
      'a run that waits to be triggered has no time to begin at. Leave out `pending`, or `delay` and `runAt`.',
    )
  }
  if (pending) return { startAt: NEVER }
  if (runAt !== undefined && delay !== undefined) {
    throw new PawlError('INPUT_INVALID', 'give runAt or delay, not both.')
  }
  if (delay !== undefined) return { delayMs: milliseconds(delay, 'delay') }
  return runAt === undefined ? {} : { startAt: instantOf(runAt, 'runAt') }
}

/** When time begins to count for a run that does not begin at once. */
export function countedFrom({
  startAt,
  delayMs,
}: Pick<NewRun, 'startAt' | 'delayMs'>): Partial<Extras> {
  if (startAt !== undefined) return { from: startAt }
  return delayMs === undefined ? {} : { delayMs }
}

/** The transaction that many starts join: all of them the same one, or none. */
export function commonTransaction(starts: readonly StartOptions[]): SqlClient | undefined {
  const [first, ...others] = new Set(starts.map(({ transaction }) => transaction))
  if (others.length === 0) return first
  const text = 'startMany is one write: give all runs the same transaction, or none of them any.'
  throw new PawlError('NOT_SUPPORTED', text)
}

/** What waits for a run cannot be part of a transaction: nobody sees the run before that commits. */
export function refuseTransaction({ transaction }: StartOptions, what: string): void {
  if (transaction === undefined) return
  const text = `${what} of a run that nobody sees before your transaction commits. Use start or signalWithStart in it, and wait after it.`
  throw new PawlError('NOT_SUPPORTED', text)
}
