// What the calls of `ctx` take besides a function: checked where they are called.

import { checkOptions } from '../../base/described.ts'
import { type Duration, milliseconds } from '../../base/duration.ts'
import { PawlError } from '../../base/errors.ts'
import { instantOf } from '../../base/instant.ts'
import type { AnyActivityContract, AnyWorkflowContract } from '../../definitions/contract.ts'
import {
  type ChildOptions,
  childOptions,
  detachedOptions,
  handlerOptions,
  mapOptions,
  type RunOptions,
  runOptions,
  scopeOptions,
  signalWithStartOptions,
  sleepOptions,
  stepOptions,
  waitOptions,
} from '../../definitions/options.ts'
import { misuse } from './misuse.ts'

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

/** When a wait is over, at the latest. */
export function deadlineOf(
  { timeout, until }: { readonly timeout?: Duration; readonly until?: Date | number },
  now: number,
): { readonly until?: number } {
  if (timeout !== undefined && until !== undefined)
    throw new PawlError('INPUT_INVALID', 'ctx.wait takes `timeout` or `until`, not both.')
  if (timeout !== undefined) return { until: now + milliseconds(timeout, 'timeout') }
  return until === undefined ? {} : { until: instantOf(until, '`until` of ctx.wait') }
}

type AnyFunction = (...args: unknown[]) => unknown

export function checkCall(call: keyof typeof calls, options: unknown): void {
  checkOptions(calls[call], options, { of: `ctx.${call}` })
}

/** The options, which may be left out, and the function that comes last. */
export function optionsAndFunction(
  call: keyof typeof calls,
  first: unknown,
  second: unknown,
): [options: object, fn: AnyFunction] {
  const [options = {}, fn] = typeof first === 'function' ? [{}, first] : [first, second]
  if (typeof fn !== 'function')
    throw misuse(`ctx.${call} takes a function as its last argument`, fn)
  checkCall(call, options)
  return [options as object, fn as AnyFunction]
}

/** `ctx.bind`: the options of all calls are checked once, those of each when it is made. */
export function bound<Result>(
  to: AnyActivityContract | AnyWorkflowContract,
  options: RunOptions | ChildOptions,
  ctx: {
    run(to: AnyActivityContract, input: unknown, options: RunOptions): Result
    child(to: AnyWorkflowContract, input: unknown, options: ChildOptions): Result
  },
): (input?: unknown, each?: { key?: string }) => Result {
  if (to?.is !== 'activity' && to?.is !== 'workflow')
    throw misuse('ctx.bind takes an activity or a workflow', to)
  checkCall(to.is === 'activity' ? 'bind' : 'bind of a workflow', options)
  return (input, each = {}) => {
    checkCall('bind, of each call,', each)
    return to.is === 'activity'
      ? ctx.run(to, input, { ...(options as RunOptions), ...each })
      : ctx.child(to, input, { ...(options as ChildOptions), ...each })
  }
}
