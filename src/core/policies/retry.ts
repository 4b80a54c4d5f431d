// Retries: whether and when a failed attempt is retried. Pure arithmetic over the policy, the attempts so far and a
// random fraction.

import { defined } from '../base/defined.ts'
import { PawlError } from '../base/errors.ts'
import type { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { type Duration, optionalMs } from '../base/time.ts'
import type { RetryRule } from '../kernel/decider.ts'

/** The settings of a retry policy; every one has a default. */
export interface RetrySettings {
  readonly maxAttempts?: number
  readonly initial?: Duration
  readonly max?: Duration
  readonly factor?: number
  readonly jitter?: number
  readonly nonRetryable?: readonly string[]
  readonly retryable?: readonly string[]
}
export type RetryPreset = 'none' | 'exponential' | 'quadraticMinutes'

/** The default, and what a setting that is not given is. */
export const exponential: RetryRule = {
  maxAttempts: 5,
  initialMs: 1_000,
  maxMs: 60_000,
  factor: 2,
  jitter: 0.1,
  curve: 'exponential',
  nonRetryable: [],
}
const presets: Readonly<Record<RetryPreset, RetryRule>> = {
  none: { ...exponential, maxAttempts: 1 },
  exponential,
  quadraticMinutes: {
    ...exponential,
    maxAttempts: 3,
    initialMs: 60_000,
    maxMs: 86_400_000,
    curve: 'quadratic',
  },
}

export function retryRule(retry: RetrySettings | RetryPreset | undefined): RetryRule {
  if (retry === undefined) return exponential
  if (typeof retry === 'string') return preset(retry)
  const rule: RetryRule = defined({
    maxAttempts: attemptsOf(retry.maxAttempts ?? exponential.maxAttempts),
    initialMs: optionalMs(retry.initial, 'retry.initial') ?? exponential.initialMs,
    maxMs: optionalMs(retry.max, 'retry.max') ?? exponential.maxMs,
    factor: retry.factor ?? exponential.factor,
    jitter: retry.jitter ?? exponential.jitter,
    curve: 'exponential',
    nonRetryable: retry.nonRetryable ?? [],
    retryable: retry.retryable,
  })
  if (!isUnlimited(rule.maxAttempts))
    check('maxAttempts', rule.maxAttempts, 1, limits.retryAttemptsMax, Number.isInteger)
  check('factor', rule.factor, 1, 1_000, Number.isFinite)
  check('jitter', rule.jitter, 0, 1, Number.isFinite)
  return rule
}

/** Unlimited attempts as a number, because JSON has no infinity. */
const UNLIMITED = Number.MAX_SAFE_INTEGER

export function isUnlimited(attempts: unknown): boolean {
  return attempts === UNLIMITED || attempts === Number.POSITIVE_INFINITY
}

export function attemptsOf(given: number): number {
  return isUnlimited(given) ? UNLIMITED : given
}

/** Errors that JavaScript throws for a mistake in the code, which another attempt would repeat. */
const MISTAKES: readonly string[] = ['TypeError', 'ReferenceError', 'SyntaxError']

// A failed `fetch` throws a TypeError, too, but with a cause.
function isMistake({ type, cause }: Failure): boolean {
  return MISTAKES.includes(type) && cause === undefined
}

/** Matches every failure type. An attempt whose worker died has not failed, so it is retried anyway. */
const ANY = '*'

/** Why a failure is not retried after this many attempts; undefined if it is retried. */
export function givesUp(rule: RetryRule, failure: Failure, attempt: number): 'exhausted' | 'non-retryable' | undefined {
  const { nonRetryable, retryable = [] } = rule
  const isIn = (types: readonly string[]): boolean => types.includes(failure.type) || types.includes(ANY)
  const refused = isIn(nonRetryable) || (isMistake(failure) && !isIn(retryable))
  if (!failure.retryable || refused) return 'non-retryable'
  return attempt >= rule.maxAttempts ? 'exhausted' : undefined
}

/** The pause after attempt `attempt` (from 1). `fraction` is in [0, 1). */
export function backoffMs(rule: RetryRule, attempt: number, fraction: number): number {
  const grown =
    rule.curve === 'quadratic'
      ? rule.initialMs * attempt * attempt
      : rule.initialMs * rule.factor ** Math.min(attempt - 1, 1_000)
  const bounded = Math.min(rule.maxMs, grown)
  return Math.round(bounded * (1 + rule.jitter * (2 * fraction - 1)))
}

function preset(name: string): RetryRule {
  const found = Object.hasOwn(presets, name) ? presets[name as RetryPreset] : undefined
  if (found) return found
  throw new PawlError(
    'DEFINITION_INVALID',
    `retry is '${name}'; expected 'none', 'exponential', 'quadraticMinutes', or an object such as { maxAttempts: 3 }.`,
  )
}

function check(name: string, value: number, low: number, high: number, is: (value: number) => boolean): void {
  if (is(value) && value >= low && value <= high) return
  throw new PawlError('DEFINITION_INVALID', `retry.${name} is ${value}; expected a number from ${low} to ${high}.`)
}
