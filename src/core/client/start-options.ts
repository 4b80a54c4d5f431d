// The options of starts.

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
import { PawlError } from '../base/errors.ts'
import { instantOf, milliseconds, NEVER } from '../base/time.ts'
import type { Given } from '../definitions/contract.ts'
import { aboutRun, placement } from '../definitions/options.ts'
import type { Extras } from '../kernel/extras.ts'
import { type NewRun, REUSES, type Reuse, type SqlClient } from '../stores/store.ts'
import { tracing } from './tracing.ts'

export const startOptions = {
  /** An id of your own for the run. Default: its run id. */
  workflowId: text('An id of your own for the run.', { otherwise: 'its run id' }),
  /** What to do if a run of this workflow id exists. Default: the `reuse` of `open`, or else `'allow'`. */
  reuse: choice<Reuse>('What to do if a run of this workflow id exists.', REUSES, {
    otherwise: "that of `open`, or else 'allow'",
  }),
  /** Calls with the same key start only one run. */
  idempotencyKey: text('Calls with the same key start only one run.'),
  /** When the run starts. Default: now. */
  runAt: option<Date>('When the run starts.', 'a Date', (value) => value instanceof Date, {
    otherwise: 'now',
    schema: { type: 'string', format: 'date-time' },
  }),
  /** How long the start of the run is delayed. Default: not at all. */
  delay: duration('How long the start of the run is delayed.'),
  /** The version of a definition in the store. Default: the newest when the run starts. */
  version: whole('The version of a definition in the store.', [1, Number.MAX_SAFE_INTEGER], {
    otherwise: 'the newest when the run starts',
  }),
  /** The run is created, but starts only when `run.trigger()` is called. Default false. */
  pending: flag('The run starts only when `run.trigger()` is called.', { otherwise: 'false' }),
  ...tracing,
  /** The run belongs to the trace of `traceparent`, which should be short. Default: it has its own, with a link. */
  joinTrace: flag('The run belongs to the trace of `traceparent`, which should be short.', {
    otherwise: 'it has a trace of its own, which links to that one',
  }),
  ...placement,
  ...aboutRun,
  /** A client with an open Postgres transaction of yours: the run exists if and when it commits. */
  transaction: given<SqlClient>(
    'An open Postgres transaction of yours: the run exists if and when it commits.',
    'a client with a transaction open',
  ),
} as const
/** Options of a start. */
export interface StartOptions extends Described<typeof startOptions> {}

/** One start of `startMany`. */
export type Begin<In> = Given<'input', In> & StartOptions

export const beginOptions: Description = {
  ...startOptions,
  input: given<unknown>('The input of the run.', 'the input of the workflow'),
}

const withMessage = {
  ...beginOptions,
  payload: given<unknown>('The payload of the message.', 'the payload of the message'),
  messageId: text('Messages with the same id are delivered once.'),
}
const message = (is: 'signal' | 'update') =>
  required(
    option<object>(
      'The message to send.',
      `${is === 'signal' ? 'a' : 'an'} ${is}`,
      (value) => (value as { is?: unknown } | null)?.is === is,
    ),
  )

/** The options of `signalWithStart` and `updateWithStart`. */
export const startRequests: Readonly<Record<'signal' | 'update', Description>> = {
  signal: { ...withMessage, signal: message('signal') },
  update: { ...withMessage, update: message('update') },
}

export function checkStarts(runs: unknown): void {
  const isStart = (run: unknown): boolean => typeof run === 'object' && run !== null && !Array.isArray(run)
  if (Array.isArray(runs) && runs.every(isStart)) {
    for (const run of runs) checkOptions(beginOptions, run, { of: 'startMany' })
    return
  }
  const message = 'the runs of startMany are not a list of objects; expected [{ input, workflowId, … }, …].'
  throw new PawlError('INPUT_INVALID', message)
}

/** When the run starts, if not at once. */
export function beginning(options: StartOptions): Pick<NewRun, 'startAt' | 'delayMs'> {
  const { runAt, delay, pending } = options
  if (pending && (runAt !== undefined || delay !== undefined)) {
    throw new PawlError(
      'INPUT_INVALID',
      'a run with `pending` starts when it is triggered, not at a time. Remove `pending`, or `delay` and `runAt`.',
    )
  }
  if (pending) return { startAt: NEVER }
  if (runAt !== undefined && delay !== undefined) {
    throw new PawlError('INPUT_INVALID', 'a start has both `runAt` and `delay`. Remove one of them.')
  }
  if (delay !== undefined) return { delayMs: milliseconds(delay, 'delay') }
  return runAt === undefined ? {} : { startAt: instantOf(runAt, 'runAt') }
}

/** When the execution timeout of a run that starts later begins to count. */
export function countedFrom({ startAt, delayMs }: Pick<NewRun, 'startAt' | 'delayMs'>): Partial<Extras> {
  if (startAt !== undefined) return { from: startAt }
  return delayMs === undefined ? {} : { delayMs }
}

/** The transaction that several starts join: they must all have the same one, or none. */
export function commonTransaction(starts: readonly StartOptions[]): SqlClient | undefined {
  const [first, ...others] = new Set(starts.map(({ transaction }) => transaction))
  if (others.length === 0) return first
  const text = 'the runs of startMany have different transactions. It is one write: give all of them the same, or none.'
  throw new PawlError('NOT_SUPPORTED', text)
}

/** A call that waits for a run cannot be in a transaction, because no worker sees the run before the commit. */
export function refuseTransaction({ transaction }: StartOptions, what: string): void {
  if (transaction === undefined) return
  const problem = `${what} of a run that no worker can see before your transaction commits`
  const todo = 'Use start or signalWithStart in the transaction, and wait after it.'
  throw new PawlError('NOT_SUPPORTED', `${problem}. ${todo}`)
}
