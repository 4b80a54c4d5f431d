// What the operations on a run promise (docs/operations/operating-runs.md), as a function of what was asked and answered. It knows
// nothing of stores and workers. Two operations whose times overlap may have come in either order.
import type { HistoryEvent } from '../../src/index.ts'
import { isRight, type Plan, waitsOf } from './plan.ts'

export const operations = [
  'pause',
  'resume',
  'cancel',
  'terminate',
  'retry',
  'reset',
  'signal',
  'trigger',
  /** Not an operation: a caller has seen that the run ended. */
  'seen ended',
] as const
export type Operation = (typeof operations)[number]

/** An operation that was asked for and answered. The numbers count everything that clients did. */
export interface Answered {
  readonly operation: Operation
  readonly invoked: number
  readonly answered: number
  /** 'done', or the code it was refused with. */
  readonly outcome: string
  readonly signal?: string
}

/** How the run is found when nothing happens any more. */
export interface Found {
  readonly status: string
  readonly failure?: string
  readonly output?: unknown
  readonly generations: readonly (readonly HistoryEvent[])[]
}

const refusals: Record<Operation, readonly string[]> = {
  pause: ['RUN_ENDED'],
  resume: ['RUN_ENDED'],
  cancel: [],
  terminate: [],
  retry: ['RUN_NOT_AT_REST', 'RUN_ENDED', 'RUN_ALREADY_EXISTS'],
  // A step that was not begun is no step to go back to.
  reset: ['RUN_NOT_AT_REST', 'RUN_ENDED', 'RUN_ALREADY_EXISTS', 'INPUT_INVALID'],
  signal: ['RUN_ENDED'],
  // As long as no worker has taken the first, nobody can say whether a second is the same.
  trigger: ['RUN_ENDED', 'TRY_LATER'],
  'seen ended': [],
}

export class Model {
  readonly #plan: Plan
  readonly #all: readonly Answered[]
  readonly #done: readonly Answered[]

  constructor(plan: Plan, answered: readonly Answered[]) {
    this.#plan = plan
    this.#all = answered
    this.#done = answered.filter(({ outcome }) => outcome === 'done')
  }

  /** Where the run may have come to rest. One of these must be the case. */
  get rests(): ReadonlySet<string> {
    const rests = new Set<string>()
    for (const end of this.#ends) rests.add(end)
    if (this.#mustBeStopped) return rests
    if (this.#mayBePaused) rests.add('paused')
    // A run that was not triggered has nothing to pause.
    if (!this.#isTriggered) rests.add('pending')
    else if (!this.#isPaused && !this.#mayComplete) rests.add('waiting')
    return rests
  }

  check(found: Found): string[] {
    const at = restOf(found)
    const rests = this.rests
    return [
      ...(rests.has(at) ? [] : [`the run is ${at}, and not ${[...rests].join(' or ')}`]),
      ...this.#checkRefusals(found),
      ...this.#checkSignals(found),
      ...this.#checkResult(found),
      ...found.generations.flatMap(checkStopped),
    ]
  }

  get #ends(): string[] {
    const stopped = this.#kinds(['cancel', 'terminate']).map(({ operation }) =>
      operation === 'cancel' ? 'cancelled' : 'terminated',
    )
    return [
      ...(this.#mayBeStopped ? stopped : []),
      ...(this.#mayComplete ? ['completed'] : []),
      ...(this.#mayFail ? ['failed'] : []),
    ]
  }

  get #mayComplete(): boolean {
    return this.#isTriggered && missing(this.#plan, this.#all) === 0
  }

  get #mayFail(): boolean {
    const { parts, start } = this.#plan
    const failing = parts.indexOf('fail')
    const before = { start, parts: parts.slice(0, failing) }
    return failing >= 0 && this.#isTriggered && missing(before, this.#all) === 0
  }

  /** Whether no stop is left that could still count. */
  get #mayBeStopped(): boolean {
    const stops = this.#kinds(['cancel', 'terminate'])
    const seen = this.#kinds(['seen ended'])
    return !this.#kinds(['retry', 'reset']).some((again) =>
      seen.some((each) => isBefore(each, again) && stops.every((stop) => isBefore(stop, each))),
    )
  }

  get #mustBeStopped(): boolean {
    const again = this.#kinds(['retry', 'reset'])
    return this.#kinds(['cancel', 'terminate']).some((stop) => again.every((each) => isBefore(each, stop)))
  }

  get #mayBePaused(): boolean {
    const pauses = this.#kinds(['pause'])
    const resumed = this.#resumes.some((each) => pauses.every((pause) => isBefore(pause, each)))
    return pauses.length > 0 && !resumed
  }

  /** A pause that came after everything that could have ended it. */
  get #isPaused(): boolean {
    return this.#kinds(['pause']).some((pause) => this.#resumes.every((each) => isBefore(each, pause)))
  }

  get #resumes(): readonly Answered[] {
    return this.#kinds(['resume', 'retry', 'reset'])
  }

  get #isTriggered(): boolean {
    return this.#plan.start !== 'pending' || this.#kinds(['trigger']).length > 0
  }

  get #signals(): ReadonlySet<string> {
    return new Set(this.#done.flatMap(({ signal }) => signal ?? []))
  }

  #kinds(kinds: readonly Operation[]): readonly Answered[] {
    return this.#done.filter(({ operation }) => kinds.includes(operation))
  }

  #checkRefusals({ generations, status }: Found): string[] {
    const everEnded = generations.length > 1 || ['completed', 'failed', 'cancelled'].includes(status)
    return this.#all.flatMap(({ operation, outcome }) => {
      if (outcome === 'done') return []
      if (!refusals[operation].includes(outcome)) return [`${operation} was refused with ${outcome}`]
      const claimsEnd = outcome === 'RUN_ENDED'
      return claimsEnd && !everEnded ? [`${operation} was told that the run has ended`] : []
    })
  }

  /** Every acknowledged signal is in the history once, and one that was refused is not. */
  #checkSignals({ generations, status }: Found): string[] {
    // What a run that rests has not taken yet waits in its inbox.
    if (status === 'pending' || status === 'paused') return []
    const times = (events: readonly HistoryEvent[], id: string): number =>
      events.filter((event) => event.type === 'SignalReceived' && event.messageId === `signal:${id}`).length
    const sent = new Map<string, boolean>()
    for (const { signal, outcome } of this.#all)
      if (signal !== undefined) sent.set(signal, (sent.get(signal) ?? false) || outcome === 'done')
    return [...sent].flatMap(([id, acknowledged]) => {
      const counts = generations.map((events) => times(events, id))
      const most = Math.max(...counts)
      if (acknowledged && most === 1) return []
      if (!acknowledged && most === 0) return []
      const what = acknowledged ? 'acknowledged' : 'refused'
      return [`signal ${id}, ${what}, is ${counts.join(', ')} times in the generations`]
    })
  }

  #checkResult({ status, output }: Found): string[] {
    if (status !== 'completed' || isRight(this.#plan, output, this.#signals)) return []
    return [`the run of ${this.#plan.parts.join()} gave ${JSON.stringify(output)}`]
  }
}

export function restOf({ status, failure }: Found): string {
  if (status === 'failed' && failure === 'Terminated') return 'terminated'
  return status === 'running' ? 'waiting' : status
}

/** How many signals are missing for the run to end. */
export function missing(plan: Plan, answered: readonly Answered[]): number {
  const heard = answered.flatMap(({ signal, outcome }) => (outcome === 'done' ? (signal ?? []) : []))
  return Math.max(0, waitsOf(plan) - new Set(heard).size)
}

/** After a cancellation the code asks for nothing more, and this generation ends; the next is cancelled, too. */
function checkStopped(events: readonly HistoryEvent[]): string[] {
  const cancelled = events.findIndex(({ type }) => type === 'CancelRequested')
  if (cancelled < 0) return []
  const after = events.slice(cancelled + 1)
  const asked = after.filter(({ type }) => type.endsWith('Started'))
  const ends = after.find(({ type }) => /^Run(?:Completed|Failed|Cancelled|Continued)$/.test(type))
  return [
    ...asked.map(({ type }) => `${type} after the run was cancelled`),
    ...(ends ? [] : ['a run that was cancelled has not ended']),
  ]
}

function isBefore(one: Answered, other: Answered): boolean {
  return one.answered < other.invoked
}
