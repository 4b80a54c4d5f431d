// One run of a machine. One handler answers each event, in the order of the history, with a move. The move is recorded
// with the seq of its event (StateMoved), so that no handler is called for that event again: a run is opened with its
// last state alone, and only later events are handled.

import { assert, unreachable } from '../../base/assert.ts'
import { defined } from '../../base/defined.ts'
import { PawlError } from '../../base/errors.ts'
import { type Failure, failureOf } from '../../base/failure.ts'
import type { Instant } from '../../base/time.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import type { MachinePlan } from '../../definitions/machine-plan.ts'
import { type ActivityOf, activityPlan } from '../../definitions/plan.ts'
import type { RegisteredMachine } from '../../definitions/registry.ts'
import type { Command, EndRun } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import { type Decision, type HeardEvent, type HistoryEvent, isHeard } from '../../kernel/event.ts'
import { INPUT_KEY } from '../../kernel/ids.ts'
import type { Head } from '../../kernel/run.ts'
import { type DefinitionTaken, requestFailure } from '../errors.ts'
import { InputSchema } from '../input-schema.ts'
import { Interpreter, UnansweredUpdates, unknownQuery } from '../interpreter.ts'
import { incompatibleRequests, incompatibleState, otherDefinition } from './compatibility.ts'
import { type MadeMove, makeMove } from './moves.ts'
import { idOf, type MachineRequest, Requests } from './requests.ts'

type Moved = Extract<Decision, { type: 'StateMoved' }>
type Keyed<T extends HistoryEvent['type']> = Extract<HistoryEvent, { type: T; key: string }>

/** Events that a handler answers. */
type HandledEvent =
  | Keyed<'StepCompleted' | 'StepFailed' | 'ChildCompleted' | 'ChildFailed' | 'TimerFired'>
  | Extract<HistoryEvent, { type: 'SignalReceived' }>
  | CancelEvent

type CancelEvent = Extract<HistoryEvent, { type: 'CancelRequested' }>

/** The call of a handler, and its name. */
interface HandlerCall {
  readonly handler: string
  readonly call: (state: unknown) => unknown
}

/** The place before the start, which counts as event 0. */
const NOT_BEGUN = -1

export class MachineExecution extends Interpreter {
  readonly #machine: RegisteredMachine
  readonly #plan: MachinePlan
  readonly #input: InputSchema
  readonly #requests = new Requests()
  readonly #plans = new WeakMap<MachineRequest, StepPlan>()
  #state: Payload | undefined
  /** The seq of the last event that a move answered. */
  #moved = NOT_BEGUN
  readonly #unhandled: HandledEvent[] = []
  #taken: DefinitionTaken | undefined
  #isReconciled = false
  /** The end of the run, if no handler decides it. */
  #outcome: EndRun | undefined
  /** The end of a cancelled run that is cleaning up: it ends once no request is open. */
  #cancelled: EndRun | undefined
  #hasEnded = false
  readonly #updates = new UnansweredUpdates('machine')
  #seq = 0

  readonly #activities: ActivityOf

  constructor(machine: RegisteredMachine, head: Head, activities: ActivityOf) {
    super()
    this.#activities = activities
    this.#machine = machine
    this.#plan = machine.machine
    this.#input = new InputSchema(machine, head)
  }

  get unrequested(): readonly string[] {
    return this.#requests.ahead
  }

  protected react(old: readonly HistoryEvent[], fresh: readonly HistoryEvent[], now: Instant): readonly Command[] {
    const events = [...old, ...fresh]
    for (const event of events) if (event.type === 'StateMoved') this.#applyMove(event)
    for (const event of events) {
      this.#seq = event.seq
      if (isHeard(event)) this.#fold(event)
    }
    if (this.#hasEnded) return []
    const commands: Command[] = [...this.#updates.takeRefusals()]
    if (this.#outcome) return [...commands, this.#outcome]
    const taken = this.#reconcile()
    if (taken) commands.push({ type: 'Decide', decision: taken })
    const parsing = this.#input.request(this.#seq)
    if (parsing) commands.push(parsing)
    if (this.#input.isKnown) this.#handleAll(commands, now)
    return commands
  }

  step(key: string): StepPlan | undefined {
    if (key === INPUT_KEY) return this.#input.plan
    const request = this.#requests.get(key)
    const activity = request?.kind === 'activity' && this.#plan.activities.get(request.name)
    if (!request || !activity) return undefined
    const known = this.#plans.get(request)
    if (known) return known
    const requested = { ...activity.options, ...request.options }
    const own = this.#activities(request.name)?.options
    const plan = activityPlan(requested, own, `activity '${request.name}'`)
    this.#plans.set(request, plan)
    return plan
  }

  query(name: string): Payload {
    if (name !== 'state') throw unknownQuery(name, 'machine', 'state')
    return this.#state ?? encode(undefined, 'the state of a machine')
  }

  // ── events ──

  #applyMove({ by, state, options }: Moved): void {
    this.#moved = Math.max(this.#moved, by)
    if (state) this.#state = state
    if (options) this.#requests.addOptions(options)
  }

  #fold(event: HeardEvent): void {
    switch (event.type) {
      case 'DefinitionTaken':
        this.#input.begunWithout()
        this.#taken = event
        return
      case 'StepStarted':
      case 'ChildStarted':
      case 'TimerStarted':
        if (event.key === INPUT_KEY) return this.#foldInput(event)
        return this.#requests.record(event.key, event.after <= this.#moved)
      case 'CalledOff':
        for (const key of event.keys) this.#requests.forget(key)
        return
      case 'StepCompleted':
      case 'StepFailed':
        if (event.key === INPUT_KEY) return this.#foldInput(event)
        return this.#enqueue(event)
      case 'ChildCompleted':
      case 'ChildFailed':
      case 'TimerFired':
      case 'SignalReceived':
        return this.#enqueue(event)
      case 'UpdateReceived':
      case 'UpdateFailed':
        return this.#updates.fold(event)
      case 'CancelRequested':
        return this.#foldCancel(event)
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        this.#hasEnded = true
        return
      // Moves were applied before. A machine makes no other requests, and no other event concerns it.
      case 'StateMoved':
      case 'WaitStarted':
      case 'MessageSent':
      case 'AttributesSet':
      case 'StreamWritten':
      case 'TokenMade':
      case 'Patched':
      case 'CompensationBegan':
      case 'CompensationEnded':
      case 'UpdateAccepted':
      case 'UpdateCompleted':
      case 'MigrationRequested':
      case 'StepSkipped':
      case 'StepRefused':
      case 'ListTaken':
      case 'GenerationBegan':
        return
      default:
        return unreachable(event)
    }
  }

  // A machine whose start handler was not called has nothing to clean up.
  #foldCancel(event: CancelEvent): void {
    const end: EndRun = { type: 'CancelRun', ...reasonOf(event) }
    if (!this.#plan.handlers.cancelled || this.#moved === NOT_BEGUN) {
      this.#outcome = end
      return
    }
    this.#cancelled = end
    if (event.seq > this.#moved) this.#unhandled.push(event)
    else this.#requests.clear()
  }

  #foldInput(event: HistoryEvent): void {
    this.#input.fold(event, (failure) => {
      this.#outcome = { type: 'FailRun', failure }
    })
  }

  #enqueue(event: HandledEvent): void {
    if (event.seq > this.#moved) this.#unhandled.push(event)
    else if ('key' in event) this.#requests.settle(event.key)
  }

  // ── moves ──

  /** The decision to record if the run follows this definition from now on. Throws if the definition does not fit. */
  #reconcile(): DefinitionTaken | undefined {
    if (this.#isReconciled) return undefined
    const { hash, shapes } = this.#plan
    const taken = this.#taken
    if (taken) {
      const found = taken.hash === hash ? [] : incompatibleRequests(taken, this.#plan, this.#requests)
      if (this.#state) found.push(...incompatibleState(this.#plan, this.#state))
      if (found.length > 0) throw otherDefinition(this.#plan, taken, found)
    }
    this.#isReconciled = true
    return taken?.hash === hash ? undefined : { type: 'DefinitionTaken', hash, steps: shapes }
  }

  #handleAll(commands: Command[], now: Instant): void {
    if (this.#moved === NOT_BEGUN) {
      const call = (): unknown => this.#plan.handlers.start(this.#input.value())
      commands.push(...this.#move(0, { handler: 'start', call }, now))
    }
    for (const event of this.#unhandled.splice(0)) {
      if (this.#hasEnded) return
      commands.push(...this.#handle(event, now))
    }
    if (this.#hasEnded || this.#requests.size > 0) return
    if (this.#cancelled) {
      this.#hasEnded = true
      commands.push(this.#cancelled)
    } else if (this.#plan.signals.size === 0) throw waitsForNothing(this.#plan.name)
  }

  // Cancels every open request, also those of this turn, so that the handler begins with nothing in progress.
  #cleanUp(event: CancelEvent, now: Instant): readonly Command[] {
    const keys = this.#requests.clear()
    const call = (state: unknown): unknown => this.#plan.handlers.cancelled?.(state, reasonOf(event))
    const moved = this.#move(event.seq, { handler: 'cancelled', call }, now)
    return keys.length === 0 ? moved : [{ type: 'CancelRequests', keys }, ...moved]
  }

  #handle(event: HandledEvent, now: Instant): readonly Command[] {
    const { seq } = event
    if (event.type === 'SignalReceived') return this.#move(seq, this.#signalled(event), now)
    if (event.type === 'CancelRequested') return this.#cleanUp(event, now)
    const request = this.#requests.settle(event.key)
    // An earlier move of this turn cancelled the request.
    if (!request) return this.#move(seq, undefined, now)
    const { name } = request
    const id = idOf(request)
    const { handlers } = this.#plan
    switch (event.type) {
      case 'StepCompleted': {
        const ended = { id, result: decode(event.value) }
        const call = (state: unknown): unknown => handlers.activityCompleted(name, state, ended)
        return this.#move(seq, { handler: `activityCompleted.${name}`, call }, now)
      }
      case 'StepFailed': {
        const { activityFailed } = handlers
        if (!activityFailed) return this.#fail(requestFailure(this.#activityOf(name), event))
        const ended = { activity: name, id, failure: event.failure }
        const call = (state: unknown): unknown => activityFailed(state, ended)
        return this.#move(seq, { handler: 'activityFailed', call }, now)
      }
      case 'ChildCompleted':
      case 'ChildFailed': {
        const { childEnded } = handlers
        if (!childEnded && event.type === 'ChildFailed') return this.#fail(requestFailure(name, event))
        if (!childEnded) return this.#move(seq, undefined, now)
        const ended = { id, outcome: outcomeOf(event) }
        const call = (state: unknown): unknown => childEnded(state, ended)
        return this.#move(seq, { handler: 'childEnded', call }, now)
      }
      case 'TimerFired': {
        const call = (state: unknown): unknown => handlers.timerFired(name, state)
        return this.#move(seq, { handler: `timerFired.${name}`, call }, now)
      }
    }
  }

  #signalled({ name, payload }: Extract<HandledEvent, { type: 'SignalReceived' }>): HandlerCall | undefined {
    const own = this.#plan.signals.get(name)
    if (own === undefined) return undefined
    const call = (state: unknown): unknown => this.#plan.handlers.signal(own, state, decode(payload))
    return { handler: `signal.${own}`, call }
  }

  // An event without a handler is recorded as answered, too, so that later code with a handler does not answer it.
  #move(by: number, answer: HandlerCall | undefined, now: Instant): readonly Command[] {
    assert(by > this.#moved, 'events are handled once, in their order')
    this.#moved = by
    if (!answer) return [{ type: 'Decide', decision: { type: 'StateMoved', by } }]
    try {
      const { handler, call } = answer
      const given = call(this.#state && decode(this.#state))
      const origin = { by, now, handler: `'${handler}'`, activities: this.#activities }
      const made = makeMove(this.#machine, this.#requests, given, origin)
      if (made.end) this.#hasEnded = true
      return [{ type: 'Decide', decision: this.#moveTo(by, made) }, ...made.commands]
    } catch (error) {
      return this.#fail(failureOf(error))
    }
  }

  #moveTo(by: number, { state, options }: MadeMove): Moved {
    const isSame = this.#state !== undefined && isSamePayload(this.#state, state)
    this.#state = state
    return defined({ type: 'StateMoved', by, state: isSame ? undefined : state, options })
  }

  // No move is recorded, so that a retry of the run handles the event again.
  #fail(failure: Failure): readonly Command[] {
    this.#hasEnded = true
    return [{ type: 'FailRun', failure }]
  }

  #activityOf(name: string): string {
    return this.#plan.activities.get(name)?.name ?? name
  }
}

function reasonOf({ reason }: CancelEvent): { readonly reason?: string } {
  return defined({ reason })
}

function outcomeOf(event: Keyed<'ChildCompleted' | 'ChildFailed'>) {
  return event.type === 'ChildCompleted'
    ? ({ ok: true, value: decode(event.value) } as const)
    : ({ ok: false, failure: event.failure } as const)
}

function isSamePayload(one: Payload, other: Payload): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function waitsForNothing(machine: string): PawlError {
  const message = `machine '${machine}' waits for nothing: it has no activity, child or timer in progress, and no signals. Request one of them in that state, or end the run with act.complete or act.fail.`
  return new PawlError('NON_DURABLE_AWAIT', message)
}
