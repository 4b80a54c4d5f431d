// What a handle can do for users, and what it needs of its client.

import { type Described, duration, given, option, text, whole } from '../base/described.ts'
import type { Payload } from '../base/value.ts'
import type { Query, Signal, Update } from '../definitions/context.ts'
import type { Args } from '../definitions/contract.ts'
import type { Message, Stop } from '../kernel/message.ts'
import type { LoadAsk, Loaded, Posted, RunSnapshot, StoredTurn, Wakes } from '../stores/store.ts'
import type { HistoryEvent } from './history-event.ts'
import type { RunRecord } from './record.ts'
import type { Ended } from './results.ts'
import type { ForkOptions, RewindPorts } from './rewinding.ts'
import type { StepRecord } from './steps.ts'
import type { Timeline } from './timeline.ts'
import type { Waits } from './waits.ts'
import type { Why, WhyFacts } from './why.ts'

export const editOptions = {
  step: text('The step that counts as done: its key or its name.'),
  result: given<unknown>('What it gives.', 'anything that can be stored'),
  note: text('Why, for its history.'),
} as const
/** A step that is settled by hand. */
export interface Edit {
  readonly step: string
  readonly result: unknown
  readonly note: string
}

export const resetOptions = {
  step: text('The key of the step to go back to, or its name if there is one step of it.'),
} as const

export const forkOptions = {
  step: text('The key of the step to go on from, or its name if there is one step of it.'),
  input: given<unknown>('Another input for the workflow.', 'anything that can be stored'),
  results: option<Readonly<Record<string, unknown>>>(
    'Results of steps and children to go on with, by key or name, instead of those recorded.',
    'an object of results',
    isPlainObject,
  ),
} as const

export const migrationOptions = {
  definitionHash: text('The definition to go by.'),
  steps: option<Readonly<Record<string, string | null>>>(
    'What became of steps: their new names, or `null` for those that are not to be done.',
    'an object of names',
    isPlainObject,
  ),
} as const

export const historyOptions = {
  after: whole('Only what came after the event of this number.', [-1, Number.MAX_SAFE_INTEGER]),
  generation: whole('Another generation than the newest.', [1, Number.MAX_SAFE_INTEGER]),
} as const

export const messageOptions = {
  messageId: text('The same id is delivered once, however often it is sent.'),
} as const

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const resultOptions = {
  signal: given<AbortSignal>('Ends the wait, and not what is waited for.', 'an AbortSignal'),
  /** How long to wait; after that the call throws `NOT_ENDED`, with what `why` knows. For ever, if absent. */
  timeout: duration('How long to wait; then the call throws `NOT_ENDED`, with what `why` knows.', {
    otherwise: 'for ever',
  }),
} as const
/** How long to wait for an answer. */
export interface WaitOptions extends Described<typeof resultOptions> {}

/** A remote control for one run, whether it is in progress or has ended. */
export interface RunHandle<out Out> {
  readonly runId: string
  readonly workflowId: string
  /**
   * Waits for the end. Throws `RunError` or `CancelledError` if it is not a good one, and `NOT_ENDED`, with what `why`
   * knows, if there is none within `timeout`.
   */
  result(options?: WaitOptions): Promise<Out>
  describe(): Promise<RunRecord>
  /** Why the run is not moving, and what would move it. */
  why(): Promise<Why>
  /** What happened, from the beginning of its newest generation, or of another. */
  history(options?: Described<typeof historyOptions>): AsyncIterable<HistoryEvent>
  /** Every step of its newest generation, and where it stands; of a graph, also the steps that have not started. */
  steps(): Promise<readonly StepRecord[]>
  /** Its newest generation as rows with a beginning and an end, as `pawl run` draws them. */
  timeline(): Promise<Timeline>
  signal<Payload>(
    signal: Signal<Payload>,
    ...args: Args<NoInfer<Payload>, Described<typeof messageOptions>>
  ): Promise<void>
  /** Asks the code of the run, which must be known here. Writes nothing, and works on runs that have ended. */
  query<Payload, R>(query: Query<Payload, R>, ...args: Args<NoInfer<Payload>, never>): Promise<R>
  /** Has the run do something, and waits for its answer. */
  update<Payload, R>(
    update: Update<Payload, R>,
    ...args: Args<Payload, Described<typeof messageOptions> & WaitOptions>
  ): Promise<R>
  /** The answer to an update sent before; `undefined` while there is none. */
  updateResult<R>(
    update: Update<never, R>,
    messageId: string,
  ): Promise<{ readonly value: R } | undefined>
  /** Asks the run, and its children, to stop. The code sees a `CancelledError` at its next await. */
  cancel(reason?: string): Promise<void>
  /** Ends the run, and its children, where they are: their code is not asked, and no clean-up of theirs runs. */
  terminate(reason: string): Promise<void>
  /** Has the run rest once the steps under way have ended. Messages wait; time goes on. */
  pause(note?: string): Promise<void>
  /** Has a paused run go on; with an edit, as if the step had ended with this result. */
  resume(edit?: Edit): Promise<void>
  /**
   * Drops a message that no worker can read, and that therefore keeps the run from going on; `why` names it. What it
   * said is lost. A message that can be read is taken, not dropped.
   */
  discardMessage(messageId: string, note?: string): Promise<void>
  /** Lets a run begin that was started with `pending`; with another input, if one is given. */
  trigger(input?: unknown): Promise<void>
  /** Has a graph go by another definition: steps under their new names, or skipped. */
  migrate(to: Migration): Promise<void>
  /** Has a run that failed or was cancelled go on where it failed. Steps that are recorded do not run again. */
  retry(): Promise<void>
  /** Has the run go back to a step, and do it and all after it once more. */
  reset(to: { readonly step: string }): Promise<void>
  /** Another run with the past of this one up to a step, which stays as it is. */
  fork(from: ForkOptions): Promise<RunHandle<Out>>
}

/** What a start gives. */
export interface StartedRun<out Out> extends RunHandle<Out> {
  /** Whether it was this start that created the run; otherwise it was there before. */
  readonly isNew: boolean
  /** The run id of another run of the same workflow id that is in progress, as `reuse: 'allow'` lets it. */
  readonly alongside?: string
}

/** The definition to go by, and what became of steps: their new names, or `null` for those that are not to be done. */
export interface Migration {
  readonly definitionHash: string
  readonly steps?: Readonly<Record<string, string | null>>
}

/** What a handle needs of its client. @internal */
export interface HandleHost extends RewindPorts {
  load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]>
  post(runId: string, message: Message, wakes: Wakes): Promise<Posted>
  wait(runId: string, signal: AbortSignal): Promise<Ended>
  readonly waits: Waits
  queryRun(question: {
    readonly head: RunSnapshot['head']
    readonly turns: readonly StoredTurn[]
    readonly name: string
    readonly payload: Payload
  }): Promise<Payload>
  pause(ms: number, signal?: AbortSignal): Promise<void>
  /** Ends a run that nobody holds. */
  endUnclaimed(given: {
    readonly run: RunSnapshot
    readonly turns: readonly StoredTurn[]
    readonly stop: Stop
  }): Promise<unknown>
  /** What the store knows of a workflow, and what was said about builds. */
  known(name: string): Promise<Pick<WhyFacts, 'submitted' | 'rollOut'>>
}
