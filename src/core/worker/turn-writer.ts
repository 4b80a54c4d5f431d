// Writes the turns of one held run, one after another, each where the last committed one ended.
import { assert } from '../base/assert.ts'
import { defined } from '../base/defined.ts'
import type { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Instant } from '../base/time.ts'
import type { Ending, HistoryEvent } from '../kernel/event.ts'
import { endReason, pauseReason } from '../kernel/reason.ts'
import { type Head, type RunState, statusOf } from '../kernel/run.ts'
import type { Turn, TurnEnd } from '../kernel/turn.ts'
import { sleep } from '../runtime/clock.ts'
import type { Committed, Lease, Next, TurnCommit } from '../stores/store.ts'
import { warn } from './announce.ts'
import { type Rest, turnBody } from './commit.ts'
import type { WorkerContext } from './context.ts'
import { historyWarning } from './errors.ts'
import type { History, StoredHistory } from './history.ts'
import type { Inbox } from './inbox.ts'
import { pins } from './worker-settings.ts'

export const NOTHING = { consumed: [], outbox: [], tasks: [], dropped: [] }
export const HOLD: Next = { type: 'hold' }

/** The run that is written. Its lease can be lost between two turns, and in the middle of one. */
export interface WrittenRun {
  readonly head: Head
  readonly state: RunState
  readonly lease: Lease
  readonly isAbandoned: boolean
}

export class TurnWriter {
  /** How many events are committed. */
  seq: number
  /** Bytes of history written and read so far: a measure of what a warm execution of this run takes. */
  bytes: number
  /** Deaths of earlier holders that no committed turn accounts for. */
  deaths = 0
  /** Where the first turn of a worker stands. A fork begins with history. */
  #first = 0
  /** The text of the turn written last. */
  lastBody = ''
  /** How long the last write took. */
  tookMs = 0
  /** The id of the last committed turn. */
  turnId: number
  /** The time of the last committed event. */
  #committedAt: Instant
  readonly #context: WorkerContext
  readonly #run: WrittenRun

  constructor(
    context: WorkerContext,
    run: WrittenRun,
    { seq, bytes, turnId }: Pick<TurnWriter, 'seq' | 'bytes' | 'turnId'>,
  ) {
    this.#context = context
    this.#run = run
    this.seq = seq
    this.bytes = bytes
    this.turnId = turnId
    this.#committedAt = run.state.at
  }

  /** Continues after the stored turns, which may not be readable. */
  continueAfter({ turns, count, deaths }: StoredHistory): void {
    this.seq = count
    this.turnId = turns.at(-1)?.turnId ?? this.turnId
    this.deaths = deaths
    this.#first = turns.length === 1 && turns[0]?.epoch === 0 ? count : 0
  }

  /** The stored turns were read. */
  historyRead({ bytes, state }: History): void {
    this.bytes = bytes
    this.#committedAt = state.at
  }

  // Any look at the time may show that the lease is lost, also in the middle of a turn. A turn that was decided half
  // before and half after that is not written, even if the store would accept it.
  async write(events: readonly HistoryEvent[], rest: Rest): Promise<Committed> {
    if (this.#run.isAbandoned) return { outcome: 'fenced' }
    const { head, lease } = this.#run
    let body: string
    try {
      body = events.length === 0 ? '' : turnBody(this.#context.settings.build, events)
    } catch (error) {
      return { outcome: 'rejected', reason: String(error) }
    }
    this.#grow(body.length)
    this.lastBody = body
    const turnId = this.#context.random.integer()
    const turn = {
      runId: head.runId,
      lease,
      generation: head.generation,
      turnId,
      seq: this.seq,
      count: events.length,
      at: this.#stampOf(events),
      body,
      ...this.#marks(events, rest.next),
      ...rest,
    }
    const { clock } = this.#context
    const sent = clock.monotonic()
    let [committed] = await this.#context.line.send((store) => store.commit([turn]))
    this.tookMs = clock.monotonic() - sent
    if (committed?.outcome === 'ahead') committed = await this.#commitLater(turn, committed.now)
    // More messages, and none given: this is not the history that the turn was decided on.
    if (!committed || (committed.outcome === 'more' && committed.messages.length === 0)) return { outcome: 'fenced' }
    if (isCommitted(committed)) {
      if (events.length > 0) this.turnId = turnId
      this.#committedAt = events.at(-1)?.at ?? this.#committedAt
    }
    return committed
  }

  // A turn whose stamp is ahead of the store's clock is right, but early. The lease, and the steps that run under it,
  // are kept, and the same turn is sent again until its time has come.
  async #commitLater(turn: TurnCommit, storeNow: Instant): Promise<Committed | undefined> {
    const { clock, logger, line } = this.#context
    const behind = Math.round((turn.at - storeNow) / 1_000)
    const text = `the store's clock is ${behind} s behind run ${turn.runId}, which waits for it. Was the clock set back?`
    logger.log('warn', text)
    for (;;) {
      await sleep(clock, limits.aheadRetryMs)
      if (!this.#context.session.alive) return { outcome: 'fenced' }
      const [committed] = await line.send((store) => store.commit([turn]))
      if (committed?.outcome !== 'ahead') return committed
    }
  }

  // After the clock was set back, new events get the time of the last one. That time says nothing about the worker's
  // clock, which the store compares with its own, so such a turn is stamped with the present.
  #stampOf(events: readonly HistoryEvent[]): Instant {
    const now = this.#context.storeClock.now()
    const at = events.at(-1)?.at ?? now
    return at <= this.#committedAt ? Math.min(at, now) : at
  }

  #grow(bytes: number): void {
    const before = this.bytes
    this.bytes += bytes
    const { historyBytesWarned: limit } = limits
    if (before < limit && this.bytes >= limit) warn(this.#context.logger, this.#run.head, historyWarning(this.bytes))
  }

  // What the store is told of the run only when it changes.
  #marks(events: readonly HistoryEvent[], next: Next): Pick<TurnCommit, 'compensating' | 'pin'> {
    const { settings, registry } = this.#context
    const { head, state } = this.#run
    // A worker that could not even begin the run does not pin it to its build.
    const isFirst = this.seq === this.#first && next.type !== 'pause'
    const changed = events.some(({ type }) => type.startsWith('Compensation'))
    return {
      ...(changed && { compensating: state.compensations > 0 }),
      ...(isFirst && pins(settings, registry, head.name) && { pin: settings.code }),
    }
  }

  /** What follows the last turn of this generation; or why the next generation cannot be written. */
  after({ ending }: Turn, { beginning }: TurnEnd): Next | string {
    if (!beginning) {
      assert(ending, 'an ending turn ends')
      return endBy(ending)
    }
    try {
      const body = turnBody(this.#context.settings.build, beginning)
      const turnId = this.#context.random.integer()
      return { type: 'continue', past: { turnId, count: beginning.length, body } }
    } catch (error) {
      return `what the run would continue with is too large, including messages it has not read: ${String(error)}`
    }
  }

  /** Pauses the run until a worker of another build claims it. The messages in `left` stay in its inbox. */
  pausedBy(failure: Failure, left: readonly string[]): Next {
    return {
      type: 'pause',
      build: this.#context.settings.build,
      failure: JSON.stringify(failure),
      reason: pauseReason(failure),
      ...(left.length > 0 && { left: [...left] }),
      ...(this.deaths > 0 && { uncounted: true }),
    }
  }

  /**
   * Pauses the run and consumes nothing. Messages that arrive meanwhile stay in the inbox, unless one stops the run.
   */
  async pauseUnread(failure: Failure, inbox: Inbox): Promise<'applied' | 'stopped' | 'lost'> {
    while (!inbox.stop) {
      const next = this.pausedBy(failure, inbox.ids)
      const committed = await this.write([], { ...NOTHING, next })
      if (committed.outcome === 'applied') return 'applied'
      if (committed.outcome !== 'more') return 'lost'
      inbox.receive(committed.messages)
    }
    return 'stopped'
  }

  /** Writes a turn that consumes all messages, also those that arrive meanwhile. They change nothing. */
  async insist(events: readonly HistoryEvent[], rest: Rest, seen: Iterable<string>): Promise<'applied' | 'lost'> {
    for (const consumed = [...seen]; ; ) {
      const committed = await this.write(events, { ...rest, consumed: [...consumed] })
      if (committed.outcome === 'more') consumed.push(...committed.messages.map(({ id }) => id))
      else return isCommitted(committed) ? 'applied' : 'lost'
    }
  }
}

export function endBy(ending: Ending): Extract<Next, { type: 'end' }> {
  return { type: 'end', ...defined({ status: statusOf(ending), reason: endReason(ending) }) }
}

/** A duplicate was committed by an earlier try whose answer was lost. */
export function isCommitted({ outcome }: Committed): boolean {
  return outcome === 'applied' || outcome === 'duplicate'
}
