// How a run is started.
import type { Attributes } from '../definitions/attributes.ts'
import type { Given } from '../definitions/contract.ts'
import { type Duration, milliseconds } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Extras } from '../kernel/extras.ts'
import { instantOf, NEVER } from '../kernel/instant.ts'
import type { NewRun, Reuse, SqlClient } from '../stores/store.ts'

export interface StartOptions {
  /** A name of your own for the run. By default its run id. */
  readonly workflowId?: string
  /** What to do if a run of this workflow id exists. 'allow' */
  readonly reuse?: Reuse
  /** The same key starts the same run once, however often it is asked for. */
  readonly idempotencyKey?: string
  readonly runAt?: Date
  readonly delay?: Duration
  /** Of a definition that is kept in the store; the newest at the time it begins, when absent. */
  readonly version?: number
  /** The run is there, and waits for `run.trigger()`. */
  readonly pending?: boolean
  readonly priority?: number
  readonly queue?: string
  /** Kept with the run, readable and never searched. */
  readonly memo?: Readonly<Record<string, unknown>>
  /** What the run is found by, with `list` and `count`. */
  readonly attributes?: Attributes
  readonly runTimeout?: Duration
  readonly executionTimeout?: Duration
  /** A Postgres transaction of yours: the run is there if it commits. */
  readonly transaction?: SqlClient
}

/** One of many starts. */
export type Begin<In> = Given<'input', In> & StartOptions

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
