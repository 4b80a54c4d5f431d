// A worker for one call of a serverless function: it works until nothing is due or its time is up, and then releases
// everything. What is due later, the next call finds.
import { type Described, duration, given } from './core/base/described.ts'
import { PawlError } from './core/base/errors.ts'
import { limits } from './core/base/limits.ts'
import { type Duration, formatDuration, milliseconds } from './core/base/time.ts'
import type { Listener, Outlook, Worker } from './core/index.ts'
import type { Clock } from './core/runtime/clock.ts'
import { type WorkerOptions, workerOptions } from './core/worker/options.ts'

const { id, queues, concurrency, pin, schedules, signals } = workerOptions

export const untilIdleOptions = {
  ...{ id, queues, concurrency, pin, schedules, signals },
  /** How long the call may take, with the end of running steps. '20s' */
  for: duration('How long the call may take, with the end of running steps.', {
    otherwise: formatDuration(limits.untilIdleMs),
  }),
  /** How long before the end it claims nothing more, and waits for running steps. A quarter of `for` */
  grace: duration('How long before the end it claims nothing more, and waits for running steps.', {
    otherwise: `a quarter of \`for\`, at most ${formatDuration(limits.graceMs)}`,
  }),
  /** Waits for what becomes due within this time. As long as `for` lasts */
  linger: duration('Waits for what becomes due within this time.', { otherwise: 'as long as `for` lasts' }),
  /** How long after its last renewal other calls take over its work. Half of `for` */
  lease: duration('How long after its last renewal other calls take over its work.', {
    otherwise: `half of \`for\`, at most ${formatDuration(limits.leaseMs)}`,
  }),
  /** Ends it early, as if the time were up. */
  signal: given<AbortSignal>('Ends it early, as if the time were up.', 'an AbortSignal'),
} as const
/** What one call of a serverless function serves, and how long it may take. */
export interface UntilIdleOptions extends Described<typeof untilIdleOptions> {}

/** What `engine.workUntilIdle` did. */
export interface Worked {
  readonly worker: string
  /** Nothing was due any more; the time was up; or it was stopped: by `signal`, SIGTERM or `engine.close`. */
  readonly ended: 'idle' | 'time' | 'stopped'
  readonly ms: number
  /** Turns it wrote. */
  readonly turns: number
  /** Attempts at steps that ended here. */
  readonly steps: number
  /** Runs that ended here. */
  readonly runs: number
  /**
   * When the next call is of use: now if work was left, else when the next run, retry or timer is due, or when the
   * session of another call may turn out to be dead. Absent if only a message or a new run brings work.
   */
  readonly nextDue?: Date
}

/** What this needs of an engine. */
interface Host {
  readonly clock: Clock
  work(options: WorkerOptions): Worker
  listen(listener: Listener): () => void
}

export async function workUntilIdle(host: Host, options: UntilIdleOptions): Promise<Worked> {
  const { for: time = limits.untilIdleMs, grace, linger = time, lease, signal, ...rest } = options
  const totalMs = untilIdleMs(time)
  const graceMs = grace === undefined ? Math.min(limits.graceMs, totalMs / 4) : milliseconds(grace, 'grace')
  if (graceMs >= totalMs) {
    const problem = `grace is ${formatDuration(graceMs)}, and \`for\` is ${formatDuration(totalMs)}`
    throw new PawlError('INPUT_INVALID', `${problem}: no time to work would be left. Give a shorter \`grace\`.`)
  }
  const leaseMs = Math.round(Math.max(limits.leaseMsMin, Math.min(limits.leaseMs, totalMs / 2)))
  const begun = host.clock.monotonic()
  const worker = host.work({ ...rest, grace: graceMs, lease: lease ?? leaseMs })
  const done = new Tally(host, worker.id)
  const call = new Call(host.clock, worker, { workMs: totalMs - graceMs, lingerMs: milliseconds(linger, 'linger') })
  try {
    const ended = await call.ended(signal)
    const wasBusy = worker.load.runs + worker.load.steps > 0
    await worker.drain(Math.max(0, begun + totalMs - host.clock.monotonic()))
    // If the store never answered, the caller must learn it.
    await worker.ready.catch((error: unknown) => {
      throw error instanceof Error && error.cause instanceof PawlError ? error.cause : error
    })
    const nextDue = call.nextDue(ended === 'idle' ? false : wasBusy)
    const ms = Math.round(host.clock.monotonic() - begun)
    return {
      worker: worker.id,
      ended,
      ms,
      ...done.counts,
      ...(nextDue !== undefined && { nextDue: new Date(nextDue) }),
    }
  } finally {
    done.stop()
    await worker.drain(0)
  }
}

function untilIdleMs(time: Duration): number {
  const ms = milliseconds(time, 'for')
  const { untilIdleMsMin: least, untilIdleMsMax: most } = limits
  if (ms >= least && ms <= most) return ms
  const problem = `\`for\` is ${formatDuration(ms)}; expected ${formatDuration(least)} to ${formatDuration(most)}`
  throw new PawlError('INPUT_INVALID', `${problem}. A process that works for longer calls \`work\`.`)
}

/** Decides when the call ends, from what each claim left to do. */
class Call {
  readonly #clock: Clock
  readonly #worker: Worker
  readonly #lingerMs: number
  readonly #deadline: number
  readonly #end = Promise.withResolvers<Worked['ended']>()
  #outlook: Outlook | undefined

  constructor(clock: Clock, worker: Worker, { workMs, lingerMs }: { workMs: number; lingerMs: number }) {
    this.#clock = clock
    this.#worker = worker
    this.#lingerMs = lingerMs
    this.#deadline = clock.monotonic() + workMs
    worker.onClaim = (outlook) => this.#look(outlook)
  }

  async ended(signal: AbortSignal | undefined): Promise<Worked['ended']> {
    const stop = (): void => this.#end.resolve('stopped')
    const stopTimer = this.#clock.after(this.#deadline - this.#clock.monotonic(), () => this.#end.resolve('time'))
    signal?.addEventListener('abort', stop, { once: true })
    if (signal?.aborted) stop()
    this.#worker.ready.catch((error: unknown) => this.#end.reject(error))
    void this.#worker.draining.then(stop)
    try {
      return await this.#end.promise
    } finally {
      stopTimer()
      signal?.removeEventListener('abort', stop)
    }
  }

  /** When another call is of use. */
  nextDue(isBusy: boolean): number | undefined {
    const { isDone = false, nextDue = Infinity, nextLate = Infinity, silentInMs = Infinity } = this.#outlook ?? {}
    if (isBusy || !isDone || silentInMs < Infinity) return this.#clock.now()
    const next = Math.min(nextDue, nextLate)
    return next < Infinity ? next : undefined
  }

  /** Returns how long the worker waits for its next claim at most. */
  #look(outlook: Outlook): number {
    this.#outlook = outlook
    const leftMs = this.#deadline - this.#clock.monotonic()
    if (!outlook.isDone || outlook.dueInMs <= Math.min(this.#lingerMs, leftMs)) return Infinity
    // A worker that is alive renews soon: then there is nothing to wait for.
    if (outlook.silentInMs <= leftMs) return limits.lateLookMs
    this.#end.resolve('idle')
    return Infinity
  }
}

/** Counts what a worker does. */
class Tally {
  readonly stop: () => void
  #turns = 0
  #steps = 0
  #runs = 0

  constructor({ listen }: Pick<Host, 'listen'>, id: string) {
    this.stop = listen((announcement) => {
      if (!('worker' in announcement) || announcement.worker !== id) return
      const { type } = announcement
      if (type === 'turn.committed') this.#turns++
      if (type === 'attempt.ended') this.#steps++
      if (type === 'run.completed' || type === 'run.failed' || type === 'run.cancelled') this.#runs++
    })
  }

  get counts(): Pick<Worked, 'turns' | 'steps' | 'runs'> {
    return { turns: this.#turns, steps: this.#steps, runs: this.#runs }
  }
}
