import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/instant.ts'
import type { Receiver, SendMessage } from '../kernel/command.ts'
import type { Decider, Execution, StepPlan, World } from '../kernel/decider.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import type { OpenStep } from '../kernel/requests.ts'
import type { Head } from '../kernel/run.ts'
import type { Committed, HistoryPage, StoredHead, TurnCommit } from '../stores/store.ts'
import type { RunningStep } from './local-steps.ts'
import type { WarmRun } from './warm.ts'

/** What a held run needs of its worker. */
export interface RunHost extends World {
  readonly build: string
  readonly alwaysReplay: boolean
  /** A run that leaves something undone when it completes has failed. */
  readonly strict: boolean
  now(): Instant
  after(ms: number, fire: () => void): () => void
  turnId(): number
  /** Who decides for a run that stands where these events left it. */
  decider(head: Head, events: readonly HistoryEvent[]): Promise<Decider | undefined>
  /** The build that a run begun here is pinned to, if it is. */
  pinOf(head: Head): string | undefined
  history(head: Pick<StoredHead, 'runId' | 'generation'>, after: number): Promise<HistoryPage>
  /** The run that a message goes to, if there is one: the newest of a workflow id. */
  receiver(to: SendMessage['to']): Promise<Receiver | undefined>
  /** Ids of tasks of the run that nobody has begun with. */
  waitingTasks(runId: string): Promise<ReadonlySet<string>>
  /**
   * Tells the workers that have these queued steps that they were cancelled. Answers with those that no worker has; each
   * of the others ends by an answer.
   */
  cancelTasks(head: Head, keys: readonly string[]): Promise<readonly string[]>
  commit(turn: TurnCommit): Promise<Committed>
  /** Whether this worker may run an activity: it has its code, and serves its queue. */
  serves(activity: string, plan: StepPlan, head: Head): boolean
  /** Whether a body could begin at once. */
  hasRoom(): boolean
  /** Runs a step body when a slot is free, and says how it ended. Nothing begins once the session is dead. */
  begin(
    head: Head,
    key: string,
    step: OpenStep,
    plan: StepPlan,
    attempt: number,
    /** Resolves when the step is recorded. */
    recorded: () => Promise<void>,
  ): RunningStep | undefined
  announce(head: Head, events: readonly HistoryEvent[]): void
  paused(head: Head, failure: Failure): void
  /** It waits for something, and nobody holds it. */
  suspended(head: Head): void
  log(head: Head, execution: Execution): void
  /** Tells people something about the run that they should know. */
  warn(head: Head, message: string): void
}

/** How a worker came to let go of a run. */
export type HeldOutcome =
  | { readonly type: 'ended'; readonly body: string }
  | { readonly type: 'released'; readonly warm?: WarmRun; readonly wakeAt?: Instant }
  /** `began` says that step bodies were begun and cut off. */
  | { readonly type: 'lost'; readonly began: boolean }

/** What this worker did under the same lease before it was given to it once more. */
export interface Again {
  /** The lease was granted before, and the run may have been worked on since. */
  readonly isOld: boolean
  /** How often bodies were begun under it and cut off. */
  readonly cutOff: number
}
