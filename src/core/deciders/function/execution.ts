// One execution of a workflow function: suspended code that is kept alive between turns. Code runs only inside
// `advance`, from one delivery to the next, until nothing more can be delivered; its new requests are then the commands
// of the turn. If the code continues at any other time, it awaited something that pawl cannot see, which is an error.
import { AsyncLocalStorage } from 'node:async_hooks'
import { assert } from '../../base/assert.ts'
import { CancelledError } from '../../base/errors.ts'
import type { Instant } from '../../base/time.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredFunction } from '../../definitions/registry.ts'
import type { Command, Request } from '../../kernel/command.ts'
import type { Execution, LogEntry, StepPlan, World } from '../../kernel/decider.ts'
import { endedUnbegun } from '../../kernel/endings.ts'
import { type HistoryEvent, isHeard } from '../../kernel/event.ts'
import type { Head } from '../../kernel/run.ts'
import { makeToken } from '../../kernel/tokens.ts'
import type { Unplaced } from '../requests.ts'
import { RunAttributes } from './attributes.ts'
import { rest } from './barrier.ts'
import { Handlers, type MessageHandler } from './handlers.ts'
import { isMessage, Journal, type Settlement } from './journal.ts'
import { callSite, nestedCall, nonDurableAwait, notCancelled, requestInQuery } from './nondeterminism.ts'
import {
  awaitsEnd,
  changesOf,
  endingOf,
  type FunctionOutcome,
  never,
  type PendingRequest,
  settle,
} from './pending-request.ts'
import { type Identity, RequestMatcher } from './request-matcher.ts'
import { Compensations, Continued } from './saga.ts'
import { Scope } from './scope.ts'
import { RunStreams } from './streams.ts'
import { TurnCommands } from './turn-commands.ts'

/** The code that is running: that of an execution, or the body of a step. */
export const running = new AsyncLocalStorage<FunctionExecution | 'step'>()

/** Deliveries after which a long replay lets other work of the process run. */
const DELIVERIES_BETWEEN_BREATHS = 256

/** Refused requests after which the code of a cancelled workflow is abandoned. */
const REFUSALS_MAX = 1_000

export interface FunctionCode {
  readonly workflow: RegisteredFunction
  readonly activities: ActivityOf
  readonly start: (execution: FunctionExecution, input: unknown) => Promise<unknown>
}

export class FunctionExecution implements Execution {
  readonly head: Head
  readonly workflow: RegisteredFunction
  readonly activities: ActivityOf
  /** The time as the code sees it: that of the last delivered event. */
  now: Instant = 0
  /** The seq of the last delivered event. */
  delivered = 0
  readonly #journal = new Journal()
  readonly #matcher: RequestMatcher
  readonly #open = new Map<string, PendingRequest>()
  /** The seq of the last event that moved the replay forward: deliveries to past requests do not. */
  #position = 0
  readonly #turn = new TurnCommands()
  #patches: Map<string, boolean> | undefined
  #logs: LogEntry[] = []
  #replayedThrough = 0
  #started = false
  #inTurn = false
  #refusals = 0
  readonly root = new Scope()
  readonly compensations = new Compensations()
  readonly attributes: RunAttributes
  readonly streams = new RunStreams()
  readonly handlers = new Handlers((error) => this.#settleRoot({ ok: false, error }))
  #isQuery = false
  #outcome: FunctionOutcome | undefined
  #dead: Error | 'disposed' | undefined
  #lastKey: string | undefined
  onBreak: () => void = () => {}
  readClock = false
  readonly #start: FunctionCode['start']
  readonly #world: World

  constructor({ workflow, activities, start }: FunctionCode, head: Head, world: World) {
    this.workflow = workflow
    this.activities = activities
    this.#matcher = new RequestMatcher(workflow.name, this.#journal)
    this.head = head
    this.attributes = new RunAttributes(head.extras.attributes)
    this.#start = start
    this.#world = world
  }

  async advance(events: readonly HistoryEvent[], now: Instant, replayedThrough = 0): Promise<readonly Command[]> {
    if (this.#dead) throw this.#deathError()
    const ended = endedUnbegun(events)
    if (ended) return [ended]
    for (const event of events) if (isHeard(event)) this.#journal.add(event)
    this.#replayedThrough = Math.max(this.#replayedThrough, replayedThrough)
    if (!this.#started) this.now = events[0]?.at ?? now
    try {
      await this.#runToFrontier()
      return this.#commands()
    } catch (error) {
      this.#dead ??= error instanceof Error ? error : new Error(String(error))
      throw this.#deathError()
    } finally {
      this.#inTurn = false
    }
  }

  get unrequested(): readonly string[] {
    return [...this.#journal.unrequested.keys()]
  }

  get broken(): Error | undefined {
    return this.#dead instanceof Error ? this.#dead : undefined
  }

  step(key: string): StepPlan | undefined {
    return this.#open.get(key)?.plan
  }

  /** From now on the handler gets the messages of this channel. */
  handle(channel: string, handler: MessageHandler): void {
    if (this.#isQuery || this.#dead) return
    this.handlers.on(channel, handler)
    this.#journal.handle(channel)
  }

  /** Whether a handler gets the signals of this name, and whether a wait is open for one. */
  usesOf(signal: string): { readonly handled: boolean; readonly awaited: boolean } {
    const channel = `signal:${signal}`
    return { handled: this.#journal.isHandled(channel), awaited: this.#journal.hasWaits(channel) }
  }

  /** The key of a request in the history: its former key, if it was recorded under that. */
  keyOf(request: Unplaced<Request>, identity: Identity): string {
    return this.#matcher.underRecordedKey(request, identity).key
  }

  /** True if the history has the request that the code is about to make. */
  hasRecorded(key: string): boolean {
    return this.#journal.unrequested.has(key)
  }

  /** The size of the item that the code is about to write, if the history has it. */
  recordedBytes(key: string): number | undefined {
    const recorded = this.#journal.unrequested.get(key)
    return recorded?.type === 'StreamWritten' ? recorded.bytes : undefined
  }

  /** True if the history has requests, but not this one. */
  beganWithout(key: string): boolean {
    return this.#matcher.isBehind(0) && !this.hasRecorded(key)
  }

  /** Settles a condition that holds. The code itself saw that, so no event settles it. */
  meet(promise: Promise<unknown>): void {
    for (const pending of this.#open.values()) {
      if (pending.promise === promise) return this.#cancelPending(pending, undefined)
    }
  }

  /** Calls the handler of a query, which may change and request nothing. */
  query(name: string, payload: Payload): Payload {
    if (this.#dead) throw this.#deathError()
    this.#isQuery = true
    try {
      return this.handlers.query(name, payload)
    } finally {
      this.#isQuery = false
    }
  }

  takeLogs(): readonly LogEntry[] {
    const logs = this.#logs
    this.#logs = []
    return logs
  }

  dispose(): void {
    this.#dead = 'disposed'
    this.#open.clear()
  }

  log(entry: LogEntry): void {
    const live = this.#replayedThrough === 0 || this.delivered > this.#replayedThrough
    if (live && this.#inTurn) this.#logs.push(entry)
  }

  /** Every durable call of `ctx` ends here. */
  request(scope: Scope, request: Unplaced<Request>, identity: Identity, plan?: StepPlan): Promise<unknown> {
    if (running.getStore() === 'step') throw nestedCall(request.key)
    if (this.#isQuery) throw requestInQuery(request.key)
    if (this.#dead === 'disposed') return never()
    if (!this.#inTurn) return this.#foreignWake(request.key)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    // Without a handler, a branch that lost would count as an unhandled rejection.
    promise.catch(() => {})
    if (scope.cancelled) return this.#refuse(scope.cancelled)
    const duplicate = identity.explicit && this.#matcher.claim(request.key)
    if (duplicate) return this.#die(duplicate)
    const ifPast = identity.ifPast ?? this.workflow.options.ifPast ?? 'pause'
    const pending: PendingRequest = {
      request: this.#matcher.underRecordedKey(request, identity),
      scope,
      promise,
      after: this.#position,
      ifPast,
      ...(plan && { plan }),
      ...(identity.check && { check: identity.check }),
      past: false,
      resolve,
      reject,
    }
    const { key } = pending.request
    this.#lastKey = key
    this.#open.set(key, pending)
    const mismatch = this.#matcher.match(pending, identity)
    if (mismatch) void this.#die(mismatch)
    const changes = changesOf(pending)
    if (changes) this.attributes.change(key, changes)
    if (!pending.recorded) this.#turn.add(pending)
    return promise
  }

  /** The token that settles a webhook from outside: the same in every replay. */
  token(key: string): string {
    const known = this.#journal.tokens.get(key)
    if (known !== undefined) return known
    const token = makeToken(this.head.runId, this.#world.secret())
    this.#journal.tokens.set(key, token)
    this.#turn.makeToken(key, token)
    return token
  }

  /** Ends this generation, whatever the code does next. A cancelled run does not continue. */
  continueAsNew(given: unknown): never {
    if (this.root.cancelled) throw this.root.cancelled
    const input = encode(given, `the input workflow '${this.workflow.name}' continues with`)
    if (this.#inTurn) this.#outcome ??= { ok: 'again', input }
    throw new Continued()
  }

  /** Cancels the requests of a scope, and refuses further requests there. */
  cancelScope(scope: Scope, error: CancelledError): void {
    scope.cancel(error)
    for (const pending of [...this.#open.values()]) {
      if (scope.covers(pending.scope)) this.#cancelPending(pending, error)
    }
  }

  /** Cancels the request that has this promise, if it is open. */
  cancelRequest(promise: Promise<unknown>, error: CancelledError): void {
    for (const pending of this.#open.values()) {
      if (pending.promise === promise) return this.#cancelPending(pending, error)
    }
  }

  /** Whether this run takes the new path of a patch; the same answer in every replay. */
  patched(id: string): boolean {
    const known = this.#patches?.get(id)
    if (known !== undefined) return known
    const marked = this.#journal.patches.has(id)
    const answer = marked || !this.#matcher.isBehind(this.#position)
    if (answer && !marked) this.#turn.patch(id)
    this.#patches ??= new Map()
    this.#patches.set(id, answer)
    return answer
  }

  /** Without an error the request is a condition that holds. */
  #cancelPending(pending: PendingRequest, error: CancelledError | undefined): void {
    const { key } = pending.request
    const isFresh = this.#matcher.forget(pending)
    if (error && !isFresh && awaitsEnd(pending)) return this.#stop(pending, error)
    this.#drop(pending)
    if (isFresh) this.#withdraw(pending)
    // A request that was open when the code came to rest is recorded even if the same turn cancels it, because a replay
    // comes to rest there, too.
    else if (!this.#journal.cancelled.delete(key)) this.#turn.cancel(key, error === undefined)
    if (error) pending.reject(error)
    else pending.resolve(true)
  }

  // The request stays open until it ends. The event `CancelRequested` stops every recorded request by itself; with
  // `isRunCancelled`, only requests of this turn need a command.
  #stop(pending: PendingRequest, error: CancelledError, isRunCancelled = false): void {
    if (pending.stopped) return
    const { key } = pending.request
    pending.stopped = error
    if (this.#journal.cancelled.delete(key)) return
    if (isRunCancelled && !this.#turn.has(pending)) return
    this.#turn.cancel(key)
  }

  #withdraw(pending: PendingRequest): void {
    this.#turn.remove(pending)
    this.attributes.forget(pending.request.key)
  }

  #drop({ request }: PendingRequest): void {
    this.#journal.forget(request.key)
    this.#open.delete(request.key)
    this.handlers.forget(request.key)
  }

  // Code that catches its cancellation and makes another request, in a loop, would never come to rest.
  #refuse(cancelled: CancelledError): Promise<unknown> {
    if (++this.#refusals <= REFUSALS_MAX) {
      const promise = Promise.reject(cancelled)
      promise.catch(() => {})
      return promise
    }
    this.#outcome ??= { ok: false, error: cancelled }
    return never()
  }

  async #runToFrontier(): Promise<void> {
    this.#inTurn = true
    // Code that has started came to rest at the end of its last turn; only a delivery continues it.
    let isAtRest = this.#started
    if (!this.#started) this.#begin()
    for (let deliveries = 1; ; deliveries++) {
      if (!isAtRest) await rest()
      isAtRest = false
      if (this.#dead) throw this.#deathError()
      this.#inTurn = false
      this.#matcher.markPast(this.#position)
      this.attributes.settle()
      if (this.#hasEnded) return
      this.#inTurn = true
      if (this.handlers.meetNext()) continue
      this.#inTurn = false
      const next = this.#journal.next()
      if (!next) break
      if (deliveries % DELIVERIES_BETWEEN_BREATHS === 0) await this.#world.breathe()
      this.#inTurn = true
      await this.#deliver(next.settlement, next.key)
    }
    if (this.#open.size === 0 && !this.#outcome) {
      const place = this.#lastKey === undefined ? 'before its first step' : `after ${this.#lastKey}`
      throw nonDurableAwait(this.workflow.name, place)
    }
    for (const key of this.#journal.cancelled) {
      if (this.#open.has(key)) throw notCancelled(this.workflow.name, key)
    }
  }

  #begin(): void {
    this.#started = true
    const root = running.run(this, () => this.#start(this, decode(this.head.input)))
    root.then(
      (value) => this.#settleRoot({ ok: true, value }),
      (error: unknown) => this.#settleRoot({ ok: false, error }),
    )
  }

  #settleRoot(outcome: FunctionOutcome): void {
    if (this.#dead) return
    if (this.#inTurn) this.#outcome ??= outcome
    else void this.#foreignWake(undefined)
  }

  async #deliver(settlement: Settlement, key: string | undefined): Promise<void> {
    // A signal may be older than its wait; neither the time nor the place in the history goes back for it.
    this.now = Math.max(this.now, settlement.at)
    this.delivered = Math.max(this.delivered, settlement.seq)
    if (settlement.type === 'CancelRequested') return this.#cancelRun(settlement)
    if (key === undefined) return this.#hear(settlement)
    const pending = this.#open.get(key)
    assert(pending, 'only open requests are settled')
    this.#open.delete(key)
    this.handlers.forget(key)
    if (!pending.recorded?.past && !pending.past) this.#reach(settlement.seq)
    settle(pending, settlement)
  }

  // Delivers a message to its handler. An update that was refused once stays refused.
  #hear(settlement: Settlement): void {
    assert(isMessage(settlement), 'all but cancellations and messages settle a key')
    this.#reach(settlement.seq)
    if (this.#journal.rejected.has(settlement.id)) return
    running.run(this, () => this.handlers.deliver(settlement, this.#journal.accepted))
  }

  #reach(seq: number): void {
    this.#position = Math.max(this.#position, seq)
  }

  // Rejects one request at a time, in their order, and lets the code come to rest after each: every replay sees this
  // order.
  async #cancelRun(settlement: Extract<Settlement, { type: 'CancelRequested' }>): Promise<void> {
    this.#reach(settlement.seq)
    const error = new CancelledError(settlement.reason)
    this.root.cancel(error)
    for (const pending of [...this.#open.values()]) {
      if (!this.root.covers(pending.scope)) continue
      const isFresh = this.#matcher.forget(pending)
      if (!isFresh && awaitsEnd(pending)) {
        this.#stop(pending, error, true)
        continue
      }
      this.#drop(pending)
      if (isFresh) this.#withdraw(pending)
      else if (this.#turn.has(pending)) this.#turn.cancel(pending.request.key)
      pending.reject(error)
      await rest()
    }
  }

  #commands(): readonly Command[] {
    const outcome = this.#hasEnded ? this.#outcome : undefined
    if (outcome?.ok === 'again') this.handlers.abandonUpdates()
    const answers = this.handlers.takeAnswers(this.#journal.answered)
    const ending = outcome && endingOf(this.workflow.name, outcome, this.root, this.#journal.unread)
    const { unfinished } = this.handlers
    return this.#turn.take(answers, ending && this.compensations.tell(ending), unfinished)
  }

  // A saga that lost a race compensates before the run ends, although no code waits for it.
  get #hasEnded(): boolean {
    return this.#outcome !== undefined && this.compensations.inProgress === 0
  }

  #foreignWake(key: string | undefined): Promise<never> {
    const site = callSite(new Error('here').stack)
    const what = key === undefined ? 'before it ended' : `before ${key}${site ? ` at ${site}` : ''}`
    const never = this.#die(nonDurableAwait(this.workflow.name, what))
    this.onBreak()
    return never
  }

  #die(error: Error): Promise<never> {
    this.#dead ??= error
    return never()
  }

  #deathError(): Error {
    return this.#dead instanceof Error ? this.#dead : new Error('this execution was disposed')
  }
}
