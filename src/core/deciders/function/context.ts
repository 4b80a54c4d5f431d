// The `ctx` of a workflow function: gives every request its key, and passes it to the execution.

import { defined } from '../../base/defined.ts'
import { limits } from '../../base/limits.ts'
import { checkKnownId, checkKnownName } from '../../base/names.ts'
import { type Duration, instantOf, milliseconds } from '../../base/time.ts'
import { type AttributesChange, storedChanges } from '../../definitions/attributes.ts'
import type {
  Context,
  DurablePromise,
  Saga as PublicSaga,
  Scope as PublicScope,
  RunInfo,
  RunRef,
  RunStreamWriter,
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
import { type Stream, streamName } from '../../definitions/stream.ts'
import type { Request, SendMessage } from '../../kernel/command.ts'
import type { StepPlan } from '../../kernel/decider.ts'
import type { StepKind } from '../../kernel/event.ts'
import { childId, escapeKey, SHIELD } from '../../kernel/ids.ts'
import { encodeItem } from '../../kernel/items.ts'
import { webhookName, webhookSignal } from '../../kernel/tokens.ts'
import { activityRequest, childRequest, signalRequest, type Unplaced } from '../requests.ts'
import {
  bound,
  checkCall,
  checkFunction,
  checkSignal,
  checkTarget,
  deadlineOf,
  optionsAndFunction,
} from './call-options.ts'
import { begun, Concurrency, mapPlan, type NamedBranches, type OpenedScope, ScopeControl } from './concurrency.ts'
import type { FunctionExecution } from './execution.ts'
import { logOf, runInfo } from './info.ts'
import { marksOf, misuse, mixed } from './misuse.ts'
import type { Identity } from './request-matcher.ts'
import { Saga } from './saga.ts'
import { Scope } from './scope.ts'
import { SeededNumbers } from './seeded-numbers.ts'

interface WebhookParts {
  readonly name: string
  readonly token: string
  readonly schema?: AnySchema
}

type StepBody = (step: ActivityContext) => unknown

/** Runs the step again after the death of a worker, but not after a failure. */
const UNLESS_IT_FAILS = { maxAttempts: limits.poisonDeliveries * 2, nonRetryable: ['*'] }

/** `Context` says what each promise resolves with; the implementation does not know. */
type Durable = DurablePromise<never>

export class FunctionContext implements Context {
  readonly #execution: FunctionExecution
  readonly #scope: Scope
  #concurrency: Concurrency<FunctionContext> | undefined
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
    if (workflow?.is !== 'workflow') throw misuse('ctx.child', 'a workflow', workflow, 'ctx.child(workflow, input)')
    checkCall('child', options)
    const [key, identity] = this.#identify('child', workflow.name, options)
    const request = childRequest(key, workflow, given, options)
    const runId = childId(this.#execution.head, this.#execution.keyOf(request, identity))
    const { workflowId = runId } = request
    const child: Omit<TerminableChild, keyof Durable> = {
      runId,
      started: Promise.resolve({ runId, workflowId }) as TerminableChild['started'],
      signal: (signal: unknown, ...payload: Args<unknown, never>) => this.signal(runId, signal, ...payload),
      cancel: (reason) => void this.#stop(runId, defined({ type: 'cancel', reason })),
      terminate: (reason) => void this.#stop(runId, { type: 'terminate', reason }),
    }
    return Object.assign(this.#request(request, identity), child)
  }

  signal(to: RunRef, signal: unknown, ...[given]: Args<unknown, never>): DurablePromise<void> {
    const sent = checkSignal(to, signal)
    const [key, identity] = this.#identify('signal', sent.name, {})
    // A recorded payload has passed its schema before.
    const isChecked = this.#execution.hasRecorded(key)
    return this.#request(signalRequest(key, to, sent, given, isChecked), identity)
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
    given: ChildOptions & { signal: unknown; input?: unknown; payload?: unknown },
  ): DurablePromise<void> {
    const call = 'ctx.signalWithStart'
    if (workflow?.is !== 'workflow')
      throw misuse(call, 'a workflow', workflow, `${call}(workflow, { workflowId, signal })`)
    checkCall('signalWithStart', given)
    const { signal, input, payload, ...options } = given
    checkKnownId(options.workflowId, 'the workflow id of ctx.signalWithStart')
    const sent = checkSignal({ workflowId: options.workflowId ?? '' }, signal)
    const [key, identity] = this.#identify('child', workflow.name, options)
    const start = childRequest(key, workflow, input, { ...options, parentClose: 'abandon' })
    const isChecked = this.#execution.hasRecorded(key)
    const { message } = signalRequest(key, '', sent, payload, isChecked)
    const started = this.#request({ ...start, signal: message }, identity)
    return (this.#scope.cancelled ? started : Promise.resolve()) as DurablePromise<void>
  }

  cancelRun(run: RunRef, reason?: string): DurablePromise<void> {
    checkTarget('ctx.cancelRun', run)
    return this.#stop(run, defined({ type: 'cancel', reason }))
  }

  #stop(to: RunRef, message: SendMessage['message']): Durable {
    const [key, identity] = this.#identify(message.type, message.type, {})
    return this.#request({ type: 'SendMessage', key, to, message }, identity)
  }

  sleep(duration: Duration, options: Pick<StepIdentity, 'key'> = {}): DurablePromise<void> {
    return this.#sleep(this.#execution.now + milliseconds(duration, 'ctx.sleep'), options)
  }

  sleepUntil(time: Date | number, options: Pick<StepIdentity, 'key'> = {}): DurablePromise<void> {
    return this.#sleep(instantOf(time, 'the time of ctx.sleepUntil'), options)
  }

  wait(source: unknown, options: { key?: string; timeout?: Duration; until?: Date | number } = {}): Durable {
    checkCall('wait', options)
    const until = deadlineOf(options, this.#execution.now)
    if (typeof source === 'function') return this.#condition(source as () => unknown, options, until)
    const { is, name, token, schema } = marksOf(source)
    if (is === 'webhook' && name !== undefined && token !== undefined)
      return this.#webhook(defined({ name, token, schema }), options, until)
    if (is !== 'signal' || name === undefined)
      throw misuse('ctx.wait', 'a signal, a webhook or a function', source, 'ctx.wait(signal)')
    if (this.#execution.usesOf(name).handled) throw mixed(name)
    const [key, identity] = this.#identify('wait', name, options)
    return this.#request({ type: 'AwaitSignal', key, name, ...until }, identity)
  }

  webhook(name: string, schema?: AnySchema): Webhook<never> {
    const key = this.#occurrence('webhook', checkKnownName(name, 'the name of a webhook'))
    const known = checking('schema', schema, `webhook '${name}'`)
    const token = this.#execution.token(key)
    const url = `/webhooks/${token}`
    const webhook = { is: 'webhook', name: key, token, url, ...known }
    return webhook
  }

  // A webhook is waited for once, so its own key names the wait.
  #webhook({ name: key, token, schema }: WebhookParts, options: { key?: string }, until: { until?: number }): Durable {
    const [own, { explicit }] = this.#identify('wait', key, options)
    const name = webhookSignal(key, token)
    const what = `the payload of webhook '${webhookName(name)}'`
    const check = schema && { check: (payload: unknown) => checkNow(schema, payload, what) }
    return this.#request({ type: 'AwaitSignal', key: own, name, ...until }, { explicit, ...check })
  }

  on(message: unknown, first: unknown, second?: unknown): void {
    const { is, name } = marksOf(message)
    const [options, handler] = optionsAndFunction('on', first, second)
    if (is === 'query' && name !== undefined) return this.#execution.handlers.onQuery(name, handler)
    if (name === undefined || (is !== 'signal' && is !== 'update'))
      throw misuse('ctx.on', 'a signal, a query or an update', message, 'ctx.on(signal, () => …)')
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

  race(branches: NamedBranches): Durable {
    return this.#structure.race(this.#count('race'), branches) as Durable
  }

  all(branches: NamedBranches): Durable {
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
    const control = new ScopeControl((error) => this.#execution.cancelScope(scope, error))
    const timer =
      timeout === undefined
        ? undefined
        : this.#timer(`${segment}:timeout`, this.#execution.now + milliseconds(timeout, 'timeout'))
    const ctx = new ScopeContext(this.#execution, scope, control)
    const promise = begun(() => fn(ctx))
    return this.#structure.scope({ scope, promise }, control, timer) as Durable
  }

  shield(fn: (ctx: FunctionContext) => Promise<unknown>): Durable {
    checkFunction('ctx.shield', fn, 'ctx.shield(async (ctx) => …)')
    return this.#structure.shield(`${this.#count(SHIELD)}/`, fn) as Durable
  }

  saga(fn: (ctx: PublicSaga) => Promise<unknown>): Durable {
    checkFunction('ctx.saga', fn, 'ctx.saga(async (saga) => …)')
    const saga = new Saga(this.#execution.compensations)
    const scope = new Scope(`${this.#count('saga')}/`, this.#scope)
    const ctx = Object.assign(new FunctionContext(this.#execution, scope), {
      compensate: (undo: (ctx: Context) => Promise<unknown>) => saga.add(undo),
    })
    const work = begun(() => fn(ctx))
    return this.#structure.saga(scope, saga.run(ctx, work)) as Durable
  }

  /** Records where a compensation begins or ends. */
  mark(type: 'BeginCompensation' | 'EndCompensation'): void {
    void this.#request({ type, key: this.#count('compensation') }, { explicit: false })
  }

  continueAsNew(input: unknown): never {
    return this.#execution.continueAsNew(input)
  }

  setAttributes(given: AttributesChange): void {
    const attributes = storedChanges(given)
    const key = this.#count('attributes')
    // Recorded attributes have passed this check before.
    if (!this.#execution.hasRecorded(key)) this.#execution.attributes.check(attributes)
    void this.#request({ type: 'SetAttributes', key, attributes }, { explicit: false })
  }

  stream<Chunk>(stream: Stream<Chunk>): RunStreamWriter<Chunk> {
    const name = streamName('ctx.stream', stream)
    return {
      write: (chunk) => {
        const key = this.#occurrence('stream', name)
        const bytes = this.#execution.recordedBytes(key)
        // What was recorded is in the stream.
        const item = bytes === undefined ? encodeItem(name, chunk) : { text: '', bytes }
        this.#execution.streams.write(name, item.bytes)
        void this.#request({ type: 'WriteStream', key, stream: name, item }, { explicit: false })
      },
      close: () => {
        const key = this.#occurrence('stream', name)
        this.#execution.streams.close(name)
        void this.#request({ type: 'WriteStream', key, stream: name }, { explicit: false })
      },
    }
  }

  transaction(name: string, fn: unknown): Durable {
    checkFunction('ctx.transaction', fn, "ctx.transaction('name', async (sql) => …)")
    const [key, identity] = this.#identify('transaction', checkKnownName(name, 'the name of a step'), {})
    const plan: StepPlan = { ...stepPlan({}), transaction: fn as StepPlan['transaction'] & object }
    return this.#request({ type: 'RunStep', kind: 'step', key, name }, identity, plan)
  }

  patched(id: string): boolean {
    return this.#execution.patched(checkKnownName(id, 'the id of a patch'))
  }

  // Nothing to do: histories keep the mark, but no code reads it any more.
  deprecatePatch(id: string): void {
    checkKnownName(id, 'the id of a patch')
  }

  sideEffect(body: () => unknown): Durable {
    checkFunction('ctx.sideEffect', body, 'ctx.sideEffect(() => …)')
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

  get #structure(): Concurrency<FunctionContext> {
    this.#concurrency ??= new Concurrency(this.#execution, (...given) => this.#open(...given))
    return this.#concurrency
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
      const expected = 'an activity, or a name and a function'
      throw misuse('ctx.run', expected, activity, 'ctx.run(activity, input)')
    }
    checkCall('run with an activity', options)
    const [key, identity] = this.#identify('activity', activity.name, options)
    const { activities } = this.#execution
    const { request, plan } = activityRequest(key, activity, given, options, activities)
    return this.#request(request, identity, plan)
  }

  #inline(kind: StepKind, name: string, options: StepOptions, body: unknown): Durable {
    const [key, identity] = this.#identify(kind, name, options)
    const plan: StepPlan = { ...stepPlan(options, `step '${name}'`), body: body as StepBody }
    const mark = options.onCancel === 'wait' ? { onCancel: 'wait' as const } : {}
    return this.#request({ type: 'RunStep', kind, key, name, ...mark }, identity, plan)
  }

  // A condition is recorded as a wait, so that people see it. The code itself checks it, and no event settles it.
  #condition(isMet: () => unknown, options: { key?: string }, until: { until?: number }): Durable {
    const [key, identity] = this.#identify('wait', 'condition', options)
    const condition = { name: 'condition', condition: true, ...until } as const
    const promise = this.#request({ type: 'AwaitSignal', key, ...condition }, identity)
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
    return this.#request({ type: 'SetTimer', key, until }, { explicit })
  }

  /** Calls a function in a new scope inside this one. */
  #open(path: string, fn: (ctx: FunctionContext) => unknown, shield = false): OpenedScope {
    const scope = new Scope(path, this.#scope, shield)
    const ctx = new FunctionContext(this.#execution, scope)
    return { scope, promise: begun(() => fn(ctx)) }
  }

  #request(request: Unplaced<Request>, identity: Identity, plan?: StepPlan): Durable {
    return this.#execution.request(this.#scope, request, identity, plan) as Durable
  }

  // The key is kind:name#n, where n counts the calls with this kind and name, or the key that the user gave.
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
