// Machines: a state and an event in, the next state and actions out. What each move came to is recorded, so that nothing
// is replayed, and the code may change while a run is under way.
import { checkOptions, type Description, text } from '../base/described.ts'
import { digest } from '../base/digest.ts'
import { type Duration, milliseconds } from '../base/duration.ts'
import { PawlError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import { checkKnownId, checkName } from '../base/names.ts'
import type { StepShape } from '../kernel/event.ts'
import type { Settled } from './context.ts'
import type {
  AnyActivityContract,
  AnyWorkflowContract,
  Args,
  InputOf,
  OutputOf,
  WorkflowContract,
} from './contract.ts'
import { shapeHash } from './graph-shape.ts'
import type { MachineAction, MachineActivity, MachinePlan, PlanHandlers } from './machine-plan.ts'
import {
  type ActivityOptions,
  activityOptions,
  type ChildOptions,
  childOptions,
  type StepIdentity,
  type WorkflowOptions,
  workflowOptions,
} from './options.ts'
import { stepPlan } from './plan.ts'
import { checking, type KnownSchemas, type Schema, schemasIn } from './schema.ts'
import type { Workflow } from './workflow.ts'

/** The activities of a machine, by the names it uses. */
export type Activities = Readonly<Record<string, AnyActivityContract>>
/** The signals of a machine, by the names it uses. */
export type Signals = Readonly<Record<string, { readonly is: 'signal'; readonly name: string }>>

/** What a handler wants done; `act` makes them. */
export interface Action<out Out> {
  readonly action: string
  readonly '~output'?: Out
}

/** The next state, then what to do. A state alone is a move, too. */
export type Move<State, Out> = readonly [state: State, ...actions: Action<Out>[]]

/** What an activity or a child is called in events and by `act.cancel`; its name and a number when absent. */
export interface ActionId {
  readonly id?: string
}

/** Makes actions. It does nothing by itself: what is in no move is not done. */
export interface Act<in A, in Timer extends string, in out Out> {
  run<K extends keyof A & string>(
    activity: K,
    ...args: Args<InputOf<A[K]>, ActivityOptions & ActionId>
  ): Action<never>
  /** A timer of this name that has not fired is replaced. */
  timer(name: Timer, duration: Duration): Action<never>
  cancelTimer(name: Timer): Action<never>
  /** Lets go of an activity or a child. One that has ended by now is left as it is. */
  cancel(id: string): Action<never>
  child<CIn>(
    workflow: WorkflowContract<CIn, unknown>,
    ...args: Args<CIn, Omit<ChildOptions, keyof StepIdentity> & ActionId>
  ): Action<never>
  complete(output: Out): Action<Out>
  fail(error: Error | string): Action<never>
}

/** The types of a machine, and what it may use. */
export interface MachineShape<
  In,
  State,
  Out,
  A extends Activities,
  S extends Signals,
  Timer extends string,
  Parsed = In,
> extends WorkflowOptions {
  readonly input: Schema<In, Parsed>
  /** Only checks: a state is recorded as it was given. */
  readonly state: Schema<State, unknown>
  readonly output: Schema<Out>
  readonly activities: A
  readonly signals?: S
  readonly timers?: readonly Timer[]
}

/** What a machine does when something happens. */
export interface MachineHandlers<
  Parsed,
  State,
  Out,
  A extends Activities,
  S extends Signals,
  Timer extends string,
> {
  start(input: Parsed, act: Act<A, Timer, Out>): Move<State, Out>
  readonly activityCompleted: {
    readonly [K in keyof A]: (
      state: State,
      event: { readonly id: string; readonly result: OutputOf<A[K]> },
      act: Act<A, Timer, Out>,
    ) => Move<State, Out>
  }
  /** Without it, an activity that was given up on fails the run. */
  activityFailed?(
    state: State,
    event: { readonly activity: keyof A & string; readonly id: string; readonly failure: Failure },
    act: Act<A, Timer, Out>,
  ): Move<State, Out>
  /** Without it, a child that failed fails the run, and others are of no consequence. */
  childEnded?(
    state: State,
    event: { readonly id: string; readonly outcome: Settled<unknown> },
    act: Act<A, Timer, Out>,
  ): Move<State, Out>
  /**
   * The run was cancelled: what was in progress is stopped, and this may ask for what cleans up. The run ends as cancelled once
   * nothing more is in progress. Without it, the run ends at once.
   */
  cancelled?(
    state: State,
    event: { readonly reason?: string },
    act: Act<A, Timer, Out>,
  ): Move<State, Out>
  readonly timerFired: {
    readonly [K in Timer]: (state: State, act: Act<A, Timer, Out>) => Move<State, Out>
  }
  readonly signal: {
    readonly [K in keyof S]: (
      state: State,
      payload: OutputOf<S[K]>,
      act: Act<A, Timer, Out>,
    ) => Move<State, Out>
  }
}

/** Without timers, or without signals, there is nothing to say about them. */
export type NeedsOnly<H, Timer, S> = Omit<
  H,
  ([Timer] extends [never] ? 'timerFired' : never) | ({} extends S ? 'signal' : never)
>

/** A shape without handlers; `on` gives the workflow. */
export interface Machine<
  In,
  State,
  Out,
  A extends Activities,
  S extends Signals,
  Timer extends string,
  Parsed = In,
> {
  on(
    handlers: NeedsOnly<MachineHandlers<Parsed, State, Out, A, S, Timer>, Timer, S>,
  ): Workflow<In, Out>
}

/** What it consists of; `.on({ … })` says what it does about it. */
export function machine<
  In,
  State,
  Out,
  A extends Activities,
  S extends Signals = {},
  Timer extends string = never,
  Parsed = In,
>(
  name: string,
  shape: MachineShape<In, State, Out, A, S, Timer, Parsed>,
): Machine<In, State, Out, A, S, Timer, Parsed> {
  checkName(name, 'the name of a machine')
  const of = `machine '${name}'`
  const { state, activities, signals = {}, timers = [], ...rest } = shape
  const { options, schemas } = schemasIn(rest, of, workflowOptions)
  const parts: Parts = {
    activities: new Map(Object.entries(activities ?? {})),
    signals: new Map(Object.entries<Signals[string]>(signals)),
    timers: new Set(timers),
  }
  refuseStrangers(of, parts)
  const drafted = {
    name,
    parts,
    options,
    schemas,
    ...checking('state', state, `the state of ${of}`),
  }
  return { on: (handlers) => define(drafted, handlers) as Workflow<In, Out> }
}

interface Parts {
  readonly activities: ReadonlyMap<string, MachineActivity>
  readonly signals: ReadonlyMap<string, { readonly is: string; readonly name: string }>
  readonly timers: ReadonlySet<string>
}

interface Draft extends Pick<MachinePlan, 'name' | 'state'> {
  readonly parts: Parts
  readonly options: WorkflowOptions
  readonly schemas: KnownSchemas
}

type AnyHandler = (...args: unknown[]) => unknown
type Group = Readonly<Record<string, AnyHandler>>

/** The handlers, whatever their types. */
interface Given {
  readonly start?: AnyHandler
  readonly activityCompleted?: Group
  readonly activityFailed?: AnyHandler
  readonly childEnded?: AnyHandler
  readonly cancelled?: AnyHandler
  readonly timerFired?: Group
  readonly signal?: Group
}

function define({ parts, options, schemas, ...drafted }: Draft, given: Given): unknown {
  const { name } = drafted
  refuseIncomplete(name, parts, given ?? {})
  const shapes = shapesOf(parts, given)
  const hash = shapeHash(shapes)
  const { activities, timers } = parts
  const signals = new Map([...parts.signals].map(([own, { name: sent }]) => [sent, own]))
  const handlers = handlersOf(given, actOf(name, parts))
  const plan: MachinePlan = { ...drafted, hash, shapes, activities, timers, signals, handlers }
  return {
    is: 'workflow',
    style: 'machine',
    name,
    options,
    schemas,
    definitionHash: hash,
    codeHash: digest([hash, ...textsOf(given)].join('\n')),
    machine: plan,
  }
}

function shapesOf({ activities, signals, timers }: Parts, given: Given): StepShape[] {
  return [
    ...[...activities].map(([own, { name }]): StepShape => [own, `activity:${name}`]),
    ...[...signals].map(([own, { name }]): StepShape => [own, `signal:${name}`]),
    ...[...timers].map((timer): StepShape => [timer, 'timer']),
    ...OPTIONAL.filter((each) => given[each]).map((each): StepShape => [each, 'handler']),
  ]
}

const OPTIONAL = ['activityFailed', 'childEnded', 'cancelled'] as const

function handlersOf(given: Given, act: unknown): PlanHandlers {
  const { activityFailed, childEnded, cancelled } = given
  return {
    start: (input) => given.start?.(input, act),
    activityCompleted: (activity, state, event) =>
      given.activityCompleted?.[activity]?.(state, event, act),
    ...(activityFailed && {
      activityFailed: (state, event) => given.activityFailed?.(state, event, act),
    }),
    ...(childEnded && { childEnded: (state, event) => given.childEnded?.(state, event, act) }),
    ...(cancelled && { cancelled: (state, event) => given.cancelled?.(state, event, act) }),
    timerFired: (timer, state) => given.timerFired?.[timer]?.(state, act),
    signal: (signal, state, payload) => given.signal?.[signal]?.(state, payload, act),
  }
}

function textsOf(given: Given): string[] {
  const all: unknown[] = Object.values(given)
  return all.flatMap((each) => (typeof each === 'function' ? [String(each)] : textsIn(each)))
}

function textsIn(group: unknown): string[] {
  return Object.entries(group ?? {}).map(([name, handler]) => `${name}: ${String(handler)}`)
}

const id = text('What it is known by.', { otherwise: 'its name' })
const { key: _, was: __, ifPast: ___, ...startOptions } = childOptions

/** What `act` takes besides an input. */
export const actionOptions: Readonly<Record<'run' | 'child', Description>> = {
  run: { ...activityOptions, id },
  child: { ...startOptions, id },
}

type Made = {
  readonly [K in keyof Act<never, string, unknown>]: (...args: never[]) => MachineAction
}

function actOf(machine: string, { activities, timers }: Parts): Made {
  const timerOf = (name: string): string => {
    if (timers.has(name)) return name
    throw unknownPart(machine, 'timer', name, timers)
  }
  return {
    run(activity: string, input: unknown, given: ActivityOptions & ActionId = {}) {
      if (!activities.has(activity))
        throw unknownPart(machine, 'activity', activity, activities.keys())
      // What is wrong with them is said where they are written.
      checkOptions(actionOptions.run, given, {
        of: `act.run('${activity}') of machine '${machine}'`,
      })
      const { id, ...options } = given
      stepPlan(options, `act.run('${activity}') of machine '${machine}'`)
      return { action: 'run', activity, input, id: idOf(id), options }
    },
    timer: (name: string, duration: Duration) => ({
      action: 'timer',
      timer: timerOf(name),
      ms: milliseconds(duration, `timer '${name}'`),
    }),
    cancelTimer: (name: string) => ({ action: 'cancelTimer', timer: timerOf(name) }),
    cancel: (id: string) => ({
      action: 'cancel',
      id: checkKnownId(id, 'what act.cancel lets go of'),
    }),
    child(workflow: AnyWorkflowContract, input: unknown, given: ChildOptions & ActionId = {}) {
      if (workflow?.is !== 'workflow')
        throw new PawlError('INPUT_INVALID', `act.child of ${machine} takes a workflow.`)
      checkOptions(actionOptions.child, given, {
        of: `act.child('${workflow.name}') of machine '${machine}'`,
      })
      const { id, ...options } = given
      return { action: 'child', workflow, input, id: idOf(id), options }
    },
    complete: (output: unknown) => ({ action: 'complete', output }),
    fail: (error: unknown) => ({ action: 'fail', error }),
  }
}

function idOf(id: string | undefined): string | undefined {
  return id === undefined ? undefined : checkKnownId(id, 'the id of an action')
}

function refuseStrangers(of: string, { activities, signals, timers }: Parts): void {
  const sent = new Set<string>()
  for (const [name, each] of activities) {
    checkName(name, `the name of an activity in ${of}`)
    if (each?.is !== 'activity') throw invalid(of, `'${name}' in its activities is no activity`)
  }
  for (const [name, each] of signals) {
    if (each?.is !== 'signal') throw invalid(of, `'${name}' in its signals is no signal`)
    if (sent.has(each.name)) throw invalid(of, `it has signal '${each.name}' twice`)
    sent.add(each.name)
  }
  for (const name of timers) checkName(name, `the name of a timer in ${of}`)
}

/** The compiler says so, too, to those who ask it. */
function refuseIncomplete(name: string, parts: Parts, given: Given): void {
  const missing = [
    ...(isFunction(given.start) ? [] : ['start']),
    ...missingIn('activityCompleted', parts.activities.keys(), given.activityCompleted),
    ...missingIn('timerFired', parts.timers, given.timerFired),
    ...missingIn('signal', parts.signals.keys(), given.signal),
    ...OPTIONAL.filter((each) => given[each] !== undefined && !isFunction(given[each])),
  ]
  if (missing.length === 0) return
  throw invalid(`machine '${name}'`, `it has no function for ${missing.join(', ')}`)
}

function missingIn(group: string, names: Iterable<string>, handlers: Group = {}): string[] {
  const missing = [...names].filter(
    (name) => !Object.hasOwn(handlers, name) || !isFunction(handlers[name]),
  )
  return missing.map((name) => `${group}.${name}`)
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function unknownPart(
  machine: string,
  what: string,
  name: unknown,
  known: Iterable<string>,
): PawlError {
  const there = [...known].join(', ') || 'none'
  const message = `machine '${machine}' has no ${what} '${String(name)}' in its shape; it has ${there}.`
  return new PawlError('INPUT_INVALID', message)
}

function invalid(of: string, problem: string): PawlError {
  return new PawlError('DEFINITION_INVALID', `${of}: ${problem}.`)
}
