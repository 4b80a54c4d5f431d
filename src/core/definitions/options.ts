// Options are data: no closure decides a queue, a limit or a delay, because a client or a worker in
// another language must reach the same decision.
import {
  amount,
  choice,
  type Described,
  duration,
  either,
  flag,
  fn,
  given,
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
import { isUnlimited } from '../policies/retry.ts'
import { type Attributes, isNamed } from './attributes.ts'

const types = (about: string): Option<readonly string[]> => strings(about, 'a list of strings')

export const retryPolicy = {
  /** How often it is tried in all, the first time included; `Infinity` is without end. 5 */
  maxAttempts: option<number>(
    'How often it is tried in all, the first time included.',
    `a whole number from 1 to ${spelled(limits.retryAttemptsMax)}, or Infinity`,
    (value) => isUnlimited(value) || isWhole(value, 1, limits.retryAttemptsMax),
    { otherwise: '5' },
  ),
  /** How long to wait after the first failure. 1s */
  initial: duration('How long to wait after the first failure.', { otherwise: '1s' }),
  /** The longest wait between two attempts. 60s */
  max: duration('The longest wait between two attempts.', { otherwise: '60s' }),
  /** Back-off multiplier: each wait is this many times the one before. 2 */
  factor: amount('Back-off multiplier: each wait is this many times the one before.', [1, 1_000], {
    otherwise: '2',
  }),
  /** 0.1: each wait is up to a tenth longer or shorter. */
  jitter: amount('How much longer or shorter each wait may be, as a share of it.', [0, 1], {
    otherwise: '0.1',
  }),
  /** Failure types that are not tried again; '*' is all of them. */
  nonRetryable: types("Failure types that are not tried again; `'*'` is all of them."),
  /** Failure types that are tried again although they look like mistakes in the code; '*' is all of them. */
  retryable: types(
    "Failure types that are tried again although they look like mistakes in the code: `TypeError`, `ReferenceError` and `SyntaxError` without a cause are not otherwise. `'*'` is all of them.",
  ),
} as const
/** When a step that failed is tried again, and how often. */
export interface RetryPolicy extends Described<typeof retryPolicy> {}

const presets = ['none', 'exponential', 'quadraticMinutes'] as const
const WHEN_TO_RETRY = 'When a failed attempt is tried again.'
const retry = either(choice(WHEN_TO_RETRY, presets), nested(WHEN_TO_RETRY, retryPolicy), {
  otherwise: "'exponential'",
})
/** A rule for retries, or the name of one. */
export type Retry = RetryPolicy | (typeof presets)[number]

/** A step met for the first time although recorded steps lie ahead: an insertion, or a rename? */
export type IfPast = 'pause' | 'run'

const ifPast = choice<IfPast>(
  'A step met for the first time although recorded steps lie ahead: pause the run, or run the step.',
  ['pause', 'run'],
  { otherwise: "'pause'" },
)

/** A step is known by its kind, name and occurrence. `key` replaces name and occurrence; `was` is its name in older code. */
export const stepIdentity = {
  /** Replaces its name and occurrence, as what it is known by. */
  key: text('Replaces its name and occurrence, as what it is known by.'),
  /** Its name in older code. */
  was: text('Its name in older code.'),
  /** 'pause' */
  ifPast,
} as const
/** How a step is recognised when the code runs again. */
export interface StepIdentity extends Described<typeof stepIdentity> {}

export const placement = {
  /** 'default' */
  queue: named('The queue it waits in.', 'the name of a queue', { otherwise: "'default'" }),
  /** 0; higher runs first. */
  priority: whole('Higher runs first.', [-1_000, 1_000], { otherwise: '0' }),
} as const
export interface Placement extends Described<typeof placement> {}

const startToClose = duration('How long one attempt may take.')

export const activityOptions = {
  ...placement,
  retry,
  /** How long one attempt may take. */
  startToClose,
  /** How long it may stand in a queue before anybody begins with it. It is not tried again then. */
  scheduleToStart: duration(
    'How long it may wait in a queue before a worker begins with it. It is not tried again then.',
  ),
  /** How long it may take in all, with every attempt and every pause between them. */
  scheduleToClose: duration('How long it may take in all, with every attempt and every back-off.'),
  /** How long an attempt may go without `ctx.heartbeat()`. */
  heartbeat: duration('How long an attempt may go without `ctx.heartbeat()`.'),
} as const
/** How an activity is done, wherever it is called. */
export interface ActivityOptions extends Omit<Described<typeof activityOptions>, 'retry'> {
  readonly retry?: Retry
}

const timeouts = {
  /** How long a run may take; it begins anew with each continue-as-new. */
  runTimeout: duration('How long a run may take; it begins anew with each continue-as-new.'),
  /** How long a run may take with all that it continues as. */
  executionTimeout: duration('How long a run may take with all that it continues as.'),
} as const

export const workflowOptions = {
  ...placement,
  /** 'pause' */
  ifPast,
  ...timeouts,
  /** Whether a run stays with the build that began it. What the worker's `pin` says */
  pin: flag('Whether a run stays with the build that began it.', {
    otherwise: "the worker's `pin`",
  }),
} as const
/** What holds for every run of a workflow. */
export interface WorkflowOptions extends Described<typeof workflowOptions> {}

/** What the code does when its step or child is cancelled. */
const onCancel = choice<'proceed' | 'wait'>(
  'When it is cancelled: go on at once, or wait until its body, or the child, has ended.',
  ['proceed', 'wait'],
  { otherwise: "'proceed'" },
)

export const stepOptions = { ...stepIdentity, retry, startToClose, onCancel } as const
/** How an inline step is done. */
export interface StepOptions extends Omit<Described<typeof stepOptions>, 'retry'> {
  readonly retry?: Retry
}

export const runOptions = { ...activityOptions, ...stepIdentity, onCancel } as const
/** How this call of an activity is done. */
export interface RunOptions extends ActivityOptions, StepIdentity {
  readonly onCancel?: 'proceed' | 'wait'
}

/** What a run is found by, and what is kept with it. */
export const aboutRun = {
  attributes: option<Attributes>('What the run is found by.', 'an object of attributes', isNamed),
  /** Kept with it, readable and never searched. */
  memo: given<Readonly<Record<string, unknown>>>(
    'Kept with the run: readable, never searched.',
    'an object',
  ),
  ...timeouts,
} as const

export const childOptions = {
  ...placement,
  ...stepIdentity,
  workflowId: text('A name of your own for the child.', { otherwise: 'its run id' }),
  /** What becomes of the child when its parent ends first. 'cancel' */
  parentClose: choice(
    'What becomes of the child when its parent ends first.',
    ['cancel', 'terminate', 'abandon'],
    { otherwise: "'cancel'" },
  ),
  onCancel,
  ...aboutRun,
} as const
/** How a child is started. */
export interface ChildOptions extends Described<typeof childOptions> {}

/** Of `ctx.start`: nobody waits for what it starts. */
const { parentClose: _, ...detachedOptions } = childOptions

export { detachedOptions }
export const signalWithStartOptions = {
  ...detachedOptions,
  signal: required(
    option<object>(
      'What it is sent.',
      'a signal',
      (value) => (value as { is?: unknown } | null)?.is === 'signal',
    ),
  ),
  input: given<unknown>('What it is started with.', 'the input of the workflow'),
  payload: given<unknown>('What it is told.', 'the payload of the signal'),
} as const

/** Names a run by what the user called it. */
export const runReference = {
  workflowId: required(text('The name that the run was given.')),
} as const

/** Of the calls of `ctx` that are not steps. */
export const waitOptions = {
  key: stepIdentity.key,
  timeout: duration('How long to wait at most; `TIMEOUT` comes then.'),
  until: option<Date | number>(
    'Until when to wait at most, instead of `timeout`.',
    'a Date, or milliseconds since 1970',
    (value) =>
      (value instanceof Date || typeof value === 'number') && Number.isFinite(Number(value)),
  ),
} as const
export const sleepOptions = { key: stepIdentity.key } as const
export const scopeOptions = {
  timeout: duration('How long everything in it may take; it is cancelled then.'),
} as const
export const handlerOptions = {
  validate: fn<(payload: never) => void>('Refuses a message by throwing.'),
} as const
export const mapOptions = {
  concurrency: whole('Items at once.', [1, Number.MAX_SAFE_INTEGER], { otherwise: 'all of them' }),
  key: fn<(item: never) => string>('What an item is known by when the code runs again.', {
    otherwise: 'its index',
  }),
  tolerate: given<number | string>(
    'How many items may fail, as a number or as a share of them.',
    "a whole number, or a share such as '10%'",
  ),
} as const
