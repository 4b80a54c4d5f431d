// Watches windows of runs: the newest runs of a filter, or runs by their ids. Streams of the same window share one
// watcher, which makes one list and keeps only its newest outcome: a stream compares that with what it has sent.
import { defined } from '../../core/base/defined.ts'
import { limits } from '../../core/base/limits.ts'
import type { RunRecord } from '../../core/index.ts'
import { isUnavailable } from '../../core/runtime/availability.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Engine } from '../../engine.ts'
import { plainText } from '../wire.ts'
import type { Batches, RunSummary, WindowEvent } from './events.ts'
import { listen, Pace, restAfter } from './looks.ts'

export type Counts = Extract<WindowEvent, { event: 'counts' }>['data']

/** What a window shows. */
export interface WindowSource {
  /** The same for windows that show the same. */
  readonly key: string
  list(): Promise<readonly RunRecord[]>
  readonly count?: () => Promise<Counts>
}

/** A run as it was sent, or is to be sent. Streams share it. */
interface Row {
  readonly text: string
  readonly data: RunSummary
}

interface Outcome {
  readonly rows: ReadonlyMap<string, Row>
  readonly counts?: { readonly text: string; readonly data: Counts }
}

const empty: Outcome = { rows: new Map() }

export class Windows {
  readonly #engine: Engine
  readonly #open = new Map<string, Window>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Windows that a stream shows. */
  get size(): number {
    return this.#open.size
  }

  /** The stream of a window, until the signal aborts. Throws if its runs cannot be listed. */
  async stream(source: WindowSource, signal: AbortSignal): Promise<Batches<WindowEvent>> {
    const window = this.#open.get(source.key) ?? new Window(this.#engine, source)
    this.#open.set(source.key, window)
    window.streams++
    const leave = (): void => {
      signal.removeEventListener('abort', leave)
      window.streams--
      if (window.streams === 0) this.#open.delete(source.key)
    }
    signal.addEventListener('abort', leave)
    // A client that left before is not told of again.
    if (signal.aborted) leave()
    try {
      return changes(window, await window.fresh(), signal)
    } catch (error) {
      if (!signal.aborted) leave()
      throw error
    }
  }
}

/** Sends the window, and then what changed in it: after each `caughtUp` the client has what a list showed. */
async function* changes(window: Window, first: Outcome, signal: AbortSignal): AsyncGenerator<readonly WindowEvent[]> {
  let sent = empty
  for (let next = first; !signal.aborted; next = await window.changed(sent, signal)) {
    const events = difference(sent, next)
    if (sent === empty) yield [{ event: 'reset', data: {} }, ...events, { event: 'caughtUp', data: {} }]
    else if (events.length > 0) yield [...events, { event: 'caughtUp', data: {} }]
    sent = next
  }
}

function difference(sent: Outcome, next: Outcome): WindowEvent[] {
  const left = [...sent.rows.keys()].filter((runId) => !next.rows.has(runId))
  const changed = [...next.rows].filter(([runId, row]) => sent.rows.get(runId) !== row)
  const { counts } = next
  return [
    ...left.map((runId) => ({ event: 'left', data: { runId } }) as const),
    ...changed.map(([, { data }]) => ({ event: 'run', data }) as const),
    ...(counts && counts !== sent.counts ? [{ event: 'counts', data: counts.data } as const] : []),
  ]
}

interface Waiter {
  readonly look: () => void
  readonly fail: (error: unknown) => void
}

class Window {
  /** Streams that show it. */
  streams = 0
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #source: WindowSource
  readonly #pace = new Pace()
  readonly #waiters = new Set<Waiter>()
  #outcome: Outcome = empty
  #looking: Promise<void> | undefined
  #timer: { readonly at: number; readonly cancel: () => void } | undefined
  #stopListening: (() => void) | undefined
  /** When the next look is due: by itself, at the earliest, and for counts. */
  #dueAt = 0
  #notBefore = 0
  #countAt = 0

  constructor(engine: Engine, source: WindowSource) {
    this.#engine = engine
    this.#clock = engine.world.clock
    this.#source = source
  }

  /** The outcome of a look that begins after this call. */
  async fresh(): Promise<Outcome> {
    // The look in progress may have begun before.
    await this.#looking?.catch(() => {})
    await this.#look()
    return this.#outcome
  }

  /** Resolves when there is another outcome, or the signal aborts. */
  async changed(known: Outcome, signal: AbortSignal): Promise<Outcome> {
    while (this.#outcome === known && !signal.aborted) await this.#nextLook(signal)
    return this.#outcome
  }

  #nextLook(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener('abort', waiter.look)
        this.#waiters.delete(waiter)
        if (this.#waiters.size === 0) this.#rest()
      }
      const waiter: Waiter = {
        look: () => {
          leave()
          resolve()
        },
        fail: (error) => {
          leave()
          reject(error)
        },
      }
      signal.addEventListener('abort', waiter.look, { once: true })
      this.#waiters.add(waiter)
      this.#stopListening ??= listen(this.#engine, () => this.#hear())
      this.#arm(this.#dueAt)
    })
  }

  /** No stream waits: those that are open have not taken what they were sent. */
  #rest(): void {
    this.#stopListening?.()
    this.#stopListening = undefined
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #hear(): void {
    this.#arm(Math.max(this.#clock.monotonic() + limits.liveHeardMs, this.#notBefore))
  }

  #arm(at: number): void {
    if (this.#timer && this.#timer.at <= at) return
    this.#timer?.cancel()
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => void this.#poll())
    this.#timer = { at, cancel }
  }

  async #poll(): Promise<void> {
    this.#timer = undefined
    const waiters = [...this.#waiters]
    try {
      await this.#look()
    } catch (error) {
      // After an outage the next look finds what happened meanwhile. Any other error is for the streams.
      if (!isUnavailable(error)) for (const waiter of waiters) waiter.fail(error)
    }
    for (const { look } of waiters) look()
  }

  /** One look at a time. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #lookOnce(): Promise<void> {
    const begun = this.#clock.monotonic()
    const before = this.#outcome
    try {
      const rows = rowsOf(before.rows, await this.#source.list())
      const counts = await this.#counted(before.counts)
      const isSame = before !== empty && rows === before.rows && counts === before.counts
      if (!isSame) this.#outcome = { rows, ...(counts && { counts }) }
    } finally {
      const now = this.#clock.monotonic()
      const tookMs = now - begun
      this.#dueAt = now + this.#pace.after({ changed: this.#outcome !== before, tookMs })
      this.#notBefore = now + restAfter(tookMs, limits.livePollMsMin)
    }
  }

  /** Counting takes longer than a list, so it is done less often. */
  async #counted(known: Outcome['counts']): Promise<Outcome['counts']> {
    const { count } = this.#source
    const begun = this.#clock.monotonic()
    if (!count || begun < this.#countAt) return known
    const data = await count()
    const now = this.#clock.monotonic()
    this.#countAt = now + restAfter(now - begun, limits.livePollMsMax)
    const text = plainText(data)
    return text === known?.text ? known : { text, data }
  }
}

/** The rows of a list. What did not change is the same object as before. */
function rowsOf(before: Outcome['rows'], records: readonly RunRecord[]): Outcome['rows'] {
  const rows = new Map<string, Row>()
  for (const record of records) {
    const data = summaryOf(record)
    const text = plainText(data)
    const known = before.get(record.runId)
    rows.set(record.runId, known?.text === text ? known : { text, data })
  }
  const isSame = rows.size === before.size && [...rows].every(([runId, row]) => before.get(runId) === row)
  return isSame ? before : rows
}

/** A run without payloads. */
function summaryOf({ input: _, output: __, memo: ___, compensationFailures: ____, ...record }: RunRecord): RunSummary {
  const { failure, ...rest } = record
  if (!failure) return rest
  const { type, message, code } = failure
  return { ...rest, failure: defined({ type, message, code }) }
}
