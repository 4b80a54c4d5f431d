// Checks the arguments of `ctx` calls, where they are called.

import { defined } from '../../base/defined.ts'
import { checkOptions, isObject } from '../../base/described.ts'
import { PawlError } from '../../base/errors.ts'
import { checkKnownId, isUuid } from '../../base/names.ts'
import { type Duration, instantOf, milliseconds } from '../../base/time.ts'
import type { RunRef } from '../../definitions/context.ts'
import type { AnyActivityContract, AnyWorkflowContract } from '../../definitions/contract.ts'
import type { SignalToSend } from '../../definitions/messages.ts'
import {
  type ChildOptions,
  childOptions,
  detachedOptions,
  handlerOptions,
  mapOptions,
  type RunOptions,
  runOptions,
  runReference,
  scopeOptions,
  signalWithStartOptions,
  sleepOptions,
  stepOptions,
  waitOptions,
} from '../../definitions/options.ts'
import { marksOf, misuse } from './misuse.ts'

const calls = {
  run: stepOptions,
  'run with an activity': runOptions,
  bind: runOptions,
  'bind of a workflow': childOptions,
  'bind, of each call,': sleepOptions,
  child: childOptions,
  start: detachedOptions,
  signalWithStart: signalWithStartOptions,
  on: handlerOptions,
  map: mapOptions,
  scope: scopeOptions,
  sleep: sleepOptions,
  wait: waitOptions,
} as const

/** The time at which a wait ends at the latest. */
export function deadlineOf(
  { timeout, until }: { readonly timeout?: Duration; readonly until?: Date | number },
  now: number,
): { readonly until?: number } {
  if (timeout !== undefined && until !== undefined)
    throw new PawlError(
      'INPUT_INVALID',
      'ctx.wait got both `timeout` and `until`; expected `timeout` or `until`, not both. Remove one of them.',
    )
  if (timeout !== undefined) return { until: now + milliseconds(timeout, 'timeout') }
  return until === undefined ? {} : { until: instantOf(until, '`until` of ctx.wait') }
}

type AnyFunction = (...args: unknown[]) => unknown

export function checkCall(call: keyof typeof calls, options: unknown): void {
  checkOptions(calls[call], options, { of: `ctx.${call}` })
}

/** Sorts out the arguments of a call that takes optional options, and then a function. */
export function optionsAndFunction(
  call: keyof typeof calls,
  first: unknown,
  second: unknown,
): [options: object, fn: AnyFunction] {
  const [options = {}, fn] = typeof first === 'function' ? [{}, first] : [first, second]
  if (fn === first && second !== undefined)
    throw misuse(`ctx.${call}`, 'its options before the function', second, `ctx.${call}(…, options, () => …)`)
  if (typeof fn !== 'function')
    throw misuse(`ctx.${call}`, 'a function as its last argument', fn, `ctx.${call}(…, () => …)`)
  checkCall(call, options)
  return [options as object, fn as AnyFunction]
}

/** `ctx.bind`: the shared options are checked once, those of a call with the call. */
export function bound<Result>(
  to: AnyActivityContract | AnyWorkflowContract,
  options: RunOptions | ChildOptions,
  ctx: {
    run(to: AnyActivityContract, input: unknown, options: RunOptions): Result
    child(to: AnyWorkflowContract, input: unknown, options: ChildOptions): Result
  },
): (input?: unknown, each?: { key?: string }) => Result {
  if (to?.is !== 'activity' && to?.is !== 'workflow')
    throw misuse('ctx.bind', 'an activity or a workflow', to, 'ctx.bind(activity, options)')
  checkCall(to.is === 'activity' ? 'bind' : 'bind of a workflow', options)
  return (input, each = {}) => {
    checkCall('bind, of each call,', each)
    return to.is === 'activity'
      ? ctx.run(to, input, { ...(options as RunOptions), ...each })
      : ctx.child(to, input, { ...(options as ChildOptions), ...each })
  }
}

/** Checks the first two arguments of `ctx.signal`, and returns the signal. */
export function checkSignal(to: RunRef, signal: unknown): SignalToSend {
  const { is, name, schema } = marksOf(signal)
  if (is !== 'signal' || name === undefined)
    throw misuse('ctx.signal', 'a signal', signal, 'ctx.signal(runId, signal, payload)')
  checkTarget('ctx.signal', to)
  return defined({ name, schema })
}

export function checkTarget(call: string, to: unknown): void {
  if (isObject(to)) {
    checkOptions(runReference, to, { of: call })
    checkKnownId(to['workflowId'], 'a workflow id')
  } else if (typeof to !== 'string' || !isUuid(to))
    throw misuse(call, 'a run id or { workflowId }', to, `${call}(run.runId, …)`)
}

export function checkFunction(call: string, fn: unknown, example: string): void {
  if (typeof fn !== 'function') throw misuse(call, 'a function', fn, example)
}
