// One attempt at a step body: waits for a slot, calls the body under its time limits, and says what becomes of the
// step.
import { PawlError, PermanentError } from '../base/errors.ts'
import { type Failure, failureOf, retryAfter } from '../base/failure.ts'
import { NEVER } from '../base/time.ts'
import { decode, encode, type Payload } from '../base/value.ts'
import { running } from '../deciders/function/execution.ts'
import type { ActivityContext } from '../definitions/contract.ts'
import { type ActivityCall, through } from '../definitions/interceptor.ts'
import type { Registry } from '../definitions/registry.ts'
import { decodePayload, encodePayload } from '../kernel/codec.ts'
import type { StepPlan } from '../kernel/decider.ts'
import type { StepLeft, StepOutcome } from '../kernel/message.ts'
import { backoffMs, givesUp } from '../policies/retry.ts'
import { type AttemptOf, CompletedLater, LazyAbort, StepContext } from './activity-context.ts'
import { announceAttempt } from './announce-attempt.ts'
import type { WorkerContext } from './context.ts'
import { loadNotes, type Notes, type NotesOf, StepNotes } from './step-notes.ts'
import { StepStreams } from './step-streams.ts'

/** What an attempt calls. */
export interface Work {
  readonly kind: ActivityCall['kind']
  readonly input?: Payload | undefined
  readonly body: (input: unknown, context: ActivityContext) => unknown
}

/** What becomes of the step after an attempt. */
export type AttemptEnd =
  | { readonly type: 'ended'; readonly outcome: StepOutcome }
  | {
      readonly type: 'retry'
      readonly attempt: number
      readonly failure: Failure
      readonly delayMs: number
    }
  /** Its result comes from outside. */
  | { readonly type: 'left'; readonly left: StepLeft }

type BodyResult =
  | { readonly ok: true; readonly value: Payload; readonly closes?: readonly string[] }
  | { readonly ok: 'later' }
  | {
      readonly ok: false
      readonly failure: Failure
      readonly timedOut: boolean
      readonly retryAfterMs?: number | undefined
    }

export class Attempt {
  readonly of: AttemptOf
  /** Never rejects. Does not resolve after `abort`, unless the body had ended before. */
  readonly result: Promise<AttemptEnd>
  readonly #context: WorkerContext
  readonly #work: Work
  readonly #stop = new LazyAbort()
  #resolve: (end: AttemptEnd) => void = () => {}
  #notes: StepNotes | undefined
  #streams: StepStreams | undefined
  #isAborted = false

  constructor(context: WorkerContext, of: AttemptOf, work: Work) {
    this.#context = context
    this.of = of
    this.#work = work
    this.result = new Promise((resolve) => {
      this.#resolve = resolve
    })
    context.slots.run(() => this.#run())
  }

  /** Whether the body has been called; otherwise the attempt still waits for a slot. */
  get hasBegun(): boolean {
    return this.#notes !== undefined
  }

  /** The run does not wait for this attempt any more. */
  abort(reason: Error): void {
    this.#isAborted = true
    this.#stop.abort(reason)
    // Without the lease, another worker may be running the step by now: its notes must not be overwritten.
    void this.#notes?.close(this.#context.session.alive ? 'keep' : 'drop')
    this.#streams?.drop(reason)
  }

  /** The step was cancelled and the run waits for its end. A body that has begun may clean up, and write notes. */
  cancel(reason: Error): void {
    if (this.hasBegun) this.#stop.abort(reason)
    else this.#isAborted = true
  }

  // An attempt that was aborted in line, or whose lease has ended, never calls its body and has no result.
  get #mayBegin(): boolean {
    return !this.#isAborted && this.#context.session.alive
  }

  async #run(): Promise<void> {
    if (!this.#mayBegin) return
    // The first attempt finds no notes, so it does not ask for them.
    const found = this.of.attempt === 1 ? {} : await this.#earlierNotes()
    if (!found || !this.#mayBegin) return
    const notes = new StepNotes(this.of, this.#context, found)
    this.#notes = notes
    const ended = announceAttempt(this.#context, this.of, this.#work.kind)
    const body = await this.#underLimits(notes)
    const result = this.#streams ? await this.#written(body, this.#streams) : body
    ended?.(outcomeOf(result))
    const isDone = result.ok === true
    const closed = notes.close(isDone ? 'drop' : 'keep')
    if (!isDone) await closed
    this.#resolve(this.#endOf(result))
  }

  // A step is complete when all it wrote is durable. What a failed attempt wrote is for its readers.
  async #written(result: BodyResult, streams: StepStreams): Promise<BodyResult> {
    try {
      await streams.finish()
      const { closes } = streams
      return result.ok === true && closes.length > 0 ? { ...result, closes } : result
    } catch (error) {
      return result.ok === false ? result : { ok: false, failure: failureOf(error), timedOut: false }
    }
  }

  // An attempt that cannot read the notes of earlier ones fails, so that its step says why it does not end.
  async #earlierNotes(): Promise<Notes | undefined> {
    try {
      return await loadNotes(this.#context, this.of)
    } catch (error) {
      if (this.#mayBegin) this.#resolve(this.#endOf({ ok: false, failure: failureOf(error), timedOut: false }))
      return undefined
    }
  }

  #underLimits(notes: StepNotes): Promise<BodyResult> {
    const { startToCloseMs, heartbeatMs, closeBy } = this.of
    const streams = (): StepStreams => (this.#streams ??= new StepStreams(this.of, this.#context))
    const context = new StepContext(this.of, { stop: this.#stop, notes, streams }, this.#context)
    const result = running.run('step', () => this.#call(context))
    if (startToCloseMs === undefined && heartbeatMs === undefined && closeBy === undefined) return result
    const limited = Promise.withResolvers<BodyResult>()
    const limit = (ms: number, code: string, what: string): (() => void) =>
      this.#context.clock.after(ms, () => limited.resolve(this.#timedOut(code, `${what} ${ms} ms`)))
    const timers: (() => void)[] = []
    if (startToCloseMs !== undefined) timers.push(limit(startToCloseMs, 'START_TO_CLOSE', 'took longer than'))
    if (closeBy !== undefined) {
      const ms = Math.max(0, closeBy - this.#context.storeClock.now())
      timers.push(limit(ms, 'SCHEDULE_TO_CLOSE', 'was the last in time, and took longer than'))
    }
    if (heartbeatMs !== undefined) {
      let stop = (): void => {}
      notes.onBeat = () => {
        stop()
        stop = limit(heartbeatMs, 'HEARTBEAT', 'sent no heartbeat for')
      }
      notes.onBeat()
      timers.push(() => {
        notes.onBeat = undefined
        stop()
      })
    }
    return Promise.race([result, limited.promise]).finally(() => {
      for (const stop of timers) stop()
    })
  }

  // A body that ignores its signal goes on, but its attempt is over.
  #timedOut(code: string, what: string): BodyResult {
    const message = `attempt ${this.of.attempt} of step '${this.of.name}' ${what}`
    this.#stop.abort(new Error(message))
    return {
      ok: false,
      failure: { type: 'Timeout', message, code, retryable: true },
      timedOut: true,
    }
  }

  #callOf(kind: ActivityCall['kind'], input: unknown, ctx: ActivityContext): ActivityCall {
    const { name, queue, priority, trace, readyAt } = this.of
    const waited = readyAt === undefined ? {} : { waitedMs: Math.max(0, this.#context.storeClock.now() - readyAt) }
    return { kind, name, input, ctx, queue, priority, trace, ...waited }
  }

  async #call(ctx: StepContext): Promise<BodyResult> {
    const { kind, input, body } = this.#work
    const { name } = this.of
    try {
      const given = input ? decode(input) : undefined
      const { aroundBodies } = this.#context
      const value = await (aroundBodies.length === 0
        ? body(given, ctx)
        : through(aroundBodies, this.#callOf(kind, given, ctx), (call) => body(call.input, call.ctx)))
      return { ok: true, value: encode(value, `the result of step '${name}'`) }
    } catch (error) {
      if (error instanceof CompletedLater) return { ok: 'later' }
      const failure = failureOf(error)
      return { ok: false, failure, timedOut: false, retryAfterMs: retryAfter(error) }
    }
  }

  #endOf(result: BodyResult): AttemptEnd {
    const { attempt, retry, closeBy } = this.of
    if (result.ok === true) {
      const { value, closes } = result
      return { type: 'ended', outcome: { ok: true, attempt, value, ...(closes && { closes }) } }
    }
    if (result.ok) return { type: 'left', left: this.#left() }
    const { failure, timedOut, retryAfterMs } = result
    const reason = givesUp(retry, failure, attempt)
    if (reason) {
      const why = timedOut ? 'timeout' : reason
      return { type: 'ended', outcome: { ok: false, attempt, failure, reason: why } }
    }
    const delayMs = retryAfterMs ?? backoffMs(retry, attempt, this.#context.random.fraction())
    // No time would be left for another attempt.
    if (closeBy !== undefined && this.#context.storeClock.now() + delayMs >= closeBy)
      return { type: 'ended', outcome: { ok: false, attempt, failure, reason: 'timeout' } }
    return { type: 'retry', attempt, failure, delayMs }
  }

  #left(): StepLeft {
    const { name, attempt, startToCloseMs, retry } = this.of
    const now = this.#context.storeClock.now()
    const until = startToCloseMs === undefined ? NEVER : now + startToCloseMs
    const limit = startToCloseMs === undefined ? '' : `, and was not within ${startToCloseMs} ms`
    const message = `attempt ${attempt} of step '${name}' was left to be completed from outside${limit}`
    const failure: Failure = { type: 'Timeout', message, code: 'START_TO_CLOSE', retryable: true }
    const retryable = givesUp(retry, failure, attempt) === undefined
    return { attempt, failure: { ...failure, retryable }, until }
  }
}

function outcomeOf({ ok }: BodyResult): 'completed' | 'failed' | 'left' {
  if (ok === 'later') return 'left'
  return ok ? 'completed' : 'failed'
}

/** The work of an activity, or an error about its missing code. */
export function activityWork(registry: Registry, name: string, input: Payload | undefined): Work {
  const activity = registry.activity(name)
  const body: Work['body'] = (given, context) => {
    if (activity) return activity.handler(given, context)
    throw new PawlError(
      'NO_CODE_HERE',
      `activity '${name}' has no code in this worker. Give it to open({ activities }) in every worker that serves its queue.`,
    )
  }
  return { kind: 'activity', input, body }
}

/** The work of a step of a held run: an activity, a body written in place, or a transaction. */
export function stepWork(
  context: WorkerContext,
  of: NotesOf & { readonly name: string },
  { transaction, body }: StepPlan,
  input: Payload | undefined,
): Work {
  if (transaction) return { kind: 'step', body: () => transact(context, of, transaction) }
  if (!body) return activityWork(context.registry, of.name, input)
  return { kind: 'step', body: (_, ctx) => (body as (ctx: ActivityContext) => unknown)(ctx) }
}

/** Runs a body in a transaction of the store, once. */
async function transact(
  { store, line }: WorkerContext,
  { runId, generation, key }: NotesOf,
  body: NonNullable<StepPlan['transaction']>,
): Promise<unknown> {
  const { transact } = store
  if (!transact)
    throw new PermanentError(
      `ctx.transaction needs a store that is a database (SQLite or Postgres), and this one is '${store.traits.name}'. Use ctx.run with ctx.idempotencyKey instead.`,
      { details: { code: 'NOT_SUPPORTED' } },
    )
  // Repeated while the database is unavailable: a transaction that was committed is found, any other runs again.
  const text = await line.send(() =>
    transact.call(store, { runId, generation, key }, async (sql) =>
      encodePayload(encode(await body(sql as never), `the result of transaction '${key}'`)),
    ),
  )
  return decode(decodePayload(text))
}
