// One run of a machine. Each event that concerns it is given to one handler, in the order of the history; what came of it
// is written down under the number of the event (StateMoved) and never asked for again. So a run is opened by its last
// state alone, and only events behind that are handled.

import { assert, unreachable } from '../../base/assert.ts'
import { PawlError } from '../../base/errors.ts'
import { type Failure, failureOf } from '../../base/failure.ts'
import type { Instant } from '../../base/instant.ts'
import { decode, encode, type Payload } from '../../base/value.ts'
import type { MachinePlan } from '../../definitions/machine-plan.ts'
import { type ActivityOf, activityPlan } from '../../definitions/plan.ts'
import type { RegisteredMachine } from '../../definitions/registry.ts'
import type { Command } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import { type Decision, type HeardEvent, type HistoryEvent, isHeard } from '../../kernel/event.ts'
import { INPUT_KEY } from '../../kernel/key.ts'
import type { Head } from '../../kernel/run.ts'
import { failureOfRequest } from '../failure-of-request.ts'
import { InputSchema } from '../input-schema.ts'
import { Interpreter, refuseUpdate, unknownQuery } from '../interpreter.ts'
import { incompatibleRequests, incompatibleState, otherDefinition } from './compatibility.ts'
import { idOf } from './keys.ts'
import { type MadeMove, makeMove } from './moves.ts'
import { type OpenRequest, Requests } from './requests.ts'

type Taken = Extract<Decision, { type: 'DefinitionTaken' }>
type Moved = Extract<Decision, { type: 'StateMoved' }>
type Keyed<T extends HistoryEvent['type']> = Extract<HistoryEvent, { type: T; key: string }>

/** What handlers are told of, besides the start. */
type Concern =
  | Keyed<'StepCompleted' | 'StepFailed' | 'ChildCompleted' | 'ChildFailed' | 'TimerFired'>
  | Extract<HistoryEvent, { type: 'SignalReceived' }>
  | Cancel

type Cancel = Extract<HistoryEvent, { type: 'CancelRequested' }>

/** The code to be asked about an event, and its name. */
interface Question {
  readonly handler: string
  readonly ask: (state: unknown) => unknown
}

/** Before the start, which is number 0. */
const NOT_BEGUN = -1

export class MachineExecution extends Interpreter {
  readonly #machine: RegisteredMachine
  readonly #plan: MachinePlan
  readonly #input: InputSchema
  readonly #requests = new Requests()
  readonly #plans = new WeakMap<OpenRequest, StepPlan>()
  #state: Payload | undefined
  /** The number of the last event that was dealt with. */
  #moved = NOT_BEGUN
  #unhandled: Concern[] = []
  #taken: Taken | undefined
  #isReconciled = false
  #doom: Command | undefined
  /** How it ends once nothing is in progress, if it was cancelled and cleans up. */
  #cancelled: Command | undefined
  #hasEnded = false
  #updates: string[] = []
  #seq = 0

  readonly #activities: ActivityOf

  constructor(machine: RegisteredMachine, head: Head, activities: ActivityOf) {
    super()
    this.#activities = activities
    this.#machine = machine
    this.#plan = machine.machine
    this.#input = new InputSchema(machine, head)
  }

  get unasked(): readonly string[] {
    return this.#requests.ahead
  }

  protected react(
    old: readonly HistoryEvent[],
    fresh: readonly HistoryEvent[],
    now: Instant,
  ): readonly Command[] {
    const events = [...old, ...fresh]
    for (const event of events) if (event.type === 'StateMoved') this.#recall(event)
    for (const event of events) {
      this.#seq = event.seq
      if (isHeard(event)) this.#fold(event)
    }
    if (this.#hasEnded) return []
    const commands: Command[] = []
    for (const id of this.#updates.splice(0)) commands.push(refuseUpdate(id, 'machine'))
    if (this.#doom) return [...commands, this.#doom]
    const taken = this.#reconcile()
    if (taken) commands.push({ type: 'Decide', decision: taken })
    const parsing = this.#input.ask(this.#seq)
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
    const asked = { ...activity.options, ...request.options }
    const own = this.#activities(request.name)?.options
    const plan = activityPlan(asked, own, `activity '${request.name}'`)
    this.#plans.set(request, plan)
    return plan
  }

  query(name: string): Payload {
    if (name !== 'state') throw unknownQuery(name, 'machine', 'state')
    return this.#state ?? encode(undefined, 'the state of a machine')
  }

  // ── what happened ──

  #recall({ by, state, options }: Moved): void {
    this.#moved = Math.max(this.#moved, by)
    if (state) this.#state = state
    if (options) this.#requests.learn(options)
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
        return this.#requests.recorded(event.key, event.after <= this.#moved)
      case 'CalledOff':
        for (const key of event.keys) this.#requests.forget(key)
        return
      case 'StepCompleted':
      case 'StepFailed':
        if (event.key === INPUT_KEY) return this.#foldInput(event)
        return this.#concern(event)
      case 'ChildCompleted':
      case 'ChildFailed':
      case 'TimerFired':
      case 'SignalReceived':
        return this.#concern(event)
      case 'UpdateReceived':
        this.#updates.push(event.id)
        return
      case 'UpdateFailed':
        this.#updates = this.#updates.filter((id) => id !== event.id)
        return
      case 'CancelRequested':
        return this.#foldCancel(event)
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        this.#hasEnded = true
        return
      // Moves were read before. A machine makes no other requests, and nothing else tells it anything.
      case 'StateMoved':
      case 'WaitStarted':
      case 'MessageSent':
      case 'AttributesSet':
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

  // One that has not been through its start has nothing to clean up.
  #foldCancel(event: Cancel): void {
    const end: Command = { type: 'CancelRun', ...reasonOf(event) }
    if (!this.#plan.handlers.cancelled || this.#moved === NOT_BEGUN) {
      this.#doom = end
      return
    }
    this.#cancelled = end
    if (event.seq > this.#moved) this.#unhandled.push(event)
    else this.#requests.clear()
  }

  #foldInput(event: HistoryEvent): void {
    this.#input.fold(event, (failure) => {
      this.#doom = { type: 'FailRun', failure }
    })
  }

  #concern(event: Concern): void {
    if (event.seq > this.#moved) this.#unhandled.push(event)
    else if ('key' in event) this.#requests.settle(event.key)
  }

  // ── what follows from it ──

  /** What is to be written down if the run goes by this definition from now on. Throws if it must not. */
  #reconcile(): Taken | undefined {
    if (this.#isReconciled) return undefined
    const { hash, shapes } = this.#plan
    const taken = this.#taken
    if (taken) {
      const found =
        taken.hash === hash ? [] : incompatibleRequests(taken, this.#plan, this.#requests)
      if (this.#state) found.push(...incompatibleState(this.#plan, this.#state))
      if (found.length > 0) throw otherDefinition(this.#plan, taken, found)
    }
    this.#isReconciled = true
    return taken?.hash === hash ? undefined : { type: 'DefinitionTaken', hash, steps: shapes }
  }

  #handleAll(commands: Command[], now: Instant): void {
    if (this.#moved === NOT_BEGUN) {
      const ask = (): unknown => this.#plan.handlers.start(this.#input.value())
      commands.push(...this.#move(0, { handler: 'start', ask }, now))
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

  // What was asked for before is stopped, also if a move of this turn asked for it: the handler begins with nothing in progress.
  #clean(event: Cancel, now: Instant): readonly Command[] {
    const keys = this.#requests.clear()
    const ask = (state: unknown): unknown => this.#plan.handlers.cancelled?.(state, reasonOf(event))
    const moved = this.#move(event.seq, { handler: 'cancelled', ask }, now)
    return keys.length === 0 ? moved : [{ type: 'CallOff', keys }, ...moved]
  }

  #handle(event: Concern, now: Instant): readonly Command[] {
    const { seq } = event
    if (event.type === 'SignalReceived') return this.#move(seq, this.#signalled(event), now)
    if (event.type === 'CancelRequested') return this.#clean(event, now)
    const request = this.#requests.settle(event.key)
    // It was let go by a move that came before it in the same turn.
    if (!request) return this.#move(seq, undefined, now)
    const { name } = request
    const id = idOf(request)
    const { handlers } = this.#plan
    switch (event.type) {
      case 'StepCompleted': {
        const told = { id, result: decode(event.value) }
        const ask = (state: unknown): unknown => handlers.activityCompleted(name, state, told)
        return this.#move(seq, { handler: `activityCompleted.${name}`, ask }, now)
      }
      case 'StepFailed': {
        const { activityFailed } = handlers
        if (!activityFailed) return this.#fail(failureOfRequest(this.#activityOf(name), event))
        const told = { activity: name, id, failure: event.failure }
        const ask = (state: unknown): unknown => activityFailed(state, told)
        return this.#move(seq, { handler: 'activityFailed', ask }, now)
      }
      case 'ChildCompleted':
      case 'ChildFailed': {
        const { childEnded } = handlers
        if (!childEnded && event.type === 'ChildFailed')
          return this.#fail(failureOfRequest(name, event))
        if (!childEnded) return this.#move(seq, undefined, now)
        const told = { id, outcome: outcomeOf(event) }
        const ask = (state: unknown): unknown => childEnded(state, told)
        return this.#move(seq, { handler: 'childEnded', ask }, now)
      }
      case 'TimerFired': {
        const ask = (state: unknown): unknown => handlers.timerFired(name, state)
        return this.#move(seq, { handler: `timerFired.${name}`, ask }, now)
      }
    }
  }

  #signalled({
    name,
    payload,
  }: Extract<Concern, { type: 'SignalReceived' }>): Question | undefined {
    const own = this.#plan.signals.get(name)
    if (own === undefined) return undefined
    const ask = (state: unknown): unknown => this.#plan.handlers.signal(own, state, decode(payload))
    return { handler: `signal.${own}`, ask }
  }

  // What nobody is asked about is written down, too: then it is behind the run, whatever code goes on with it.
  #move(by: number, question: Question | undefined, now: Instant): readonly Command[] {
    assert(by > this.#moved, 'events are handled once, in their order')
    this.#moved = by
    if (!question) return [{ type: 'Decide', decision: { type: 'StateMoved', by } }]
    try {
      const { handler, ask } = question
      const given = ask(this.#state && decode(this.#state))
      const about = { by, now, handler: `'${handler}'`, activities: this.#activities }
      const made = makeMove(this.#machine, this.#requests, given, about)
      if (made.end) this.#hasEnded = true
      return [{ type: 'Decide', decision: this.#moveTo(by, made) }, ...made.commands]
    } catch (error) {
      return this.#fail(failureOf(error))
    }
  }

  #moveTo(by: number, { state, options }: MadeMove): Moved {
    const isSame = this.#state !== undefined && isSamePayload(this.#state, state)
    this.#state = state
    return {
      type: 'StateMoved',
      by,
      ...(!isSame && { state }),
      ...(options && { options }),
    }
  }

  // Not a move: if the run is tried again, the event is handled again.
  #fail(failure: Failure): readonly Command[] {
    this.#hasEnded = true
    return [{ type: 'FailRun', failure }]
  }

  #activityOf(name: string): string {
    return this.#plan.activities.get(name)?.name ?? name
  }
}

function reasonOf({ reason }: Cancel): { readonly reason?: string } {
  return reason === undefined ? {} : { reason }
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
  const message = `machine '${machine}' waits for nothing: it has no activity, child or timer under way, and takes no signals. Ask for something in that state, or end the run by act.complete or act.fail.`
  return new PawlError('NON_DURABLE_AWAIT', message)
}
