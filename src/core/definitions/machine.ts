// Machines: handlers take the state and an event, and return the next state and actions. The outcome of each move is
// recorded, so nothing is replayed, and the code may change while a run is in progress.
import { checkOptions, type Description, text } from '../base/described.ts'
import { digest } from '../base/digest.ts'
import { PawlError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import { checkKnownId, checkName } from '../base/names.ts'
import { type Duration, milliseconds } from '../base/time.ts'
import type { StepShape } from '../kernel/event.ts'
import type { Settled } from './context.ts'
import type { AnyActivityContract, AnyWorkflowContract, Args, InputOf, OutputOf, WorkflowContract } from './contract.ts'
import { shapeHash } from './graph-plan.ts'
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
import { checking, type KnownSchemas, type Schema } from './schema.ts'
import { schemasIn } from './schema-options.ts'
import type { Workflow } from './workflow.ts'

/** The activities of a machine, by the names that the machine uses. */
export type Activities = Readonly<Record<string, AnyActivityContract>>
/** The signals of a machine, by the names that the machine uses. */
export type Signals = Readonly<Record<string, { readonly is: 'signal'; readonly name: string }>>

/** An action of a machine. The methods of `act` make actions. */
export interface Action<out Out> {
  readonly action: string
  readonly '~output'?: Out
}

/** The next state, followed by actions: `[{ at: 'paid' }, act.run('ship', order)]`. */
export type Move<State, Out> = readonly [state: State, ...actions: Action<Out>[]]

/** Options with an id for an action. */
export interface ActionId {
  /** Names the activity or child in events and for `act.cancel`. Default: its name and a number. */
  readonly id?: string
}

/** Makes actions. An action takes effect only as part of the move that a handler returns. */
export interface Act<in A, in Timer extends string, in out Out> {
  /** Runs an activity. */
  run<K extends keyof A & string>(activity: K, ...args: Args<InputOf<A[K]>, ActivityOptions & ActionId>): Action<never>
  /** Starts a timer. It replaces a timer of the same name that has not fired. */
  timer(name: Timer, duration: Duration): Action<never>
  cancelTimer(name: Timer): Action<never>
  /** Cancels an activity or a child. It has no effect on one that has ended. */
  cancel(id: string): Action<never>
  /** Starts a child run. */
  child<CIn>(
    workflow: WorkflowContract<CIn, unknown>,
    ...args: Args<CIn, Omit<ChildOptions, keyof StepIdentity> & ActionId>
  ): Action<never>
  /** Completes the run. */
  complete(output: Out): Action<Out>
  /** Fails the run. */
  fail(error: Error | string): Action<never>
}

/** What a machine consists of: its types as schemas, and its activities, signals and timers. */
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
  /** The schema of the state. It only checks: the state is recorded as the handler returned it. */
  readonly state: Schema<State, unknown>
  readonly output: Schema<Out>
  readonly activities: A
  readonly signals?: S
  readonly timers?: readonly Timer[]
}

/** The handlers of a machine, one for each kind of event. */
export interface MachineHandlers<Parsed, State, Out, A extends Activities, S extends Signals, Timer extends string> {
  /** Makes the first move of a run. */
  start(input: Parsed, act: Act<A, Timer, Out>): Move<State, Out>
  readonly activityCompleted: {
    readonly [K in keyof A]: (
      state: State,
      event: { readonly id: string; readonly result: OutputOf<A[K]> },
      act: Act<A, Timer, Out>,
    ) => Move<State, Out>
  }
  /** An activity failed and is not retried. Without this handler, the run fails. */
  activityFailed?(
    state: State,
    event: { readonly activity: keyof A & string; readonly id: string; readonly failure: Failure },
    act: Act<A, Timer, Out>,
  ): Move<State, Out>
  /** A child ended. Without this handler, a failed child fails the run, and other outcomes are ignored. */
  childEnded?(
    state: State,
    event: { readonly id: string; readonly outcome: Settled<unknown> },
    act: Act<A, Timer, Out>,
  ): Move<State, Out>
  /**
   * The run was cancelled, and its activities and children are being stopped. The move may contain actions that clean
   * up; the run ends as cancelled once no action is in progress. Without this handler, the run ends at once.
   */
  cancelled?(state: State, event: { readonly reason?: string }, act: Act<A, Timer, Out>): Move<State, Out>
  readonly timerFired: {
    readonly [K in Timer]: (state: State, act: Act<A, Timer, Out>) => Move<State, Out>
  }
  readonly signal: {
    readonly [K in keyof S]: (state: State, payload: OutputOf<S[K]>, act: Act<A, Timer, Out>) => Move<State, Out>
  }
}

/** The handlers that a machine needs: none for timers or signals that it does not have. */
export type NeedsOnly<H, Timer, S> = Omit<
  H,
  ([Timer] extends [never] ? 'timerFired' : never) | ({} extends S ? 'signal' : never)
>

/** A machine without handlers. `on` adds them and returns the workflow. */
export interface Machine<In, State, Out, A extends Activities, S extends Signals, Timer extends string, Parsed = In> {
  on(handlers: NeedsOnly<MachineHandlers<Parsed, State, Out, A, S, Timer>, Timer, S>): Workflow<In, Out>
}

/**
 * Defines a machine: a workflow as a state with handlers. The shape names what it consists of; `.on({ … })` adds the
 * handlers.
 *
 * ```ts
 * const order = machine('order', { input: typed<Order>(), state, output, activities: { charge } }).on({
 *   start: (order, act) => [{ at: 'charging' }, act.run('charge', order)],
 *   activityCompleted: { charge: (state, { result }, act) => [state, act.complete(result)] },
 * })
 * ```
 */
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

/** The handlers without their types. */
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
    activityCompleted: (activity, state, event) => given.activityCompleted?.[activity]?.(state, event, act),
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

const id = text('Names the action in events and for `act.cancel`.', {
  otherwise: 'its name and a number',
})
const { key: _, was: __, ifPast: ___, ...startOptions } = childOptions

/** The options of `act.run` and `act.child`. */
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
      if (!activities.has(activity)) throw unknownPart(machine, 'activity', activity, activities.keys())
      // Checked here, so that the error points to the handler that wrote the options.
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
      id: checkKnownId(id, 'the id for act.cancel'),
    }),
    child(workflow: AnyWorkflowContract, input: unknown, given: ChildOptions & ActionId = {}) {
      if (workflow?.is !== 'workflow')
        throw new PawlError(
          'INPUT_INVALID',
          `act.child of machine '${machine}' has no workflow; expected one as its first argument.`,
        )
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
    if (each?.is !== 'activity')
      throw invalid(of, `'${name}' in \`activities\` is not an activity; expected activity(…)`)
  }
  for (const [name, each] of signals) {
    if (each?.is !== 'signal') throw invalid(of, `'${name}' in \`signals\` is not a signal; expected signal(…)`)
    if (sent.has(each.name)) throw invalid(of, `signal '${each.name}' is in \`signals\` twice; remove one`)
    sent.add(each.name)
  }
  for (const name of timers) checkName(name, `the name of a timer in ${of}`)
}

/** For callers without TypeScript, whose compiler reports the same. */
function refuseIncomplete(name: string, parts: Parts, given: Given): void {
  const missing = [
    ...(isFunction(given.start) ? [] : ['start']),
    ...missingIn('activityCompleted', parts.activities.keys(), given.activityCompleted),
    ...missingIn('timerFired', parts.timers, given.timerFired),
    ...missingIn('signal', parts.signals.keys(), given.signal),
    ...OPTIONAL.filter((each) => given[each] !== undefined && !isFunction(given[each])),
  ]
  if (missing.length === 0) return
  throw invalid(`machine '${name}'`, `there is no function for ${missing.join(', ')}; add it to .on({ … })`)
}

function missingIn(group: string, names: Iterable<string>, handlers: Group = {}): string[] {
  const missing = [...names].filter((name) => !Object.hasOwn(handlers, name) || !isFunction(handlers[name]))
  return missing.map((name) => `${group}.${name}`)
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function unknownPart(machine: string, what: string, name: unknown, known: Iterable<string>): PawlError {
  const there = [...known].join(', ') || 'none'
  const message = `machine '${machine}' has no ${what} '${String(name)}'; expected one of its shape: ${there}.`
  return new PawlError('INPUT_INVALID', message)
}

function invalid(of: string, problem: string): PawlError {
  return new PawlError('DEFINITION_INVALID', `${of}: ${problem}.`)
}
