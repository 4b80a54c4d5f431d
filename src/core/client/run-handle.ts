// The interface of handles, their options, and what they need from their client.

import { type Described, duration, given, option, text, whole } from '../base/described.ts'
import type { Payload } from '../base/value.ts'
import type { Query, Signal, Update } from '../definitions/context.ts'
import type { Args } from '../definitions/contract.ts'
import type { Stream } from '../definitions/stream.ts'
import type { Message, Stop } from '../kernel/message.ts'
import type { LoadAsk, Loaded, Posted, RunSnapshot, StoredTurn, Wakes } from '../stores/store.ts'
import type { HistoryEvent } from './public-history.ts'
import type { Ended } from './results.ts'
import type { ForkOptions, RewindPorts } from './rewinding.ts'
import type { RunRecord } from './run-record.ts'
import type { StepRecord } from './steps.ts'
import type { StreamWatch } from './stream-watch.ts'
import type { StreamItem, StreamOptions, StreamRecord } from './streams.ts'
import type { Timeline } from './timeline.ts'
import { tracing } from './tracing.ts'
import type { Waits } from './waits.ts'
import type { Why, WhyFacts } from './why.ts'

export const editOptions = {
  step: text('The step to complete: its key or its name.'),
  result: given<unknown>('The result of the step.', 'anything that can be stored'),
  note: text('The reason, for the history.'),
} as const
/** Completes a step by hand. */
export interface Edit {
  /** The key or the name of the step. */
  readonly step: string
  /** The result of the step. */
  readonly result: unknown
  /** The reason, for the history. */
  readonly note: string
}

export const resetOptions = {
  step: text('The key of the step to reset to, or its name if only one step has it.'),
} as const

export const forkOptions = {
  step: text('The key of the step to continue from, or its name if only one step has it.'),
  input: given<unknown>('Another input for the workflow.', 'anything that can be stored'),
  results: option<Readonly<Record<string, unknown>>>(
    'Results of steps and children that replace the recorded ones, by key or name.',
    'an object of results',
    isPlainObject,
  ),
} as const

export const migrationOptions = {
  definitionHash: text('The definition to use.'),
  steps: option<Readonly<Record<string, string | null>>>(
    'New names of steps by their old names; `null` skips a step.',
    'an object of names',
    isPlainObject,
  ),
} as const

export const historyOptions = {
  /** Only events after the one with this number. Default: all. */
  after: whole('Only events after the one with this number.', [-1, Number.MAX_SAFE_INTEGER]),
  /** Only events before the one with this number. Default: all. */
  before: whole('Only events before the one with this number.', [0, Number.MAX_SAFE_INTEGER]),
  /** Begin so many events before the end, or before `before`. Default: at the beginning. */
  last: whole('Begin so many events before the end, or before `before`.', [1, Number.MAX_SAFE_INTEGER], {
    otherwise: 'at the beginning',
  }),
  /** The generation to read. Default: the current one. */
  generation: whole('The generation to read.', [1, Number.MAX_SAFE_INTEGER], {
    otherwise: 'the current one',
  }),
  /** Only events of the step with this key. Default: all. */
  step: text('Only events of the step with this key.'),
  /** Only events of this type. Default: all. */
  type: text('Only events of this type.'),
} as const

export const viewOptions = {
  /** The generation to show. Default: the current one. */
  generation: whole('The generation to show.', [1, Number.MAX_SAFE_INTEGER], {
    otherwise: 'the current one',
  }),
  /** Show the generation as it was after the event with this number. Default: as it is. */
  at: whole('Show the generation as it was after the event with this number.', [0, Number.MAX_SAFE_INTEGER], {
    otherwise: 'as it is',
  }),
} as const

export const stepsOptions = {
  ...viewOptions,
  /** The items of this list step of a graph, instead of the steps. Default: the steps. */
  list: text('The name of a list step of a graph: list its items instead of the steps.'),
} as const

export const messageOptions = {
  /** Messages with the same id are delivered once. Default: a new id for each call. */
  messageId: text('Messages with the same id are delivered once.', { otherwise: 'a new id' }),
  ...tracing,
} as const

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const resultOptions = {
  /** Aborts the wait, but not the run. */
  signal: given<AbortSignal>('Aborts the wait, but not the run.', 'an AbortSignal'),
  /** Longest wait; the call then throws `NOT_ENDED` with the result of `why`. Default: no limit. */
  timeout: duration('Longest wait; the call then throws `NOT_ENDED` with the result of `why`.', {
    otherwise: 'no limit',
  }),
} as const
/** Options of calls that wait for a run. */
export interface WaitOptions extends Described<typeof resultOptions> {}

/** A handle to one run, whether it is in progress or has ended. */
export interface RunHandle<out Out> {
  readonly runId: string
  readonly workflowId: string
  /**
   * Waits for the run to end and returns its output. Throws `RunError` if it failed, `CancelledError` if it was
   * cancelled, and `NOT_ENDED` if it has not ended within `timeout`.
   */
  result(options?: WaitOptions): Promise<Out>
  /** The run as the store has it: its status, input, output, attributes and more. */
  describe(): Promise<RunRecord>
  /** Why the run makes no progress, and what would let it continue. */
  why(): Promise<Why>
  /** The events of the current generation, or of another. */
  history(options?: Described<typeof historyOptions>): AsyncIterable<HistoryEvent>
  /**
   * Every step of a generation, and where it stands, now or after an event; of a graph, also the steps that have not
   * started.
   */
  steps(options?: Described<typeof stepsOptions>): Promise<readonly StepRecord[]>
  /** A generation as rows with a beginning and an end, now or after an event, as `pawl run` draws them. */
  timeline(options?: Described<typeof viewOptions>): Promise<Timeline>
  /**
   * Reads a stream from an offset, live: it yields what is there, waits for more, and ends when the stream is closed or
   * the run has ended. Every item is yielded, also those that a later part makes void: see `part.keep`.
   */
  stream<Chunk>(stream: Stream<Chunk>, options?: StreamOptions): AsyncIterable<StreamItem<Chunk>>
  /** The items that a stream has now, without those that later attempts have made void. */
  streamed<Chunk>(stream: Stream<Chunk>): Promise<readonly Chunk[]>
  /** The streams that the run has written to, by name. */
  streams(): Promise<readonly StreamRecord[]>
  /** Sends a signal. Resolves when it is durable; the run may handle it later. */
  signal<Payload>(
    signal: Signal<Payload>,
    ...args: Args<NoInfer<Payload>, Described<typeof messageOptions>>
  ): Promise<void>
  /**
   * Asks the run a question. This process replays the run to answer, so it needs the code of the workflow. Writes
   * nothing, and works for runs that have ended.
   */
  query<Payload, R>(query: Query<Payload, R>, ...args: Args<NoInfer<Payload>, never>): Promise<R>
  /** Sends an update and waits for its answer. */
  update<Payload, R>(
    update: Update<Payload, R>,
    ...args: Args<Payload, Described<typeof messageOptions> & WaitOptions>
  ): Promise<R>
  /** The answer to an update that was sent before; `undefined` while there is none. */
  updateResult<R>(update: Update<never, R>, messageId: string): Promise<{ readonly value: R } | undefined>
  /** Asks the run and its children to stop. Their code gets a `CancelledError` at its next durable call. */
  cancel(reason?: string): Promise<void>
  /** Ends the run and its children at once, without running their code: no clean-up and no compensation. */
  terminate(reason: string): Promise<void>
  /** Pauses the run after its running steps finish. Messages wait in the inbox; timers keep counting. */
  pause(note?: string): Promise<void>
  /** Resumes a paused run. With an edit, a step completes with the given result first. */
  resume(edit?: Edit): Promise<void>
  /**
   * Discards a message that no worker can read and that therefore pauses the run; `why` names it. Its payload is lost.
   * A message that a worker can read is delivered, not discarded.
   */
  discardMessage(messageId: string, note?: string): Promise<void>
  /** Starts a run that was created with `pending`, with another input if one is given. */
  trigger(input?: unknown): Promise<void>
  /** Moves the run of a graph to another definition, with steps renamed or skipped. */
  migrate(to: Migration): Promise<void>
  /** Retries a failed or cancelled run from where it failed. Recorded steps do not run again. */
  retry(): Promise<void>
  /** Resets the run to a step: it and everything after it runs again. */
  reset(to: { readonly step: string }): Promise<void>
  /** Creates a new run with the history of this one up to a step. This run does not change. */
  fork(from: ForkOptions): Promise<RunHandle<Out>>
}

/** The handle that a start returns. */
export interface StartedRun<out Out> extends RunHandle<Out> {
  /** True if this call created the run; false if it existed before. */
  readonly isNew: boolean
  /** The id of another run in progress with the same workflow id, which `reuse: 'allow'` permits. */
  readonly alongside?: string
}

/** The definition that a run moves to, and its renamed or skipped steps. */
export interface Migration {
  /** The `definitionHash` of the new definition. */
  readonly definitionHash: string
  /** New names of steps by their old names; `null` skips a step. */
  readonly steps?: Readonly<Record<string, string | null>>
}

/** What a handle needs from its client. @internal */
export interface HandleHost extends RewindPorts {
  load(asks: readonly LoadAsk[]): Promise<readonly Loaded[]>
  post(runId: string, message: Message, wakes: Wakes): Promise<Posted>
  wait(runId: string, signal: AbortSignal): Promise<Ended>
  readonly waits: Waits
  readonly streams: StreamWatch
  queryRun(question: {
    readonly head: RunSnapshot['head']
    readonly turns: readonly StoredTurn[]
    readonly name: string
    readonly payload: Payload
  }): Promise<Payload>
  pause(ms: number, signal?: AbortSignal): Promise<void>
  /** Ends a run that no worker holds. */
  endUnclaimed(given: {
    readonly run: RunSnapshot
    readonly turns: readonly StoredTurn[]
    readonly stop: Stop
  }): Promise<unknown>
  /** Whether the store has a definition of this name, and the roll-out. */
  known(name: string): Promise<Pick<WhyFacts, 'submitted' | 'rollOut'>>
}
