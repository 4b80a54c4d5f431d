// A run while this worker holds it: what is known of it, and what the worker can tell it. `run-loop.ts` takes it from
// turn to turn, `turn-cycle.ts` has one turn, `pausing.ts` and `ending.ts` the ways in which the worker stops holding
// it.
import type { Instant } from '../base/time.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { deadlineOf, type Head, RunState } from '../kernel/run.ts'
import type { ClaimedRun, Lease, StoredMessage } from '../stores/store.ts'
import { announceEvents, announceTurn } from './announce.ts'
import type { WorkerContext } from './context.ts'
import { HeldExecution } from './held-execution.ts'
import { readHead } from './history.ts'
import { Inbox } from './inbox.ts'
import type { EarlierWork } from './lease-book.ts'
import { Steps } from './steps.ts'
import { TurnWriter } from './turn-writer.ts'
import { Uncommitted } from './uncommitted.ts'
import { Waker } from './waker.ts'
import type { WarmRun } from './warm.ts'

/** How a worker came to hold a run no more. */
export type HeldOutcome =
  | { readonly type: 'ended'; readonly body: string }
  | { readonly type: 'released'; readonly warm?: WarmRun; readonly wakeAt?: Instant }
  /** `hasBegun` says that step bodies were begun and cut off. */
  | { readonly type: 'lost'; readonly hasBegun: boolean }

/** A draining run finishes what is running, begins nothing, and is released. An abandoned one has lost its lease. */
type Phase = 'working' | 'draining' | 'abandoned'

export class HeldRun {
  readonly context: WorkerContext
  readonly claimed: ClaimedRun
  /** What was done under the same lease before. */
  readonly earlier: EarlierWork
  head: Head
  /** Why the head cannot be read, if it cannot. */
  readonly headError: unknown
  state: RunState
  readonly waker: Waker
  readonly inbox = new Inbox()
  readonly uncommitted: Uncommitted
  readonly steps: Steps
  readonly code: HeldExecution
  readonly writer: TurnWriter
  phase: Phase = 'working'
  /** Whether the history is known here. */
  isRead = false
  /** Grants since the last committed turn that led to no turn. */
  fruitless = 0
  /** Queued steps whose workers were told, under this lease, that they were cancelled. */
  readonly toldTasks = new Set<string>()
  /** Workers were told in this turn. The run is looked at again, because it need not be held for their answers. */
  hasToldTasks = false

  constructor(context: WorkerContext, claimed: ClaimedRun, warm: WarmRun | undefined, earlier: EarlierWork) {
    this.context = context
    this.claimed = claimed
    this.earlier = earlier
    const { head, error } = warm ? { head: warm.head } : readHead(claimed)
    this.head = head
    this.headError = error
    this.state = warm?.state ?? new RunState()
    this.waker = new Waker(context.clock)
    this.uncommitted = new Uncommitted(this.waker)
    this.steps = new Steps(context, this.waker, this.uncommitted, claimed.lease)
    this.code = new HeldExecution(context, this.head, warm?.execution, () => this.waker.wake())
    const { turnId } = claimed
    const written = { seq: this.state.seq, bytes: warm?.bytes ?? 0, turnId }
    this.writer = new TurnWriter(context, this, written)
    this.inbox.receive(claimed.messages)
  }

  get runId(): string {
    return this.claimed.head.runId
  }

  get lease(): Lease {
    return this.claimed.lease
  }

  get epoch(): number {
    return this.claimed.lease.epoch
  }

  get isAbandoned(): boolean {
    return this.phase === 'abandoned'
  }

  receive(messages: readonly StoredMessage[]): void {
    this.inbox.receive(messages)
    this.waker.wake()
  }

  /** Finishes what is running, begins nothing, and releases the run. */
  drain(): void {
    if (this.phase === 'working') this.phase = 'draining'
    this.waker.wake()
  }

  /** Waits no longer for step bodies that run. */
  abortSteps(): void {
    this.steps.cutOff('the worker stopped')
  }

  /** The lease is lost: steps are aborted, and nothing more is written. */
  abandon(reason: string): void {
    this.phase = 'abandoned'
    this.steps.stop(reason)
    this.waker.wake()
  }

  /**
   * When the run is due next. A step that is running is not due, whatever its last retry said; nor is one that today's
   * code does not ask for.
   */
  get nextDue(): Instant | undefined {
    const { head, state, steps } = this
    const execution = this.code.current
    const due = state.requests.wakeAt((key) => !steps.has(key) && execution.step(key) !== undefined)
    const deadline = deadlineOf(head, state, head.createdAt)?.at
    return deadline === undefined || (due !== undefined && due < deadline) ? due : deadline
  }

  /** These events are committed, and the messages consumed. */
  committed(events: readonly HistoryEvent[], consumed: readonly string[]): void {
    this.uncommitted.committed()
    this.writer.seq += events.length
    this.inbox.forget(consumed)
    this.steps.committed()
    announceTurn(this.context, this.head, events, this.writer.tookMs)
    announceEvents(this.context, this, events)
    this.code.showLogs()
  }

  /** The lease is lost, or may be. */
  lose(): HeldOutcome {
    this.steps.stop('the lease was lost')
    this.code.dispose()
    return { type: 'lost', hasBegun: this.steps.hasBegun }
  }
}
