// What the calls of `ctx` take besides a function: checked where they are called.
import {
  childOptions,
  detachedOptions,
  handlerOptions,
  mapOptions,
  runOptions,
  scopeOptions,
  signalWithStartOptions,
  sleepOptions,
  stepOptions,
  waitOptions,
} from '../../definitions/options.ts'
import { checkOptions } from '../../kernel/described.ts'
import { type Duration, milliseconds } from '../../kernel/duration.ts'
import { PawlError } from '../../kernel/errors.ts'
import { instantOf } from '../../kernel/instant.ts'
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
