// The `ctx` of a workflow function: names every request, and passes it on to the execution.
import type { Context, DurablePromise, RunInfo } from '../../definitions/context.ts'
import type {
  ActivityContext,
  AnyActivityContract,
  AnyWorkflowContract,
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
import type { StepPlan } from '../../kernel/decider.ts'
import { digestPayload } from '../../kernel/digest.ts'
import { type Duration, milliseconds } from '../../kernel/duration.ts'
import { PawlError } from '../../kernel/errors.ts'
import type { StepKind } from '../../kernel/event.ts'
import { checkId, checkName } from '../../kernel/names.ts'
import { decode, encode } from '../../kernel/value.ts'
import type { FunctionExecution } from './execution.ts'
import type { Identity, Wanted } from './matching.ts'
import { SeededNumbers } from './seeded.ts'

type StepBody = (step: ActivityContext) => unknown

export class FunctionContext {
  readonly #execution: FunctionExecution
  #info: RunInfo | undefined
  #numbers: SeededNumbers | undefined
  readonly #occurrences = new Map<string, number>()

  constructor(execution: FunctionExecution) {
    this.#execution = execution
  }

  get info(): RunInfo {
    this.#info ??= runInfo(this.#execution)
    return this.#info
  }

  get log(): Log {
    return logOf(this.#execution)
  }

  run(
    what: string | AnyActivityContract,
    first?: unknown,
    second?: unknown,
  ): DurablePromise<unknown> {
    if (typeof what !== 'string') return this.#activity(what, first, second ?? {})
    const [options, body] = typeof first === 'function' ? [{}, first] : [first ?? {}, second]
    return this.#inline('step', checkName(what, 'the name of a step'), options, body)
  }

  bind(
    definition: AnyActivityContract | AnyWorkflowContract,
    options: RunOptions | ChildOptions = {},
  ): (input?: unknown, each?: { key?: string }) => DurablePromise<unknown> {
    return (input, each) =>
      definition.is === 'activity'
        ? this.#activity(definition, input, { ...(options as RunOptions), ...each })
        : this.child(definition, input, { ...(options as ChildOptions), ...each })
  }

  child(
    workflow: AnyWorkflowContract & { readonly options?: WorkflowOptions },
    given?: unknown,
    options: ChildOptions = {},
  ): DurablePromise<unknown> {
    if (workflow?.is !== 'workflow') throw misuse('ctx.child takes a workflow', workflow)
    const { name } = workflow
    const input = encode(given, `the input of child workflow '${name}'`)
    const queue = options.queue ?? workflow.options?.queue
    const priority = options.priority ?? workflow.options?.priority
    const { workflowId } = options
    if (workflowId !== undefined) checkId(workflowId, 'a workflow id')
    const [key, identity] = this.#identify('child', name, options)
    const wanted: Wanted = {
      type: 'StartChild',
      key,
      name,
      input,
      digest: digestPayload(input),
      ...(queue !== undefined && { queue }),
      ...(priority !== undefined && { priority }),
      ...(workflowId !== undefined && { workflowId }),
      ...(options.parentClose === 'abandon' && { abandoned: true }),
    }
    return this.#ask(wanted, identity)
  }

  sleep(duration: Duration, options: Pick<StepIdentity, 'key'> = {}): DurablePromise<void> {
    return this.#timer(this.#execution.now + milliseconds(duration, 'ctx.sleep'), options)
  }

  sleepUntil(time: Date | number, options: Pick<StepIdentity, 'key'> = {}): DurablePromise<void> {
    const until = Number(time)
    if (!Number.isFinite(until)) throw misuse('ctx.sleepUntil takes a time', time)
    return this.#timer(Math.ceil(until), options)
  }

  wait(
    signal: { readonly is: 'signal'; readonly name: string },
    options: { key?: string; timeout?: Duration } = {},
  ): DurablePromise<unknown> {
    if (signal?.is !== 'signal') throw misuse('ctx.wait takes a signal', signal)
    const { name } = signal
    const { timeout } = options
    const until =
      timeout === undefined ? {} : { until: this.#execution.now + milliseconds(timeout, 'timeout') }
    const [key, identity] = this.#identify('wait', name, options)
    return this.#ask({ type: 'AwaitSignal', key, name, ...until }, identity)
  }

  sideEffect(body: () => unknown): DurablePromise<unknown> {
    return this.#inline('sideEffect', 'sideEffect', { retry: 'none' }, body)
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

  #random(): SeededNumbers {
    const { runId, generation } = this.#execution.head
    this.#numbers ??= new SeededNumbers(`${runId}:${generation}`)
    return this.#numbers
  }

  #activity(
    activity: AnyActivityContract & { readonly options?: ActivityOptions },
    given: unknown,
    options: RunOptions,
  ): DurablePromise<unknown> {
    if (activity?.is !== 'activity') {
      throw misuse('ctx.run takes an activity, or a name and a function', activity)
    }
    const { name } = activity
    const input = encode(given, `the input of activity '${name}'`)
    const [key, identity] = this.#identify('activity', name, options)
    const plan = stepPlan({ ...activity.options, ...options })
    const digest = digestPayload(input)
    return this.#ask(
      { type: 'RunStep', kind: 'activity', key, name, input, digest },
      identity,
      plan,
    )
  }

  #inline(
    kind: StepKind,
    name: string,
    options: StepOptions,
    body: unknown,
  ): DurablePromise<unknown> {
    if (typeof body !== 'function') {
      throw misuse(`ctx.run('${name}', …) takes a function as its last argument`, body)
    }
    const [key, identity] = this.#identify(kind, name, options)
    const plan: StepPlan = { ...stepPlan(options), body: body as StepBody }
    return this.#ask({ type: 'RunStep', kind, key, name }, identity, plan)
  }

  #timer(until: number, options: Pick<StepIdentity, 'key'>): DurablePromise<void> {
    const [key, identity] = this.#identify('sleep', 'sleep', options)
    return this.#ask({ type: 'SetTimer', key, until }, identity) as DurablePromise<void>
  }

  #ask(wanted: Wanted, identity: Identity, plan?: StepPlan): DurablePromise<unknown> {
    return this.#execution.request(wanted, identity, plan) as DurablePromise<unknown>
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
    return [`[${escapeKey(checkName(key, 'the key of a step'))}]`, identity]
  }

  #occurrence(kind: string, name: string): string {
    const counted = `${kind}:${escapeKey(name)}`
    const n = (this.#occurrences.get(counted) ?? 0) + 1
    this.#occurrences.set(counted, n)
    return `${counted}#${n}`
  }
}

/** Starts the user's function with a `ctx` of its own. */
export async function callWorkflow(execution: FunctionExecution, input: unknown): Promise<unknown> {
  const context = new FunctionContext(execution)
  return execution.workflow.handler(context as unknown as Context, input)
}

// A key's structure is made of these characters, so a name must not contain them as they are.
const structural = /[%/#:[\]]/g

function escapeKey(name: string): string {
  if (name.search(structural) < 0) return name
  return name.replace(structural, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function runInfo(execution: FunctionExecution): RunInfo {
  const { head, workflow } = execution
  const memo = head.memo ? (decode(head.memo) as Record<string, unknown>) : {}
  return {
    runId: head.runId,
    workflowId: head.workflowId,
    name: head.name,
    definitionHash: workflow.definitionHash,
    generation: head.generation,
    ...(head.parent && { parent: { runId: head.parent.runId } }),
    memo,
    startedAt: head.createdAt,
    get historyEvents() {
      return execution.delivered
    },
  }
}

function logOf(execution: FunctionExecution): Log {
  const at =
    (level: keyof Log) =>
    (message: string, fields?: object): void =>
      execution.log({ level, message: String(message), ...(fields && { fields }) })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function misuse(expected: string, got: unknown): PawlError {
  const seen = got === null ? 'null' : Array.isArray(got) ? 'an array' : typeof got
  return new PawlError('INPUT_INVALID', `${expected}; got ${seen}.`)
}
