// Writes the turns of one held run, one after another, each at the place where the last durable one ended.
import { assert } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import { limits } from '../base/limits.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { type Head, type RunState, statusOf } from '../kernel/run.ts'
import type { Closing, Turn } from '../kernel/turn.ts'
import type { Committed, Lease, Next, TurnCommit } from '../stores/store.ts'
import { type Rest, turnBody } from './commit.ts'
import type { RunHost } from './host.ts'
import type { Inbox } from './inbox.ts'
import type { StoredPast } from './past.ts'
import { heavy } from './refusals.ts'

export const nothing = { consumed: [], outbox: [], tasks: [], dropped: [] }
export const HOLD: Next = { type: 'hold' }

/** Lets go of the run: until something is due, or for another worker to go on with at once. */
export function released(isReturned: boolean, due: Instant | undefined, now: Instant): Next {
  const wakeAt = isReturned ? now : due
  const status = isReturned ? 'running' : 'waiting'
  return { type: 'release', status, ...(wakeAt !== undefined && { wakeAt }) }
}

/** Of the run that is written: where it stands, and whether it is still the holder's to write. */
interface HeldState {
  state(): RunState
  mayWrite(): boolean
}

export class TurnWriter {
  /** Events that are durable. */
  seq: number
  /** Text written and read so far: a measure of what an execution of this run weighs. */
  bytes: number
  /** Deaths of earlier holders that no turn has made up for. */
  deaths = 0
  /** Where the first turn of a worker stands: a fork has a past before that. */
  #first = 0
  /** The text of the turn written last. */
  lastBody = ''
  /** The last durable turn. */
  turnId: number
  /** The time of the last durable event. */
  #recordedAt: Instant
  readonly #host: RunHost
  readonly #head: Head
  readonly #lease: Lease
  readonly #run: HeldState

  constructor(
    host: RunHost,
    head: Head,
    lease: Lease,
    past: Pick<TurnWriter, 'seq' | 'bytes' | 'turnId'>,
    run: HeldState,
  ) {
    this.#run = run
    this.#host = host
    this.#head = head
    this.#lease = lease
    this.seq = past.seq
    this.bytes = past.bytes
    this.turnId = past.turnId
    this.#recordedAt = run.state().at
  }

  /** Goes on behind what is stored. */
  follow({ turns, reached, deaths }: StoredPast): void {
    this.seq = reached
    this.turnId = turns.at(-1)?.turnId ?? this.turnId
    this.deaths = deaths
    const [past, ...others] = turns
    this.#first = past?.epoch === 0 && others.length === 0 ? reached : 0
  }

  /** What is durable was read. */
  know({ bytes, state }: { readonly bytes: number; readonly state: RunState }): void {
    this.bytes = bytes
    this.#recordedAt = state.at
  }

  // A lease can be lost by anything that looks at the time, in the middle of a turn. What was decided half before and half
  // after that is nothing to write down, even if the store would still take it.
  async write(events: readonly HistoryEvent[], rest: Rest): Promise<Committed> {
    if (!this.#run.mayWrite()) return { outcome: 'fenced' }
    let body: string
    try {
      body = events.length === 0 ? '' : turnBody(this.#host.build, events)
    } catch (error) {
      return { outcome: 'rejected', reason: String(error) }
    }
    this.#grow(body.length)
    this.lastBody = body
    const turnId = this.#host.turnId()
    const committed = await this.#host.commit({
      runId: this.#head.runId,
      lease: this.#lease,
      generation: this.#head.generation,
      turnId,
      seq: this.seq,
      count: events.length,
      at: this.#stampOf(events),
      body,
      ...this.#marks(events, rest.next),
      ...rest,
    })
    const isDurable = committed.outcome === 'applied' || committed.outcome === 'duplicate'
    if (isDurable && events.length > 0) this.turnId = turnId
    if (isDurable) this.#recordedAt = events.at(-1)?.at ?? this.#recordedAt
    return committed
  }

  // If the clock was set back since, what happens now is as late as what happened last. That says nothing about the
  // writer's idea of the time, which the store compares with its own.
  #stampOf(events: readonly HistoryEvent[]): Instant {
    const now = this.#host.now()
    const at = events.at(-1)?.at ?? now
    return at <= this.#recordedAt ? Math.min(at, now) : at
  }

  #grow(bytes: number): void {
    const before = this.bytes
    this.bytes += bytes
    const { historyBytesWarned: limit } = limits
    if (before < limit && this.bytes >= limit) this.#host.warn(this.#head, heavy(this.bytes))
  }

  // What the store is told of the run only when it changes.
  #marks(events: readonly HistoryEvent[], next: Next): Pick<TurnCommit, 'compensating' | 'pin'> {
    // Who could not even begin does not keep it from others.
    const begins = this.seq === this.#first && next.type !== 'pause'
    const pin = begins ? this.#host.pinOf(this.#head) : undefined
    const changed = events.some(({ type }) => type.startsWith('Compensation'))
    return {
      ...(changed && { compensating: this.#run.state().compensations > 0 }),
      ...(pin !== undefined && { pin }),
    }
  }

  /** What comes after the last turn of this generation; or why the next cannot be written. */
  after({ ending }: Turn, { beginning }: Closing): Next | string {
    if (!beginning) {
      assert(ending, 'an ending turn ends')
      return { type: 'end', status: statusOf(ending) }
    }
    try {
      const body = turnBody(this.#host.build, beginning)
      const past = { turnId: this.#host.turnId(), count: beginning.length, body }
      return { type: 'continue', past }
    } catch (error) {
      return `what it would continue with is too large, messages nobody waited for among it: ${String(error)}`
    }
  }

  /** What pauses the run until another build comes, with what is left to that. */
  pausedBy(failure: Failure, left: readonly string[]): Next {
    return {
      type: 'pause',
      build: this.#host.build,
      failure: JSON.stringify(failure),
      ...(left.length > 0 && { left: [...left] }),
      ...(this.deaths > 0 && { uncounted: true }),
    }
  }

  /** Pauses the run as it is. What comes meanwhile is left as well, unless it stops the run. */
  async leave(failure: Failure, inbox: Inbox): Promise<'applied' | 'stopped' | 'lost'> {
    while (!inbox.stop) {
      const next = this.pausedBy(failure, inbox.ids)
      const committed = await this.write([], { ...nothing, next })
      if (committed.outcome === 'applied') return 'applied'
      if (committed.outcome !== 'more') return 'lost'
      inbox.receive(committed.messages)
    }
    return 'stopped'
  }

  /** Writes a turn that does not care for messages: whatever comes is taken, and changes nothing. */
  async insist(
    events: readonly HistoryEvent[],
    rest: Rest,
    seen: Iterable<string>,
  ): Promise<{ outcome: 'applied' | 'lost' }> {
    for (const consumed = [...seen]; ; ) {
      const committed = await this.write(events, { ...rest, consumed: [...consumed] })
      if (committed.outcome === 'more') consumed.push(...committed.messages.map(({ id }) => id))
      else if (committed.outcome === 'applied' || committed.outcome === 'duplicate')
        return { outcome: 'applied' }
      else return { outcome: 'lost' }
    }
  }
}
