// A run while this worker holds it: turn after turn, until it is released, ends, or the lease is lost. Turns are
// strictly one after another; what happens meanwhile collects for the next one. Nothing a turn asks for is begun
// before the turn is durable, except what would be decided the same way again if this process died now.
import { assert } from '../base/assert.ts'
import { type Failure, failureOf } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import { limits } from '../base/limits.ts'
import type { Ending, HistoryEvent } from '../kernel/event.ts'
import { endingBy } from '../kernel/message.ts'
import { type OpenStep } from '../kernel/requests.ts'
import { type Head, RunState, statusOf } from '../kernel/run.ts'
import { Turn } from '../kernel/turn.ts'
import type { ClaimedRun, Next, StoredMessage } from '../stores/store.ts'
import { outbound, sentBy, tasksOf } from './commit.ts'
import { HeldExecution } from './held-execution.ts'
import type { Again, HeldOutcome, RunHost } from './host.ts'
import { Inbox } from './inbox.ts'
import { LocalSteps } from './local-steps.ts'
import { Nap } from './nap.ts'
import { changesCode, headSince, loadTurns, pastOf, readHead, waitsForTrigger } from './past.ts'
import {
  begunOf,
  cancelledTasks,
  isLate,
  letGo,
  mayWait,
  nextDue,
  overdueSteps,
} from './readiness.ts'
import { poisoned, restful, timedOut, tooLong, unrecorded, unstorable } from './refusals.ts'
import { NoAnswer } from './store-line.ts'
import { HOLD, nothing, released, TurnWriter } from './turn-writer.ts'
import { type Mood, Waiting } from './waiting.ts'
import type { WarmRun } from './warm.ts'

export class HeldRun {
  readonly runId: string
  readonly #host: RunHost
  readonly #claimed: ClaimedRun
  #head: Head
  #state = new RunState()
  readonly #code: HeldExecution
  /** Events of turns that are not durable yet, because they can be decided again. */
  #carried: HistoryEvent[] = []
  readonly #writer: TurnWriter
  readonly #again: Again
  /** Grants since the last durable turn that led to nothing. */
  #fruitless = 0
  /** Why what it was born with cannot be read. */
  readonly #unborn: unknown
  /** Whether its history is known here. */
  #isRead = false
  readonly #inbox = new Inbox()
  readonly #steps: LocalSteps
  #mood: Mood = 'working'
  /** Queued steps whose workers were told, under this lease, that they were cancelled. */
  readonly #told = new Set<string>()
  /** And the run is to be looked at again, since it need not be held for their answers. */
  #hasToldTasks = false
  /** Bodies that wait until their steps are recorded. */
  readonly #recording: PromiseWithResolvers<void>[] = []
  #isOver = false
  readonly #nap: Nap
  readonly #waiting: Waiting

  constructor(host: RunHost, claimed: ClaimedRun, warm: WarmRun | undefined, again: Again) {
    this.#again = again
    this.#host = host
    this.#claimed = claimed
    this.runId = claimed.head.runId
    this.#nap = new Nap((ms, fire) => host.after(ms, fire))
    const { head, unreadable } = readHead(claimed)
    this.#head = warm?.head ?? head
    this.#unborn = unreadable
    this.#steps = new LocalSteps(
      (key, step, plan, attempt) =>
        host.begin(this.#head, key, step, plan, attempt, () => this.#recorded()),
      () => this.#nap.wake(),
    )
    this.#waiting = new Waiting(host, this.#nap, this.#steps, this.#inbox, () => this.#mood)
    if (warm) this.#state = warm.state
    this.#code = new HeldExecution(host, this.#head, warm?.execution)
    const past = { seq: this.#state.seq, bytes: warm?.bytes ?? 0, turnId: claimed.turnId }
    this.#writer = new TurnWriter(host, this.#head, claimed.lease, past, {
      state: () => this.#state,
      mayWrite: () => this.#mood !== 'abandoned',
    })
    this.receive(claimed.messages)
  }

  /** Whether step bodies were begun of whose end nothing is durable. */
  get hasBegun(): boolean {
    return this.#steps.hasBegun
  }

  get epoch(): number {
    return this.#claimed.lease.epoch
  }

  receive(messages: readonly StoredMessage[]): void {
    this.#inbox.receive(messages)
    this.#nap.wake()
  }

  /** Finishes what is running, begins nothing, and gives the run back. */
  giveBack(): void {
    if (this.#mood === 'working') this.#mood = 'returning'
    this.#nap.wake()
  }

  /** Waits no longer for what is running. */
  abortSteps(): void {
    this.#steps.cutOff('the worker stopped', this.#host.now())
    this.#nap.wake()
  }

  /** The lease is gone: whatever is under way stops, and nothing more is written. */
  abandon(reason: string): void {
    this.#mood = 'abandoned'
    this.#steps.stop(reason)
    this.#nap.wake()
  }

  async drive(): Promise<HeldOutcome> {
    try {
      await this.#open()
      for (;;) {
        const outcome = await this.#turn()
        if (outcome) return outcome
        await this.#somethingHappens()
        if (this.#mood === 'abandoned') return this.#lose()
      }
    } catch (error) {
      if (this.#mood === 'abandoned') return this.#lose()
      if (error instanceof NoAnswer) throw error
      return await (this.#isRead ? this.#park(error) : this.#leave(error))
    } finally {
      this.#isOver = true
      for (const { reject } of this.#recording.splice(0)) reject(unrecorded())
    }
  }

  async #open(): Promise<void> {
    if (!this.#code.begun) await this.#read()
    else if (this.#unborn === undefined) this.#isRead = true
    else throw this.#unborn
  }

  async #read(): Promise<void> {
    const stored = await loadTurns(this.#host, this.#claimed, this.#again)
    // Known before anything can go wrong with what they say, so that even then the run can be paused.
    this.#writer.follow(stored)
    this.#fruitless = stored.fruitless
    const past = pastOf(stored.turns)
    if (this.#unborn !== undefined) throw this.#unborn
    this.#isRead = true
    this.#state = past.state
    this.#head = headSince(this.#head, past.events)
    assert(past.state.seq >= this.#claimed.seq, 'history reaches as far as at the last release')
    this.#writer.know(past)
    if (stored.deaths >= limits.poisonDeliveries) {
      // Whoever tries again begins to count anew.
      this.#writer.deaths = 0
      throw poisoned(stored.deaths)
    }
    await this.#code.open(this.#head, past.events)
  }

  async #turn(): Promise<HeldOutcome | undefined> {
    if (this.#inbox.unreadable !== undefined) return this.#standStill(this.#inbox.unreadable)
    // The worker's clock is an estimate; nothing happens to a run before it was created.
    const now = Math.max(this.#host.now(), this.#head.createdAt)
    const turn = new Turn(this.#head, this.#state, now)
    turn.receive(this.#inbox.take())
    turn.settle(this.#steps.takeResults())
    const overdue = overdueSteps(this.#state, now)
    turn.fireDue(overdue && (await begunOf(this.#host, this.#head, overdue)))
    if (turn.ending) return this.#end(turn)
    if (changesCode(turn.events) || waitsForTrigger(this.#head, this.#state))
      return this.#putAside(turn)
    const first = !this.#code.begun
    try {
      const { current } = this.#code
      if (current.broken) throw current.broken
      current.onBreak = () => this.#nap.wake()
      if (first || turn.events.length > 0) await this.#code.decide(turn, this.#state, now)
      if (first) await this.#code.countDeaths(turn, this.#state, this.#writer.deaths, now)
      this.#writer.deaths = 0
    } catch (error) {
      if (this.#mood === 'abandoned' || error instanceof NoAnswer) throw error
      return this.#park(error, turn)
    }
    // A holder that lost its lease meanwhile has no say in what becomes of the run, even if the store would listen.
    if (this.#mood === 'abandoned') return this.#lose()
    turn.ending ??= tooLong(this.#state.seq, this.#writer.bytes)
    if (isLate(this.#head, this.#state, now)) turn.ending ??= timedOut(this.#head, this.#state, now)
    if (turn.ending || turn.continuation) return this.#end(turn)
    return this.#goOn(turn, now)
  }

  // Continues the run: holds it while there is something to do here, and lets go of it otherwise.
  async #goOn(turn: Turn, now: Instant): Promise<HeldOutcome | undefined> {
    letGo(turn, this.#state, this.#steps)
    const pausing = this.#state.pausing !== undefined
    const mayBegin = this.#mood === 'working' && !pausing
    const ready = mayBegin ? this.#code.ready(turn, this.#state, this.#steps, now) : []
    this.#carried.push(...turn.events)
    const busy = this.#steps.size > 0 || this.#steps.hasResults || ready.length > 0
    if (pausing && !busy) return this.#rest(turn)
    // By the store's clock, which may be behind the run's own time if it was set back.
    const soon = (this.#nextDue() ?? Infinity) - this.#host.now() <= limits.holdForTimerMs
    const cancelled = cancelledTasks(this.#state, this.#told)
    const stays = busy || (soon && this.#mood === 'working') || this.#inbox.size > 0
    const hold = stays || cancelled.length > 0
    const isAwaited = cancelled.length > 0 || this.#recording.length > 0
    if (stays && !isAwaited && mayWait(this.#carried, turn, this.#code.current, now)) {
      this.#beginSteps(ready)
      return undefined
    }
    const outcome = await this.#commitAndGoOn(turn, hold, ready)
    if (!outcome) await this.#cancelTasks(cancelled)
    return outcome
  }

  // Those that no worker has begun are over; the others are told, and their answers waited for.
  async #cancelTasks(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    for (const key of keys) this.#told.add(key)
    for (const key of await this.#host.cancelTasks(this.#head, keys)) {
      const step = this.#state.open.get(key)
      if (step?.type === 'step') this.#steps.giveUp(key, step)
    }
    this.#hasToldTasks = true
  }

  // Its code is not to begin yet, or to be opened anew: whoever comes next reads the run from its beginning.
  async #putAside(turn: Turn): Promise<HeldOutcome> {
    await this.#waiting.calm()
    const now = this.#host.now()
    this.#steps.cutOff('the run goes by another definition', now)
    turn.settle(this.#steps.takeResults())
    const due = waitsForTrigger(this.#head, this.#state) ? {} : { wakeAt: now }
    const events = [...this.#carried, ...turn.events]
    const next: Next = { type: 'release', status: 'waiting', ...due }
    const committed = await this.#writer.write(events, { ...sentBy(this.#head, turn), next })
    if (committed.outcome === 'rejected') return this.#fail(committed.reason)
    if (committed.outcome !== 'applied' && committed.outcome !== 'duplicate') return this.#lose()
    this.#durable(events, turn.consumed)
    return this.#cold('wakeAt' in due ? due.wakeAt : undefined)
  }

  // Somebody wants it to: all that happened is written first, so that what comes meanwhile wakes it as it would any other.
  async #rest(turn: Turn): Promise<HeldOutcome | undefined> {
    const outcome = await this.#commitAndGoOn(turn, true, [])
    if (outcome || this.#inbox.size > 0) return outcome
    const failure = restful(this.#state.pausing?.note)
    const next: Next = { type: 'pause', failure: JSON.stringify(failure) }
    const committed = await this.#writer.write([], { ...nothing, next })
    if (committed.outcome === 'more') this.receive(committed.messages)
    if (committed.outcome !== 'applied')
      return committed.outcome === 'more' ? undefined : this.#lose()
    this.#host.paused(this.#head, failure)
    return this.#released()
  }

  #nextDue(): Instant | undefined {
    return nextDue(this.#head, this.#state, this.#steps, this.#code.current)
  }

  async #commitAndGoOn(
    turn: Turn,
    hold: boolean,
    ready: readonly [string, OpenStep][],
  ): Promise<HeldOutcome | undefined> {
    const next = hold
      ? HOLD
      : released(this.#mood === 'returning', this.#nextDue(), this.#host.now())
    const committed = await this.#writer.write(this.#carried, {
      ...sentBy(this.#head, turn),
      tasks: tasksOf(this.#head, this.#state, turn, (key) => this.#code.planOf(key)),
      next,
    })
    if (this.#mood === 'abandoned' || committed.outcome === 'fenced') return this.#lose()
    if (committed.outcome === 'rejected') return this.#fail(committed.reason)
    this.#durable(this.#carried.splice(0), turn.consumed)
    if (!hold) {
      this.#host.suspended(this.#head)
      return this.#released()
    }
    this.#beginSteps(ready)
    return undefined
  }

  async #end(turn: Turn): Promise<HeldOutcome> {
    this.#carried.push(...turn.events)
    for (;;) {
      const closing = turn.close()
      const events = [...this.#carried, closing.event]
      const rest = sentBy(this.#head, turn, closing)
      const next = this.#writer.after(turn, closing)
      if (typeof next === 'string') return this.#fail(next)
      const committed = await this.#writer.write(events, { ...rest, next })
      if (this.#mood === 'abandoned' || committed.outcome === 'fenced') return this.#lose()
      if (committed.outcome === 'rejected') return this.#fail(committed.reason)
      if (committed.outcome !== 'more') return this.#over(events, closing.beginning !== undefined)
      const before = turn.events.length
      this.#inbox.receive(committed.messages)
      turn.receive(this.#inbox.take())
      // What cannot be read came too late to change anything, like all that comes now.
      turn.consumed.push(...this.#inbox.left.splice(0))
      this.#carried.push(...turn.events.slice(before))
    }
  }

  // A next generation is due at once, for whoever is first.
  #over(events: HistoryEvent[], continued = false): HeldOutcome {
    this.#steps.stop(continued ? 'the run continues as new' : 'the run ended')
    this.#durable(events, [])
    this.#code.dispose()
    if (continued) return { type: 'released', wakeAt: this.#host.now() }
    return { type: 'ended', body: this.#writer.lastBody }
  }

  // A turn the store can never take must not come back for ever: the run fails, and says why.
  #fail(reason: string): Promise<HeldOutcome> {
    return this.#endWithout(unstorable(reason))
  }

  // Ends the run from what is durable, whatever its code would say.
  async #endWithout(ending: Ending, failed?: Turn): Promise<HeldOutcome> {
    const turn = failed ?? new Turn(this.#head, this.#state, this.#host.now())
    turn.continuation = undefined
    turn.ending = ending
    const closing = turn.close()
    const facts = failed ? [...this.#carried, ...failed.events] : []
    const seq = this.#writer.seq + facts.length + 1
    const rest = sentBy(this.#head, turn, closing)
    const events = [...facts, { ...closing.event, seq }]
    const next = { type: 'end', status: statusOf(ending) } as const
    const ended = await this.#writer.insist(events, { ...rest, next }, this.#inbox.ids)
    return ended.outcome === 'applied' ? this.#over(events) : this.#lose()
  }

  // Code and history do not fit, or the code waits for what pawl cannot see: not a failure of the run, and not to be
  // tried again by the same code. What happened is kept, attempts cut off now among it; what the code made of it is
  // not. Cancelling needs no code, and who migrates it says what it goes by instead.
  async #park(error: unknown, given?: Turn): Promise<HeldOutcome> {
    const now = this.#host.now()
    const turn = given ?? new Turn(this.#head, this.#state, now)
    if (!given) turn.receive(this.#inbox.take())
    this.#steps.cutOff('the run was paused', now)
    turn.settle(this.#steps.takeResults())
    const { stop, left } = this.#inbox
    if (stop) return this.#endWithout(endingBy(stop), turn)
    if (changesCode(turn.events)) return this.#putAside(turn)
    const facts = [...this.#carried, ...turn.events]
    const failure = failureOf(error)
    const isMisfit = facts.length === 0 && failure.code === 'VERSION_MISMATCH'
    if (isMisfit) await this.#waiting.hesitate(this.#fruitless)
    const next = this.#writer.pausedBy(failure, left)
    const sent = { consumed: [...turn.consumed], outbox: outbound(this.#head, turn.outgoing) }
    const committed = await this.#writer.write(facts, { ...nothing, ...sent, next })
    if (committed.outcome === 'more') {
      // If nothing of it is new, it was taken by a turn that came to nothing: whoever is next reads it again.
      if (!this.#inbox.receive(committed.messages)) return this.#lose()
      turn.receive(this.#inbox.take())
      return this.#park(error, turn)
    }
    if (committed.outcome !== 'applied' && committed.outcome !== 'duplicate') return this.#lose()
    this.#host.announce(this.#head, facts)
    return this.#parked(failure)
  }

  // Nothing is decided without a message that is there and cannot be read. What is running is finished first.
  async #standStill(error: unknown): Promise<HeldOutcome> {
    await this.#waiting.calm()
    await this.#waiting.hesitate(this.#fruitless)
    return this.#mood === 'abandoned' ? this.#lose() : this.#park(error)
  }

  // Nothing is known of the run, so nothing is taken, not even a message: whoever can read it finds it as it was.
  async #leave(error: unknown): Promise<HeldOutcome> {
    await this.#waiting.hesitate(this.#fruitless)
    if (this.#mood === 'abandoned') return this.#lose()
    const failure = failureOf(error)
    const outcome = await this.#writer.leave(failure, this.#inbox)
    if (outcome === 'applied') return this.#parked(failure)
    const { stop } = this.#inbox
    return stop && outcome === 'stopped' ? this.#endWithout(endingBy(stop)) : this.#lose()
  }

  #parked(failure: Failure): HeldOutcome {
    this.#host.paused(this.#head, failure)
    return this.#cold()
  }

  #cold(wakeAt?: Instant): HeldOutcome {
    this.#code.dispose()
    return { type: 'released', ...(wakeAt !== undefined && { wakeAt }) }
  }

  // Whoever asks for it goes on when all that was decided so far is durable.
  #recorded(): Promise<void> {
    if (this.#isOver) return Promise.reject(unrecorded())
    if (this.#carried.length === 0) return Promise.resolve()
    const asked = Promise.withResolvers<void>()
    this.#recording.push(asked)
    this.#nap.wake()
    return asked.promise
  }

  #durable(events: readonly HistoryEvent[], consumed: readonly string[]): void {
    for (const { resolve } of this.#recording.splice(0)) resolve()
    this.#writer.seq += events.length
    this.#inbox.forget(consumed)
    this.#steps.settle()
    this.#host.announce(this.#head, events)
    this.#code.log()
  }

  #released(): HeldOutcome {
    const wakeAt = this.#nextDue()
    if (this.#host.alwaysReplay) return this.#cold(wakeAt)
    const due = wakeAt === undefined ? {} : { wakeAt }
    const { turnId, bytes } = this.#writer
    const about = { state: this.#state, head: this.#head, turnId, bytes }
    return { type: 'released', warm: { execution: this.#code.current, ...about }, ...due }
  }

  #lose(): HeldOutcome {
    this.#steps.stop('the lease was lost')
    this.#code.dispose()
    return { type: 'lost', began: this.hasBegun }
  }

  #somethingHappens(): Promise<void> {
    const { size, unreadable } = this.#inbox
    const isNow = size > 0 || unreadable !== undefined || this.#steps.hasResults
    const isAwaited = this.#hasToldTasks || this.#recording.length > 0
    if (isNow || this.#mood === 'abandoned' || isAwaited) {
      this.#hasToldTasks = false
      return Promise.resolve()
    }
    const carried = (this.#carried[0]?.at ?? Number.POSITIVE_INFINITY) + limits.carryMsMax
    const due = this.#nextDue() ?? Number.POSITIVE_INFINITY
    return this.#nap.take(Math.max(0, Math.min(due, carried) - this.#host.now()))
  }

  #beginSteps(ready: readonly [string, OpenStep][]): void {
    for (const [key, step] of ready) this.#steps.begin(key, step, this.#code.planOf(key))
  }
}
