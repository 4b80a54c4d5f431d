// The `ctx` of a workflow function: names every request, and passes it on to the execution.

import { type Duration, milliseconds } from '../../base/duration.ts'
import { instantOf } from '../../base/instant.ts'
import { limits } from '../../base/limits.ts'
import { checkKnownId, checkKnownName } from '../../base/names.ts'
import { type AttributesChange, storedChanges } from '../../definitions/attributes.ts'
import type {
  Context,
  DurablePromise,
  Saga as PublicSaga,
  Scope as PublicScope,
  RunInfo,
  RunRef,
  TerminableChild,
  Webhook,
} from '../../definitions/context.ts'
import type {
  ActivityContext,
  AnyActivityContract,
  AnyWorkflowContract,
  Args,
  Log,
} from '../../definitions/contract.ts'
import type { Sent } from '../../definitions/messages.ts'
import type {
  ActivityOptions,
  ChildOptions,
  RunOptions,
  StepIdentity,
  StepOptions,
  WorkflowOptions,
} from '../../definitions/options.ts'
import { stepPlan } from '../../definitions/plan.ts'
import { type AnySchema, checking, checkNow } from '../../definitions/schema.ts'
import type { SendMessage, StartChild } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import type { StepKind } from '../../kernel/event.ts'
import { childId } from '../../kernel/ids.ts'
import { escapeKey, SHIELD } from '../../kernel/key.ts'
import { webhookName, webhookSignal } from '../../kernel/webhook.ts'
import { activityAsk, checkTarget, childAsk, signalAsk, signalTo } from '../asks.ts'
import { bound, checkCall, deadlineOf, optionsAndFunction } from './call-options.ts'
import type { FunctionExecution } from './execution.ts'
import { logOf, runInfo } from './info.ts'
import type { Identity, Wanted } from './matching.ts'
import { misuse, mixed } from './misuse.ts'
import { Saga } from './saga.ts'
import { Scope } from './scope.ts'
import { SeededNumbers } from './seeded.ts'
import {
  type Branches,
  begun,
  mapPlan,
  type OpenedScope,
  ScopeControl,
  Structure,
} from './structure.ts'

type StepBody = (step: ActivityContext) => unknown

/** What the death of a worker cut off is run again; what failed is not. */
const UNLESS_IT_FAILS = { maxAttempts: limits.poisonDeliveries * 2, nonRetryable: ['*'] }

/** What it gives is known only where it is asked for: the types of the interface say what it is. */
type Durable = DurablePromise<never>

export class FunctionContext implements Context {
  readonly #execution: FunctionExecution
  readonly #scope: Scope
  #structures: Structure<FunctionContext> | undefined
  #info: RunInfo | undefined
  #numbers: SeededNumbers | undefined
  readonly #occurrences = new Map<string, number>()

  constructor(execution: FunctionExecution, scope: Scope) {
    this.#execution = execution
    this.#scope = scope
  }

  get info(): RunInfo {
    this.#info ??= runInfo(this.#execution)
    return this.#info
  }

  get allHandlersFinished(): () => boolean {
    return () => this.#execution.handlers.unfinished.length === 0
  }

  get log(): Log {
    return logOf(this.#execution)
  }

  run(what: string | AnyActivityContract, first?: unknown, second?: unknown): Durable {
    if (typeof what !== 'string') return this.#activity(what, first, second as RunOptions)
    const [options, body] = optionsAndFunction('run', first, second)
    return this.#inline('step', checkKnownName(what, 'the name of a step'), options, body)
  }

  bind(
    definition: AnyActivityContract | AnyWorkflowContract,
    options: RunOptions | ChildOptions = {},
  ): (input?: unknown, each?: { key?: string }) => Durable {
    return bound(definition, options, this)
  }

  child(
    workflow: AnyWorkflowContract & { readonly options?: WorkflowOptions },
    given?: unknown,
    options: ChildOptions = {},
  ): TerminableChild {
    if (workflow?.is !== 'workflow') throw misuse('ctx.child takes a workflow', workflow)
    checkCall('child', options)
    const [key, identity] = this.#identify('child', workflow.name, options)
    const wanted = childAsk(key, workflow, given, options)
    const runId = childId(this.#execution.head, this.#execution.keyOf(wanted, identity))
    const { workflowId = runId } = wanted
    const child: Omit<TerminableChild, keyof Durable> = {
      runId,
      started: Promise.resolve({ runId, workflowId }) as TerminableChild['started'],
      signal: (signal: unknown, ...payload: Args<unknown, never>) =>
        this.signal(runId, signal, ...payload),
      cancel: (reason) =>
        void this.#stop(runId, { type: 'cancel', ...(reason !== undefined && { reason }) }),
      terminate: (reason) => void this.#stop(runId, { type: 'terminate', reason }),
    }
    return Object.assign(this.#ask(wanted, identity), child)
  }

  signal(to: RunRef, signal: unknown, ...[given]: Args<unknown, never>): DurablePromise<void> {
    const sent = signalTo(to, signal)
    const [key, identity] = this.#identify('signal', sent.name, {})
    // What was sent has passed before.
    const wanted = signalAsk(key, to, sent, given, this.#execution.hasRecorded(key))
    return this.#ask(wanted, identity)
  }

  start(
    workflow: AnyWorkflowContract & { readonly options?: WorkflowOptions },
    given?: unknown,
    options: Omit<ChildOptions, 'parentClose'> = {},
  ): TerminableChild['started'] {
    checkCall('start', options)
    return this.child(workflow, given, { ...options, parentClose: 'abandon' }).started
  }

  signalWithStart(
    workflow: AnyWorkflowContract,
    request: ChildOptions & { signal: unknown; input?: unknown; payload?: unknown },
  ): DurablePromise<void> {
    if (workflow?.is !== 'workflow') throw misuse('ctx.signalWithStart takes a workflow', workflow)
    checkCall('signalWithStart', request)
    const { signal, input, payload, ...options } = request
    checkKnownId(options.workflowId, 'the workflow id of ctx.signalWithStart')
    const sent = signalTo({ workflowId: options.workflowId ?? '' }, signal)
    const [key, identity] = this.#identify('child', workflow.name, options)
    const wanted = childAsk(key, workflow, input, { ...options, parentClose: 'abandon' })
    const { message } = signalAsk(key, '', sent, payload, this.#execution.hasRecorded(key))
    const told = { ...wanted, signal: message as StartChild['signal'] & object }
    const asked = this.#ask(told, identity)
    return (this.#scope.cancelled ? asked : Promise.resolve()) as DurablePromise<void>
  }

  cancelRun(run: RunRef, reason?: string): DurablePromise<void> {
    checkTarget('ctx.cancelRun', run)
    const because = reason === undefined ? {} : { reason }
    return this.#stop(run, { type: 'cancel', ...because })
  }

  #stop(to: RunRef, message: SendMessage['message']): Durable {
    const [key, identity] = this.#identify(message.type, message.type, {})
    return this.#ask({ type: 'SendMessage', key, to, message }, identity)
  }

  sleep(duration: Duration, options: Pick<StepIdentity, 'key'> = {}): DurablePromise<void> {
    return this.#sleep(this.#execution.now + milliseconds(duration, 'ctx.sleep'), options)
  }

  sleepUntil(time: Date | number, options: Pick<StepIdentity, 'key'> = {}): DurablePromise<void> {
    return this.#sleep(instantOf(time, 'the time of ctx.sleepUntil'), options)
  }

  wait(
    source: unknown,
    options: { key?: string; timeout?: Duration; until?: Date | number } = {},
  ): Durable {
    checkCall('wait', options)
    const until = deadlineOf(options, this.#execution.now)
    if (typeof source === 'function')
      return this.#condition(source as () => unknown, options, until)
    const { is, name, schema } = (source ?? {}) as { is?: string } & Partial<Sent>
    if (is === 'webhook' && name !== undefined) {
      const { token } = source as Webhook<unknown>
      return this.#webhook({ name, token, ...(schema && { schema }) }, options, until)
    }
    if (is !== 'signal' || name === undefined) {
      throw misuse('ctx.wait takes a signal, a webhook, or a function', source)
    }
    if (this.#execution.usesOf(name).handled) throw mixed(name)
    const [key, identity] = this.#identify('wait', name, options)
    return this.#ask({ type: 'AwaitSignal', key, name, ...until }, identity)
  }

  webhook(name: string, schema?: AnySchema): Webhook<never> {
    const key = this.#occurrence('webhook', checkKnownName(name, 'the name of a webhook'))
    const known = checking('schema', schema, `webhook '${name}'`)
    const token = this.#execution.token(key)
    const url = `/webhooks/${token}`
    const webhook = { is: 'webhook', name: key, token, url, ...known }
    return webhook
  }

  // It can be waited for once, so the wait needs no name of its own.
  #webhook(
    { name: key, token, schema }: Sent & { readonly token: string },
    options: { key?: string },
    until: { until?: number },
  ): Durable {
    const [own, { explicit }] = this.#identify('wait', key, options)
    const name = webhookSignal(key, token)
    const what = `the payload of webhook '${webhookName(name)}'`
    const check = schema && { check: (payload: unknown) => checkNow(schema, payload, what) }
    return this.#ask({ type: 'AwaitSignal', key: own, name, ...until }, { explicit, ...check })
  }

  on(message: unknown, first: unknown, second?: unknown): void {
    const { is, name } = (message ?? {}) as { is?: string; name?: string }
    const [options, handler] = optionsAndFunction('on', first, second)
    if (name === undefined) throw misuse('ctx.on takes a signal, a query or an update', message)
    if (is === 'query') {
      return this.#execution.handlers.onQuery(name, handler)
    }
    if (is !== 'signal' && is !== 'update') {
      throw misuse('ctx.on takes a signal, a query or an update', message)
    }
    if (is === 'signal' && this.#execution.usesOf(name).awaited) throw mixed(name)
    const { validate } = options as { validate?: (payload: unknown) => void }
    this.#execution.handle(`${is}:${name}`, {
      run: (payload, id) => {
        const path = `${this.#scope.path}on:${escapeKey(name)}[${escapeKey(id)}]/`
        return this.#open(path, (ctx) => handler(payload, ctx)).promise
      },
      ...(validate && { validate }),
    })
  }

  race(branches: Branches): Durable {
    return this.#structure.race(this.#count('race'), branches) as Durable
  }

  all(branches: Branches): Durable {
    return this.#structure.all(this.#count('all'), branches) as Durable
  }

  map(items: readonly unknown[], first: unknown, second?: unknown): Durable {
    const [options, fn] = optionsAndFunction('map', first, second)
    const plan = mapPlan(items, options, fn)
    return this.#structure.map(this.#count('map'), plan, this.#scope) as Durable
  }

  scope(name: string, first: unknown, second?: unknown): Durable {
    const [options, fn] = optionsAndFunction('scope', first, second)
    const { timeout } = options as { timeout?: Duration }
    const segment = this.#occurrence('scope', checkKnownName(name, 'the name of a scope'))
    const scope = new Scope(`${segment}/`, this.#scope)
    const control = new ScopeControl((error) => this.#execution.cancel(scope, error))
    const timer =
      timeout === undefined
        ? undefined
        : this.#timer(`${segment}:timeout`, this.#execution.now + milliseconds(timeout, 'timeout'))
    const ctx = new ScopeContext(this.#execution, scope, control)
    const promise = begun(() => fn(ctx))
    return this.#structure.scope({ scope, promise }, control, timer) as Durable
  }

  shield(fn: (ctx: FunctionContext) => Promise<unknown>): Durable {
    if (typeof fn !== 'function') throw misuse('ctx.shield takes a function', fn)
    return this.#structure.shield(`${this.#count(SHIELD)}/`, fn) as Durable
  }

  saga(fn: (ctx: PublicSaga) => Promise<unknown>): Durable {
    if (typeof fn !== 'function') throw misuse('ctx.saga takes a function', fn)
    const saga = new Saga(this.#execution.compensations)
    const scope = new Scope(`${this.#count('saga')}/`, this.#scope)
    const ctx = Object.assign(new FunctionContext(this.#execution, scope), {
      compensate: (undo: (ctx: Context) => Promise<unknown>) => saga.add(undo),
    })
    const work = begun(() => fn(ctx))
    return this.#structure.saga(scope, saga.run(ctx, work)) as Durable
  }

  /** Says where undoing begins and ends. */
  mark(type: 'BeginCompensation' | 'EndCompensation'): void {
    void this.#ask({ type, key: this.#count('compensation') }, { explicit: false })
  }

  continueAsNew(input: unknown): never {
    return this.#execution.continueAsNew(input)
  }

  setAttributes(given: AttributesChange): void {
    const attributes = storedChanges(given)
    const key = this.#count('attributes')
    // What was set has passed before.
    if (!this.#execution.hasRecorded(key)) this.#execution.foundBy.check(attributes)
    void this.#ask({ type: 'SetAttributes', key, attributes }, { explicit: false })
  }

  transaction(name: string, fn: unknown): Durable {
    if (typeof fn !== 'function') throw misuse('ctx.transaction takes a function', fn)
    const [key, identity] = this.#identify(
      'transaction',
      checkKnownName(name, 'the name of a step'),
      {},
    )
    const plan: StepPlan = { ...stepPlan({}), transaction: fn as StepPlan['transaction'] & object }
    return this.#ask({ type: 'RunStep', kind: 'step', key, name }, identity, plan)
  }

  patched(id: string): boolean {
    return this.#execution.patched(checkKnownName(id, 'the id of a patch'))
  }

  // The mark stays in the histories that have it; nothing asks for it any more.
  deprecatePatch(id: string): void {
    checkKnownName(id, 'the id of a patch')
  }

  sideEffect(body: () => unknown): Durable {
    if (typeof body !== 'function') throw misuse('ctx.sideEffect takes a function', body)
    return this.#inline('sideEffect', 'sideEffect', { retry: UNLESS_IT_FAILS }, body)
  }

  now(): number {
    if (this.#execution.delivered === 0) this.#execution.readClock = true
    return this.#execution.now
  }

  random(): number {
    return this.#random().fraction()
  }

  uuid(): string {
    return this.#random().uuid()
  }

  get #structure(): Structure<FunctionContext> {
    this.#structures ??= new Structure(this.#execution, (...given) => this.#open(...given))
    return this.#structures
  }

  #random(): SeededNumbers {
    const { runId, generation } = this.#execution.head
    this.#numbers ??= new SeededNumbers(`${runId}:${generation}${this.#scope.path}`)
    return this.#numbers
  }

  #activity(
    activity: AnyActivityContract & { readonly options?: ActivityOptions },
    given: unknown,
    options: RunOptions = {},
  ): Durable {
    if (activity?.is !== 'activity') {
      throw misuse('ctx.run takes an activity, or a name and a function', activity)
    }
    checkCall('run with an activity', options)
    const [key, identity] = this.#identify('activity', activity.name, options)
    const { activities } = this.#execution
    const { wanted, plan } = activityAsk(key, activity, given, options, activities)
    return this.#ask(wanted, identity, plan)
  }

  #inline(kind: StepKind, name: string, options: StepOptions, body: unknown): Durable {
    const [key, identity] = this.#identify(kind, name, options)
    const plan: StepPlan = { ...stepPlan(options, `step '${name}'`), body: body as StepBody }
    const mark = options.onCancel === 'wait' ? { onCancel: 'wait' as const } : {}
    return this.#ask({ type: 'RunStep', kind, key, name, ...mark }, identity, plan)
  }

  // It is recorded as a wait, so that people see it; what ends it is the code's own doing.
  #condition(isMet: () => unknown, options: { key?: string }, until: { until?: number }): Durable {
    const [key, identity] = this.#identify('wait', 'condition', options)
    const condition = { name: 'condition', condition: true, ...until } as const
    const promise = this.#ask({ type: 'AwaitSignal', key, ...condition }, identity)
    this.#execution.handlers.await(key, {
      isMet: () => isMet() === true,
      meet: () => this.#execution.meet(promise),
    })
    return promise
  }

  #sleep(until: number, options: Pick<StepIdentity, 'key'>): DurablePromise<void> {
    checkCall('sleep', options)
    const [key, { explicit }] = this.#identify('sleep', 'sleep', options)
    return this.#timer(key, until, explicit)
  }

  #timer(key: string, until: number, explicit = false): DurablePromise<void> {
    return this.#ask({ type: 'SetTimer', key, until }, { explicit })
  }

  /** Runs a function in a scope of its own, inside this one. */
  #open(path: string, fn: (ctx: FunctionContext) => unknown, shield = false): OpenedScope {
    const scope = new Scope(path, this.#scope, shield)
    const ctx = new FunctionContext(this.#execution, scope)
    return { scope, promise: begun(() => fn(ctx)) }
  }

  #ask(wanted: Wanted, identity: Identity, plan?: StepPlan): Durable {
    return this.#execution.request(this.#scope, wanted, identity, plan) as Durable
  }

  // kind:name#n, where n counts the calls of this kind and name; or the key the user gave.
  #identify(kind: string, name: string, options: StepIdentity): [key: string, identity: Identity] {
    const { key, was, ifPast } = options
    const identity = {
      explicit: key !== undefined,
      ...(ifPast && { ifPast }),
      ...(was !== undefined && { was, formerKey: this.#occurrence(kind, was) }),
    }
    if (key === undefined) return [this.#occurrence(kind, name), identity]
    return [`${this.#scope.path}[${escapeKey(checkKnownName(key, 'the key of a step'))}]`, identity]
  }

  #occurrence(kind: string, name: string): string {
    return this.#count(`${kind}:${escapeKey(name)}`)
  }

  #count(counted: string): string {
    const n = (this.#occurrences.get(counted) ?? 0) + 1
    this.#occurrences.set(counted, n)
    return `${this.#scope.path}${counted}#${n}`
  }
}

class ScopeContext extends FunctionContext implements PublicScope {
  readonly #scope: Scope
  readonly #control: ScopeControl

  constructor(execution: FunctionExecution, scope: Scope, control: ScopeControl) {
    super(execution, scope)
    this.#scope = scope
    this.#control = control
  }

  get cancelled(): boolean {
    return this.#scope.cancelled !== undefined
  }

  readonly cancel = (reason?: string): void => this.#control.cancel(reason)
}
