// Interceptors of starts, calls on runs, step bodies and requests: for tracing, checks and defaults.

import { defined } from '../base/defined.ts'
import { checkOptions, option } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import type { RunRef } from '../definitions/context.ts'
import { type ActivityCall, type Around, type AroundActivity, through } from '../definitions/interceptor.ts'
import type { Handle } from './handle.ts'
import type { RunHandle, StartedRun } from './run-handle.ts'
import type { StartOptions } from './start-options.ts'

/** The start of a run, as an interceptor sees it. */
export interface StartCall {
  readonly operation: 'start' | 'startMany' | 'signalWithStart' | 'updateWithStart'
  /** The name of the workflow. */
  readonly workflow: string
  readonly input: unknown
  readonly options: StartOptions
}

/** A call on the handle of a run, as an interceptor sees it. */
export interface ClientCall {
  readonly operation: Operation
  readonly run: RunRef
  /** The name of the signal, query or update. */
  readonly name?: string
  /** The arguments of the call. */
  readonly args: readonly unknown[]
}

/** A request to the HTTP API, as an interceptor sees it. */
export interface RequestCall {
  readonly operation: string
  readonly method: string
  /** The path with its fields in braces. */
  readonly route: string
  readonly requestId: string
  /** The span of the caller; starts and messages of this request get it, unless they have one of their own. */
  readonly traceparent?: string
}

/** The answer to a request, as an interceptor sees it. It must return the answer that `next` returned. */
export interface RequestAnswer {
  readonly status: number
  /** The code of the error, if it is one. */
  readonly error?: string
}

/**
 * Functions around step bodies, starts, calls on runs and requests. Each can observe a call, change it, or return a result
 * without calling `next`.
 *
 * ```ts
 * const timing: Interceptor = {
 *   async activity(call, next) {
 *     const start = performance.now()
 *     try {
 *       return await next(call)
 *     } finally {
 *       console.log(call.name, performance.now() - start)
 *     }
 *   },
 * }
 * ```
 */
export interface Interceptor {
  /** Around each attempt of an activity or an inline step, in its worker. An error it throws fails the attempt. */
  activity?(call: ActivityCall, next: (call: ActivityCall) => Promise<unknown>): Promise<unknown>
  /** Around each start by this engine. It must return the run that `next` returned. */
  start?(call: StartCall, next: (call: StartCall) => Promise<StartedRun<unknown>>): Promise<StartedRun<unknown>>
  /** Around each call on the handle of a run. */
  client?(call: ClientCall, next: (call: ClientCall) => Promise<unknown>): Promise<unknown>
  /** Around each operation that the HTTP API carries out on this engine. */
  request?(call: RequestCall, next: (call: RequestCall) => Promise<RequestAnswer>): Promise<RequestAnswer>
}

const OPERATIONS = [
  ...(['result', 'describe', 'why', 'signal', 'query', 'update', 'updateResult'] as const),
  ...(['cancel', 'terminate', 'pause', 'resume', 'discardMessage', 'trigger'] as const),
  ...(['migrate', 'retry', 'reset', 'fork'] as const),
] satisfies readonly (keyof RunHandle<unknown>)[]
type Operation = (typeof OPERATIONS)[number]

const isFunction = (value: unknown): boolean => typeof value === 'function'
export const interceptorOptions = {
  activity: option('Around each attempt of an activity or a step.', 'a function', isFunction),
  start: option('Around each start by this engine.', 'a function', isFunction),
  client: option('Around each call on the handle of a run.', 'a function', isFunction),
  request: option('Around each operation of the HTTP API.', 'a function', isFunction),
} as const

export function checkInterceptors(interceptors: readonly Interceptor[]): void {
  for (const each of interceptors) {
    // An instance of a class may have more properties than pawl knows.
    const isPlain = Object.getPrototypeOf(each) === Object.prototype
    const entries = Object.keys(interceptorOptions).map((name) => [name, Reflect.get(each, name)])
    const given: unknown = isPlain ? each : Object.fromEntries(entries)
    checkOptions(interceptorOptions, given, { of: 'an interceptor' })
  }
}

/** The interceptors of one kind of call. @internal */
export function around<K extends keyof Interceptor>(
  kind: K,
  interceptors: readonly Interceptor[] = [],
): NonNullable<Interceptor[K]>[] {
  return interceptors.flatMap((each) => {
    const found = each[kind]
    return found ? [found.bind(each) as NonNullable<Interceptor[K]>] : []
  })
}

/** A body may return a plain value; interceptors always get a promise. @internal */
export function aroundActivities(interceptors: readonly Interceptor[] | undefined): readonly AroundActivity[] {
  return around('activity', interceptors).map(
    (each): AroundActivity =>
      (call, next) =>
        each(call, async (given) => next(given)),
  )
}

type AroundClient = Around<ClientCall, Promise<unknown>>

/** The handle, with its calls going through the interceptors. @internal */
export function interceptedHandle<H extends Handle<unknown>>(
  handle: H,
  run: RunRef,
  arounds: readonly AroundClient[],
): H {
  if (arounds.length === 0) return handle
  return new Proxy(handle, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target)
      if (typeof value !== 'function') return value
      const method = value as (...args: readonly unknown[]) => unknown
      if (!isOperation(property)) return method.bind(target)
      return async (...args: readonly unknown[]) => {
        const { name } = (args[0] ?? {}) as { readonly name?: unknown }
        const called = typeof name === 'string' ? name : undefined
        const call = defined({ operation: property, run, name: called, args })
        const answer = await through(arounds, call, async (made) => method.apply(target, made.args as unknown[]))
        return property === 'fork' ? interceptedFork(answer as Handle<unknown>, arounds) : answer
      }
    },
  })
}

function interceptedFork(fork: Handle<unknown>, arounds: readonly AroundClient[]): Handle<unknown> {
  return interceptedHandle(fork, fork.runId, arounds)
}

function isOperation(property: string | symbol): property is Operation {
  return (OPERATIONS as readonly (string | symbol)[]).includes(property)
}

type AroundStart = Around<StartCall, Promise<StartedRun<unknown>>>

/** Makes several starts in one write, each through the interceptors. If one of them throws, none is made. @internal */
export async function startThrough<R extends StartedRun<unknown>>(
  arounds: readonly AroundStart[],
  calls: readonly StartCall[],
  make: (calls: readonly StartCall[]) => Promise<readonly R[]>,
): Promise<readonly R[]> {
  if (arounds.length === 0 || calls.length === 0) return make(calls)
  const [only, ...others] = calls
  if (only && others.length === 0) return [await startOne(arounds, only, make)]
  const made = new Map<number, StartCall>()
  const written = Promise.withResolvers<readonly R[]>()
  written.promise.catch(() => {})
  const come = async (call: StartCall, index: number): Promise<R> => {
    if (made.has(index)) throw twice()
    made.set(index, call)
    if (made.size === calls.length) written.resolve(make(calls.map((_, n) => made.get(n) ?? call)))
    const run = (await written.promise)[index]
    if (!run) throw notItsRun()
    return run
  }
  const start = async (call: StartCall, index: number): Promise<R> => {
    try {
      const run = await through(arounds, call, (given) => come(given, index))
      const own = made.has(index) ? (await written.promise)[index] : undefined
      if (own === undefined || run !== own) throw notItsRun()
      return own
    } catch (error) {
      // The other starts wait for this one, and are not made without it.
      written.reject(error)
      throw error
    }
  }
  return Promise.all(calls.map(start))
}

/** The interceptor of a single start may call `next` again, for example after a failure. */
async function startOne<R extends StartedRun<unknown>>(
  arounds: readonly AroundStart[],
  call: StartCall,
  make: (calls: readonly StartCall[]) => Promise<readonly R[]>,
): Promise<R> {
  const made = new Set<R>()
  const run = await through(arounds, call, async (given) => {
    const [started] = await make([given])
    if (!started) throw notItsRun()
    made.add(started)
    return started
  })
  if (made.has(run as R)) return run as R
  throw notItsRun()
}

function twice(): PawlError {
  const problem = 'a start interceptor called `next` twice for one run of startMany, which is one write'
  return new PawlError('INPUT_INVALID', `${problem}. Call it once.`)
}

function notItsRun(): PawlError {
  const problem = 'a start interceptor returned something other than the run that `next` returned'
  return new PawlError('INPUT_INVALID', `${problem}. Return the result of \`next(call)\`, or throw.`)
}
