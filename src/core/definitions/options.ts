// The options of definitions and of calls on `ctx`. Options are data: no closure decides a queue, a limit or a delay,
// so that a client or a worker in another language reaches the same decision.
import {
  amount,
  choice,
  type Described,
  duration,
  either,
  flag,
  fn,
  given,
  isObject,
  isWhole,
  named,
  nested,
  type Option,
  option,
  required,
  spelled,
  strings,
  text,
  whole,
} from '../base/described.ts'
import { limits } from '../base/limits.ts'
import { formatDuration } from '../base/time.ts'
import { exponential, isUnlimited } from '../policies/retry.ts'
import { type Attributes, isNamed } from './attributes.ts'

const types = (about: string): Option<readonly string[]> => strings(about, 'a list of strings')

export const retryPolicy = {
  /** Maximum number of attempts, including the first; `Infinity` for no limit. */
  maxAttempts: option<number>(
    'Maximum number of attempts, including the first.',
    `a whole number from 1 to ${spelled(limits.retryAttemptsMax)}, or Infinity`,
    (value) => isUnlimited(value) || isWhole(value, 1, limits.retryAttemptsMax),
    { otherwise: String(exponential.maxAttempts) },
  ),
  /** Pause after the first failed attempt. */
  initial: duration('Pause after the first failed attempt.', { otherwise: formatDuration(exponential.initialMs) }),
  /** Longest pause between two attempts. */
  max: duration('Longest pause between two attempts.', { otherwise: formatDuration(exponential.maxMs) }),
  /** Backoff factor: each pause is this many times the one before. */
  factor: amount('Backoff factor: each pause is this many times the one before.', [1, 1_000], {
    otherwise: String(exponential.factor),
  }),
  /** Random part of each pause, as a share of it: with 0.1 it is up to a tenth longer or shorter. */
  jitter: amount('Random part of each pause, as a share of it: up to so much longer or shorter.', [0, 1], {
    otherwise: String(exponential.jitter),
  }),
  /** Failure types that are not retried; `'*'` for all of them. */
  nonRetryable: types("Failure types that are not retried; `'*'` for all of them."),
  /**
   * Failure types that are retried although they look like mistakes in the code; `'*'` for all of them. Without it, a
   * `TypeError`, `ReferenceError` or `SyntaxError` that has no cause is not retried.
   */
  retryable: types(
    'Failure types that are retried although they look like mistakes in the code. Without it, a `TypeError`, ' +
      "`ReferenceError` or `SyntaxError` that has no cause is not retried. `'*'` for all of them.",
  ),
} as const
/** When and how often a failed attempt is retried: `{ maxAttempts: 10, initial: '500ms' }`. */
export interface RetryPolicy extends Described<typeof retryPolicy> {}

const presets = ['none', 'exponential', 'quadraticMinutes'] as const
const WHEN_TO_RETRY = 'When a failed attempt is retried.'
const retry: Option<Retry> = either(choice(WHEN_TO_RETRY, presets), nested(WHEN_TO_RETRY, retryPolicy), {
  otherwise: "'exponential'",
})
/**
 * A retry policy, or the name of one: `'exponential'` (the default: a few attempts, with growing pauses),
 * `'none'`, or `'quadraticMinutes'` (3 attempts, pauses of 1 and 4 minutes).
 */
export type Retry = RetryPolicy | (typeof presets)[number]

/**
 * What happens to a step that an old run meets for the first time although later steps are already recorded. It may be
 * new or renamed, so by default the run is paused; with `'run'` the step runs now.
 */
export type IfPast = 'pause' | 'run'

const ifPast = choice<IfPast>(
  'When a run meets a new step although later steps are already recorded: pause the run, or run the step.',
  ['pause', 'run'],
  { otherwise: "'pause'" },
)

export const stepIdentity = {
  /** Identifies the step instead of its name and occurrence. */
  key: text('Identifies the step instead of its name and occurrence.'),
  /** The name of the step in older code. */
  was: text('The name of the step in older code.'),
  /** If the step is new although later steps are recorded: pause the run, or run the step. Default `'pause'`. */
  ifPast,
} as const
/** How replay recognises a step: by its kind, name and occurrence, unless these options say otherwise. */
export interface StepIdentity extends Described<typeof stepIdentity> {}

export const placement = {
  /** The queue it waits in. Default `'default'`. */
  queue: named('The queue it waits in.', 'the name of a queue', { otherwise: "'default'" }),
  /** Higher priorities run first. Default 0. */
  priority: whole('Higher priorities run first.', [-1_000, 1_000], { otherwise: '0' }),
} as const
export interface Placement extends Described<typeof placement> {}

const startToClose = duration('Longest duration of one attempt.')

export const activityOptions = {
  ...placement,
  /** When a failed attempt is retried. Default `'exponential'`. */
  retry,
  /** Longest duration of one attempt. Default: no limit. */
  startToClose,
  /** Longest wait in a queue before a worker starts it. It then fails and is not retried. Default: no limit. */
  scheduleToStart: duration('Longest wait in a queue before a worker starts it. It then fails and is not retried.'),
  /** Longest total duration, including all attempts and pauses. Default: no limit. */
  scheduleToClose: duration('Longest total duration, including all attempts and pauses.'),
  /** Longest time between two calls of `ctx.heartbeat()` in an attempt. Default: no limit. */
  heartbeat: duration('Longest time between two calls of `ctx.heartbeat()` in an attempt.'),
} as const
/** Options of an activity. A call can override each of them. */
export interface ActivityOptions extends Described<typeof activityOptions> {}

const timeouts = {
  /** Longest duration of one generation of a run; each continue-as-new starts it again. Default: no limit. */
  runTimeout: duration('Longest duration of a run; each continue-as-new starts it again.'),
  /** Longest duration of a run, including everything it continues as. Default: no limit. */
  executionTimeout: duration('Longest duration of a run, including everything it continues as.'),
} as const

export const workflowOptions = {
  ...placement,
  /** For steps without their own `ifPast`. Default `'pause'`. */
  ifPast,
  ...timeouts,
  /** Whether a run stays with the build that started it. Default: the worker's `pin`. */
  pin: flag('Whether a run stays with the build that started it.', {
    otherwise: "the worker's `pin`",
  }),
} as const
/** Options of a workflow, for every run of it. */
export interface WorkflowOptions extends Described<typeof workflowOptions> {}

const onCancel = choice<'proceed' | 'wait'>(
  'When it is cancelled: continue at once, or wait until its body, or the child, has ended.',
  ['proceed', 'wait'],
  { otherwise: "'proceed'" },
)

export const stepOptions = {
  ...stepIdentity,
  /** When a failed attempt is retried. Default `'exponential'`. */
  retry,
  /** Longest duration of one attempt. Default: no limit. */
  startToClose,
  /** When it is cancelled: continue at once, or wait until its body has ended. Default `'proceed'`. */
  onCancel,
} as const
/** Options of an inline step. */
export interface StepOptions extends Described<typeof stepOptions> {}

export const runOptions = {
  ...activityOptions,
  ...stepIdentity,
  /** When it is cancelled: continue at once, or wait until its body has ended. Default `'proceed'`. */
  onCancel,
} as const
/** Options of one call of an activity. They override the activity's own. */
export interface RunOptions extends Described<typeof runOptions> {}

/** What can be stored with a run, and its timeouts. */
export const aboutRun = {
  /** Values that runs can be searched by: `{ customer: 'c-17', total: 99 }`. */
  attributes: option<Attributes>('Values that runs can be searched by.', 'an object of attributes', isNamed, {
    schema: { type: 'object' },
  }),
  /** Values stored with the run: readable, but not searchable. */
  memo: option<Readonly<Record<string, unknown>>>(
    'Values stored with the run: readable, but not searchable.',
    'an object',
    isObject,
    { schema: { type: 'object' } },
  ),
  ...timeouts,
} as const

export const childOptions = {
  ...placement,
  ...stepIdentity,
  /** An id of your own for the child. Default: its run id. */
  workflowId: text('An id of your own for the child.', { otherwise: 'its run id' }),
  /** What happens to the child when its parent ends first. Default `'cancel'`. */
  parentClose: choice('What happens to the child when its parent ends first.', ['cancel', 'terminate', 'abandon'], {
    otherwise: "'cancel'",
  }),
  /** When it is cancelled: continue at once, or wait until the child has ended. Default `'proceed'`. */
  onCancel,
  ...aboutRun,
} as const
/** Options of a child run. */
export interface ChildOptions extends Described<typeof childOptions> {}

/** Options of `ctx.start`. The run it starts has no parent. */
const { parentClose: _, ...detachedOptions } = childOptions

export { detachedOptions }
export const signalWithStartOptions = {
  ...detachedOptions,
  signal: required(
    option<object>('The signal to send.', 'a signal', (value) => (value as { is?: unknown } | null)?.is === 'signal'),
  ),
  input: given<unknown>('The input of the run, if it is started.', 'the input of the workflow'),
  payload: given<unknown>('The payload of the signal.', 'the payload of the signal'),
} as const

/** Names a run by its workflow id. */
export const runReference = {
  workflowId: required(text('The workflow id of the run.')),
} as const

export const waitOptions = {
  key: stepIdentity.key,
  timeout: duration('Longest wait; the result is then `TIMEOUT`.'),
  until: option<Date | number>(
    'End of the wait, instead of `timeout`.',
    'a Date, or milliseconds since 1970',
    (value) => (value instanceof Date || typeof value === 'number') && Number.isFinite(Number(value)),
  ),
} as const
export const sleepOptions = { key: stepIdentity.key } as const
export const scopeOptions = {
  timeout: duration('Longest duration of the scope; it is then cancelled.'),
} as const
export const handlerOptions = {
  validate: fn<(payload: never) => void>('Rejects an update by throwing.'),
} as const
export const mapOptions = {
  concurrency: whole('How many items are processed at once.', [1, Number.MAX_SAFE_INTEGER], {
    otherwise: 'all of them',
  }),
  key: fn<(item: never) => string>('Identifies an item when the code is replayed.', {
    otherwise: 'its index',
  }),
  tolerate: given<number | string>(
    'How many items may fail, as a number or as a share of all items.',
    "a whole number, or a share such as '10%'",
  ),
} as const
