// One execution of a workflow function: suspended code, kept alive between turns. Code runs only inside
// `advance`, from one delivery to the next, until nothing more can be delivered; what it then still wants is
// the turn's commands. Anything that wakes the code at another time is a wait pawl cannot see, and an error.
import { AsyncLocalStorage } from 'node:async_hooks'
import { assert } from '../../base/assert.ts'
import { CancelledError } from '../../base/errors.ts'
import type { Instant } from '../../base/instant.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import type { ActivityOf } from '../../definitions/plan.ts'
import type { RegisteredFunction } from '../../definitions/registry.ts'
import type { Command } from '../../kernel/command.ts'
import type { Execution, LogEntry, StepPlan, World } from '../../kernel/decider.ts'
import { endedUnbegun } from '../../kernel/endings.ts'
import { type HistoryEvent, isHeard } from '../../kernel/event.ts'
import type { Head } from '../../kernel/run.ts'
import { makeToken } from '../../kernel/webhook.ts'
import { rest } from './barrier.ts'
import { Compensations, Continued } from './compensations.ts'
import { FoundBy } from './found-by.ts'
import { Handlers, type MessageHandler } from './handlers.ts'
import { isMessage, Journal, type Settlement } from './journal.ts'
import type { Identity, Wanted } from './matching.ts'
import { callSite, nestedCall, nonDurableAwait, queryAsked, stillWanted } from './nondeterminism.ts'
import { Recognition } from './recognition.ts'
import {
  awaitsEnd,
  changesOf,
  endingOf,
  never,
  type Outcome,
  type Request,
  settle,
} from './request.ts'
import { Scope } from './scope.ts'
import { Wishes } from './wishes.ts'

/** Whose code is running: an execution's, or the body of a step. */
export const running = new AsyncLocalStorage<FunctionExecution | 'step'>()

/** The steps after which a long replay lets the rest of the process have a turn. */
const DELIVERIES_BETWEEN_BREATHS = 256

/** Requests a cancelled workflow may make, all refused, before it is ended where it is. */
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
  /** The instant the code believes it is. */
  now: Instant = 0
  /** The seq of the last event delivered, and of the last that moved the replay forward. */
  delivered = 0
  readonly #journal = new Journal()
  readonly #recognition: Recognition
  readonly #open = new Map<string, Request>()
  #position = 0
  readonly #wishes = new Wishes()
  #patches: Map<string, boolean> | undefined
  #logs: LogEntry[] = []
  #replayedThrough = 0
  #started = false
  #inTurn = false
  #refusals = 0
  readonly root = new Scope()
  readonly compensations = new Compensations()
  readonly foundBy: FoundBy
  readonly handlers = new Handlers((error) => this.#settleRoot({ ok: false, error }))
  #isQuery = false
  #outcome: Outcome | undefined
  #dead: Error | 'disposed' | undefined
  #lastKey: string | undefined
  onBreak: () => void = () => {}
  readClock = false
  readonly #start: FunctionCode['start']
  readonly #world: World

  constructor({ workflow, activities, start }: FunctionCode, head: Head, world: World) {
    this.workflow = workflow
    this.activities = activities
    this.#recognition = new Recognition(workflow.name, this.#journal)
    this.head = head
    this.foundBy = new FoundBy(head.extras.attributes)
    this.#start = start
    this.#world = world
  }

  async advance(
    events: readonly HistoryEvent[],
    now: Instant,
    replayedThrough = 0,
  ): Promise<readonly Command[]> {
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

  get unasked(): readonly string[] {
    return [...this.#journal.unrequested.keys()]
  }

  get broken(): Error | undefined {
    return this.#dead instanceof Error ? this.#dead : undefined
  }

  step(key: string): StepPlan | undefined {
    return this.#open.get(key)?.plan
  }

  /** Sends messages of a channel to a handler from now on. */
  handle(channel: string, handler: MessageHandler): void {
    if (this.#isQuery || this.#dead) return
    this.handlers.on(channel, handler)
    this.#journal.handle(channel)
  }

  /** Whether signals of this name go to a handler, and whether something waits for one. */
  usesOf(signal: string): { readonly handled: boolean; readonly awaited: boolean } {
    const channel = `signal:${signal}`
    return { handled: this.#journal.isHandled(channel), awaited: this.#journal.hasWaits(channel) }
  }

  /** The key a request would go by: an older one, if it was recorded under that. */
  keyOf(wanted: Wanted, identity: Identity): string {
    return this.#recognition.under(wanted, identity).key
  }

  /** Whether history has what the code is about to ask for. */
  hasRecorded(key: string): boolean {
    return this.#journal.unrequested.has(key)
  }

  /** Whether history begins with other things than this. */
  beganWithout(key: string): boolean {
    return this.#recognition.isBehind(0) && !this.hasRecorded(key)
  }

  /** Settles a request by something the code itself has seen, and not by an event. */
  meet(promise: Promise<unknown>): void {
    for (const request of this.#open.values()) {
      if (request.promise === promise) return this.#callOff(request, undefined)
    }
  }

  /** Answers from where the code stands. It must change nothing, and can ask for nothing. */
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
  request(scope: Scope, wanted: Wanted, identity: Identity, plan?: StepPlan): Promise<unknown> {
    if (running.getStore() === 'step') throw nestedCall(wanted.key)
    if (this.#isQuery) throw queryAsked(wanted.key)
    if (this.#dead === 'disposed') return never()
    if (!this.#inTurn) return this.#foreignWake(wanted.key)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    // A branch nobody waits for any more must not look like an unhandled rejection.
    promise.catch(() => {})
    if (scope.cancelled) return this.#refuse(scope.cancelled)
    const taken = identity.explicit && this.#recognition.claim(wanted.key)
    if (taken) return this.#die(taken)
    const ifPast = identity.ifPast ?? this.workflow.options.ifPast ?? 'pause'
    const request: Request = {
      wanted: this.#recognition.under(wanted, identity),
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
    const { key } = request.wanted
    this.#lastKey = key
    this.#open.set(key, request)
    const misfit = this.#recognition.match(request, identity)
    if (misfit) void this.#die(misfit)
    const changes = changesOf(request)
    if (changes) this.foundBy.change(key, changes)
    if (!request.recorded) this.#wishes.ask(request)
    return promise
  }

  /** What settles the wait for a webhook from outside: the same every time the code runs. */
  token(key: string): string {
    const known = this.#journal.tokens.get(key)
    if (known !== undefined) return known
    const token = makeToken(this.head.runId, this.#world.secret())
    this.#journal.tokens.set(key, token)
    this.#wishes.makeToken(key, token)
    return token
  }

  /** Ends this generation here, whatever the code does next. A cancelled run ends for good. */
  continueAsNew(given: unknown): never {
    if (this.root.cancelled) throw this.root.cancelled
    const input = encode(given, `the input workflow '${this.workflow.name}' continues with`)
    if (this.#inTurn) this.#outcome ??= { ok: 'again', input }
    throw new Continued()
  }

  /** Calls off what was asked for in a scope, and refuses whatever is asked for there later. */
  cancel(scope: Scope, error: CancelledError): void {
    scope.cancel(error)
    for (const request of [...this.#open.values()]) {
      if (scope.covers(request.scope)) this.#callOff(request, error)
    }
  }

  /** Calls off the one request that gave this promise, if it is open. */
  callOff(promise: Promise<unknown>, error: CancelledError): void {
    for (const request of this.#open.values()) {
      if (request.promise === promise) return this.#callOff(request, error)
    }
  }

  /** Whether this run goes the new way where the code changed; the same answer every time. */
  patched(id: string): boolean {
    const known = this.#patches?.get(id)
    if (known !== undefined) return known
    const marked = this.#journal.patches.has(id)
    const answer = marked || !this.#recognition.isBehind(this.#position)
    if (answer && !marked) this.#wishes.patch(id)
    this.#patches ??= new Map()
    this.#patches.set(id, answer)
    return answer
  }

  #callOff(request: Request, error: CancelledError | undefined): void {
    const { key } = request.wanted
    const isFresh = this.#recognition.forget(request)
    if (error && !isFresh && awaitsEnd(request)) return this.#stop(request, error)
    this.#drop(request)
    if (isFresh) this.#unask(request)
    // What the code once rested on is written down even if it is let go in the same turn: a replay rests there, too.
    else if (!this.#journal.calledOff.delete(key)) this.#wishes.callOff(key, error === undefined)
    if (error) request.reject(error)
    else request.resolve(true)
  }

  // It stays open: its end settles it. A cancelled run stops all that was recorded before, and need not be told.
  #stop(request: Request, error: CancelledError, isTold = false): void {
    if (request.stopped) return
    const { key } = request.wanted
    request.stopped = error
    if (this.#journal.calledOff.delete(key) || (isTold && !this.#wishes.has(request))) return
    this.#wishes.callOff(key)
  }

  #unask(request: Request): void {
    this.#wishes.unask(request)
    this.foundBy.forget(request.wanted.key)
  }

  #drop({ wanted }: Request): void {
    this.#journal.forget(wanted.key)
    this.#open.delete(wanted.key)
    this.handlers.forget(wanted.key)
  }

  // Code that catches its cancellation and asks again, for ever, would never come to rest.
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
    // It came to rest at the end of its last turn, and only a delivery may wake it.
    let isAtRest = this.#started
    if (!this.#started) this.#begin()
    for (let deliveries = 1; ; deliveries++) {
      if (!isAtRest) await rest()
      isAtRest = false
      if (this.#dead) throw this.#deathError()
      this.#inTurn = false
      this.#recognition.markPast(this.#position)
      this.foundBy.settle()
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
    for (const key of this.#journal.calledOff) {
      if (this.#open.has(key)) throw stillWanted(this.workflow.name, key)
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

  #settleRoot(outcome: Outcome): void {
    if (this.#dead) return
    if (this.#inTurn) this.#outcome ??= outcome
    else void this.#foreignWake(undefined)
  }

  async #deliver(settlement: Settlement, key: string | undefined): Promise<void> {
    // A signal may have come long before it is waited for; time and place do not go back for it.
    this.now = Math.max(this.now, settlement.at)
    this.delivered = Math.max(this.delivered, settlement.seq)
    if (settlement.type === 'CancelRequested') return this.#cancel(settlement)
    if (key === undefined) return this.#hear(settlement)
    const request = this.#open.get(key)
    assert(request, 'only open requests are settled')
    this.#open.delete(key)
    this.handlers.forget(key)
    if (!request.recorded?.past && !request.past) this.#reach(settlement.seq)
    settle(request, settlement)
  }

  // A message for a handler. One that was refused when it came is refused for good.
  #hear(settlement: Settlement): void {
    assert(isMessage(settlement), 'all but cancellations and messages settle a key')
    this.#reach(settlement.seq)
    if (this.#journal.rejected.has(settlement.id)) return
    running.run(this, () => this.handlers.deliver(settlement, this.#journal.accepted))
  }

  #reach(seq: number): void {
    this.#position = Math.max(this.#position, seq)
  }

  // One rejection per drain, in the order of the requests: the code sees the same order every time.
  async #cancel(settlement: Extract<Settlement, { type: 'CancelRequested' }>): Promise<void> {
    this.#reach(settlement.seq)
    const error = new CancelledError(settlement.reason)
    this.root.cancel(error)
    for (const request of [...this.#open.values()]) {
      if (!this.root.covers(request.scope)) continue
      const isFresh = this.#recognition.forget(request)
      if (!isFresh && awaitsEnd(request)) {
        this.#stop(request, error, true)
        continue
      }
      this.#drop(request)
      if (isFresh) this.#unask(request)
      else if (this.#wishes.has(request)) this.#wishes.callOff(request.wanted.key)
      request.reject(error)
      await rest()
    }
  }

  #commands(): readonly Command[] {
    const outcome = this.#hasEnded ? this.#outcome : undefined
    if (outcome?.ok === 'again') this.handlers.abandonUpdates()
    const answers = this.handlers.takeAnswers(this.#journal.answered)
    const ending = outcome && endingOf(this.workflow.name, outcome, this.root, this.#journal.unread)
    const { unfinished } = this.handlers
    return this.#wishes.take(answers, ending && this.compensations.tell(ending), unfinished)
  }

  // What a saga that lost does is done before the run ends, though nobody waits for it.
  get #hasEnded(): boolean {
    return this.#outcome !== undefined && this.compensations.underWay === 0
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
    return this.#dead instanceof Error ? this.#dead : new Error('this execution was disposed of')
  }
}
