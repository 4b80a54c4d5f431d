// What of a held run can be begun, when something is due, and whether anything must be written first.

import type { Instant } from '../base/instant.ts'
import { limits } from '../base/limits.ts'
import { deadlineOf } from '../kernel/deadline.ts'
import type { Execution, StepPlan } from '../kernel/decider.ts'
import { taskId } from '../kernel/derived-ids.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { OpenStep } from '../kernel/requests.ts'
import type { Head, RunState } from '../kernel/run.ts'
import type { LocalResult, Turn } from '../kernel/turn.ts'
import type { RunHost } from './host.ts'
import { interrupted, isSpent, type LocalSteps } from './local-steps.ts'

/** A step that is running is not due, whatever its last retry said; nor is one today's code does not ask for. */
export function nextDue(
  head: Head,
  state: RunState,
  steps: LocalSteps,
  execution: Execution,
): Instant | undefined {
  const due = state.requests.wakeAt((key) => !steps.has(key) && execution.step(key) !== undefined)
  const deadline = deadlineOf(head, state, head.createdAt)?.at
  return deadline === undefined || (due !== undefined && due < deadline) ? due : deadline
}

export function isLate(head: Head, state: RunState, now: Instant): boolean {
  return (deadlineOf(head, state, now)?.at ?? now + 1) <= now
}

/** Keys of queued steps that should have been begun by now, if there are any: hardly ever. */
export function overdueSteps(state: RunState, now: Instant): readonly string[] | undefined {
  let overdue: string[] | undefined
  for (const [key, open] of state.requests.timed()) {
    if (open.type !== 'step' || open.startBy === undefined || open.startBy > now) continue
    overdue ??= []
    overdue.push(key)
  }
  return overdue
}

/** Those of them that somebody has begun with. */
export async function begunOf(
  host: RunHost,
  head: Head,
  overdue: readonly string[],
): Promise<ReadonlySet<string>> {
  // A task that is gone was begun and has ended: its result is on its way.
  const waiting = await host.waitingTasks(head.runId)
  return new Set(overdue.filter((key) => !waiting.has(taskId(head, key))))
}

/** A run as its holder sees it. */
interface Held {
  readonly host: RunHost
  readonly head: Head
  readonly state: RunState
  readonly steps: LocalSteps
  readonly execution: Execution
}

/**
 * Steps that are open, not running, not queued and not waiting for a retry. Those for another worker go to the task queue
 * with this turn, whether an attempt failed here or where more was served than here.
 */
export function readyHere(turn: Turn, now: Instant, held: Held): [string, OpenStep][] {
  const { state, steps, execution } = held
  const [here, elsewhere]: [[string, OpenStep][], string[]] = [[], []]
  for (const [key, open] of state.open) {
    if (open.type !== 'step' || open.queued || steps.has(key)) continue
    const plan = execution.step(key)
    if (!plan || (open.retryAt ?? 0) > now) continue
    // What was cancelled and runs nowhere, or has no attempt left, is over, wherever it was to run.
    if (open.stopping || isSpent(open, plan) || isServed(open, plan, held)) here.push([key, open])
    else elsewhere.push(key)
  }
  turn.queue(elsewhere)
  return here
}

/** Steps in the code of a workflow run wherever that does. */
function isServed({ kind, name }: OpenStep, plan: StepPlan, { host, head }: Held): boolean {
  return kind !== 'activity' || host.serves(name, plan, head)
}

/** What follows from history alone, by whatever code reads it next. */
const DECIDED_AGAIN: ReadonlySet<string> = new Set(['DefinitionTaken', 'StepSkipped', 'ListTaken'])

/**
 * Nothing needs to be durable yet if dying now would lose only that steps were begun, which history alone leads to
 * again; unless one of them must not be begun twice, or it has been so for a while and people may ask.
 */
export function mayWait(
  carried: readonly HistoryEvent[],
  turn: Turn,
  execution: Execution,
  now: Instant,
): boolean {
  if (carried.length === 0 && turn.consumed.length === 0) return true
  if (!turn.derivable || execution.readClock) return false
  if (turn.consumed.length > 0 || turn.outgoing.length > 0) return false
  if (now - (carried[0]?.at ?? now) >= limits.carryMsMax) return false
  return carried.every(
    (event) =>
      DECIDED_AGAIN.has(event.type) ||
      (event.type === 'StepStarted' &&
        !event.queued &&
        (execution.step(event.key)?.retry.maxAttempts ?? 1) > 1),
  )
}

/**
 * Steps that may have been under way when earlier holders died, as attempts that failed. One that must not run twice
 * is never begun unrecorded, so it counts only if it was recorded before this turn.
 */
export function interruptedSteps(
  state: RunState,
  turn: Turn,
  execution: Execution,
  deaths: number,
  now: Instant,
): LocalResult[] {
  const asked = new Set(turn.steps.map(({ key }) => key))
  return [...state.open].flatMap(([key, step]) => {
    // What the task queue has is counted there; what goes to it only now may have been begun by a holder that served it.
    if (step.type !== 'step' || (step.queued && !asked.has(key))) return []
    // What was left to be completed from outside runs nowhere.
    if (step.left && (step.retryAt ?? 0) > now) return []
    const plan = execution.step(key)
    if (!plan || (asked.has(key) && plan.retry.maxAttempts === 1)) return []
    const attempt = Math.min(step.failed + deaths, plan.retry.maxAttempts)
    return [interrupted(key, step, plan, attempt, 'the worker died or lost its lease', now)]
  })
}

/** Stops steps that nobody waits for since this turn. Its events name them, unless it was cancelled: then it is all that is not shielded. */
export function letGo({ events }: Turn, state: RunState, steps: LocalSteps): void {
  const isCancelled = events.some(({ type }) => type === 'CancelRequested')
  const keys = isCancelled ? steps.keys : events.flatMap(keysIn)
  const reason = state.cancelled ? 'the run was cancelled' : 'the run no longer waits for it'
  steps.stop(
    reason,
    keys.filter((key) => !state.open.has(key)),
  )
  for (const key of keys) if (isStopping(state, key)) steps.cancel(key, reason)
}

/** Queued steps that were cancelled and whose end the code waits for, but for those in `told`. */
export function cancelledTasks(state: RunState, told: ReadonlySet<string>): string[] {
  if (!state.requests.hasStopped) return []
  return [...state.open].flatMap(([key, open]) =>
    open.type === 'step' && open.stopping && open.queued && !told.has(key) ? [key] : [],
  )
}

function isStopping(state: RunState, key: string): boolean {
  const open = state.open.get(key)
  return open?.type === 'step' && open.stopping === true
}

function keysIn(event: HistoryEvent): readonly string[] {
  if (event.type === 'CalledOff') return event.keys
  return 'key' in event ? [event.key] : []
}
