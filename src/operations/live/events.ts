// What the streams of live events send. The names of the events are those of server-sent events.
import type { HistoryEvent, RunRecord, Status, Why } from '../../core/index.ts'

/** A place in the history of a run: after this event of this generation. */
export interface Position {
  readonly generation: number
  readonly seq: number
}

/** Where a run stands. */
export interface LiveState {
  readonly status: Status
  readonly generation: number
  /** Messages that no worker has read yet. */
  readonly unread: number
  /** Why it makes no progress; absent if the history is long, or this process cannot read it. */
  readonly why?: Why
}

/** An event of the stream of one run. Those with an id are a position: a client can continue after them. */
export type LiveEvent =
  | { readonly event: 'history'; readonly id: string; readonly data: HistoryEvent }
  | { readonly event: 'state'; readonly id?: undefined; readonly data: LiveState }
  /** The events of these generations were forgotten before the client read all of them. */
  | {
      readonly event: 'gap'
      readonly id: string
      readonly data: { readonly from: number; readonly to: number }
    }
  /** The run has ended, and all its events were sent. */
  | { readonly event: 'end'; readonly id: string; readonly data: { readonly status: Status } & Position }

/** A run as the stream of a window shows it: without payloads. */
export type RunSummary = Omit<RunRecord, 'input' | 'output' | 'memo' | 'failure' | 'compensationFailures'> & {
  readonly failure?: { readonly type: string; readonly message: string; readonly code?: string }
}

/** An event of the stream of a window of runs. */
export type WindowEvent = { readonly id?: undefined } & (
  | { readonly event: 'reset' | 'caughtUp'; readonly data: Readonly<Record<string, never>> }
  | { readonly event: 'run'; readonly data: RunSummary }
  | { readonly event: 'left'; readonly data: { readonly runId: string } }
  | {
      readonly event: 'counts'
      readonly data: { readonly count: number; readonly byStatus: Readonly<Partial<Record<Status, number>>> }
    }
)

/** Events that are sent together. The next ones are read when the client has taken these. */
export type Batches<Event> = AsyncIterable<readonly Event[]>

const POSITION = /^(\d{1,9})\.(\d{1,15})$/

export function isPosition(text: unknown): boolean {
  return typeof text === 'string' && positionOf(text) !== undefined
}

/** `2.41`: after event 41 of generation 2. */
export function positionOf(text: string): Position | undefined {
  const [, generation, seq] = POSITION.exec(text) ?? []
  if (generation === undefined || Number(generation) < 1) return undefined
  return { generation: Number(generation), seq: Number(seq) }
}

export function idOf({ generation, seq }: Position): string {
  return `${generation}.${seq}`
}
