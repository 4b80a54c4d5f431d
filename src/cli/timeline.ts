// A run's history as rows with a beginning and an end: steps, timers, waits, children. Events are matched as the
// kernel matches them: by key, and a signal with the oldest wait for its name.
import type { HistoryEntry } from '../client/record.ts'
import type { Event, StepKind } from '../kernel/event.ts'
import type { Failure } from '../kernel/failure.ts'
import { isShielded } from '../kernel/key.ts'

export interface Row {
  readonly kind: StepKind | 'sleep' | 'signal' | 'update' | 'child' | 'cancel'
  readonly name: string
  readonly key?: string
  readonly from: number
  to?: number
  /** Attempts that are known of, the one under way not counted. */
  attempts: number
  readonly retries: Retried[]
  /** Its attempts were made from the task queue, which keeps their failures to itself. */
  readonly queued?: true
  outcome: 'open' | 'done' | 'failed' | 'timeout' | 'calledOff'
  failure?: Failure
  /** The run id of a child, or why a run was cancelled. */
  readonly note?: string
}

export interface Retried {
  readonly at: number
  readonly attempt: number
  readonly failure: Failure
}

export interface Timeline {
  readonly from: number
  readonly to: number
  readonly rows: readonly Row[]
}

/** The part of a step's key that a person gave: 'charge' of 'activity:charge#1', 'charge #2' of its second call. */
export function stepName(key: string): string {
  const match = /^\w+:(.+)#(\d+)$/.exec(key)
  const name = decodeName(match?.[1] ?? key.replace(/^\[(.*)\]$/, '$1'))
  const occurrence = match?.[2] ?? '1'
  return occurrence === '1' ? name : `${name} #${occurrence}`
}

function decodeName(name: string): string {
  return name.replace(/%([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

export function timelineOf(history: readonly HistoryEntry[], now: number): Timeline {
  const from = history[0]?.at.getTime() ?? now
  const builder = new TimelineBuilder()
  for (const entry of history) if (entry.type !== 'RunStarted') builder.add(eventOf(entry))
  return { from, to: builder.endedAt ?? Math.max(now, from), rows: builder.rows }
}

/** An entry's body is the event itself, told to users as JSON. */
export function eventOf(entry: HistoryEntry): Event {
  return entry.body as unknown as Event
}

class TimelineBuilder {
  readonly rows: Row[] = []
  endedAt: number | undefined
  readonly #open = new Map<string, Row>()
  /** Signals nobody waited for yet, by name. */
  readonly #early = new Map<string, Row[]>()

  add(event: Event): void {
    switch (event.type) {
      case 'StepStarted':
        return this.#begin(event.key, event.at, {
          kind: event.kind,
          name: stepName(event.key),
          ...(event.queued && { queued: true }),
        })
      case 'TimerStarted':
        return this.#begin(event.key, event.at, { kind: 'sleep', name: stepName(event.key) })
      case 'ChildStarted':
        return this.#begin(event.key, event.at, {
          kind: 'child',
          name: event.name,
          note: event.child,
        })
      case 'WaitStarted':
        return this.#await(event)
      case 'SignalReceived':
        return this.#receive(event.name, event.at)
      case 'StepRetried':
        return this.#retry(event)
      case 'StepCompleted':
        return this.#settle(event, { outcome: 'done', attempts: event.attempt })
      case 'StepFailed':
        return this.#settle(event, {
          outcome: 'failed',
          attempts: event.attempt,
          failure: event.failure,
        })
      case 'ChildFailed':
        return this.#settle(event, { outcome: 'failed', failure: event.failure })
      case 'ChildCompleted':
        return this.#settle(event, { outcome: 'done' })
      case 'TimerFired':
        return this.#fire(event)
      case 'CalledOff':
        return this.#letGo(event)
      case 'UpdateReceived':
        return this.#begin(updateKey(event), event.at, { kind: 'update', name: event.name })
      case 'UpdateCompleted':
        return this.#settle({ key: updateKey(event), at: event.at }, { outcome: 'done' })
      case 'UpdateFailed': {
        const { at, failure } = event
        return this.#settle({ key: updateKey(event), at }, { outcome: 'failed', failure })
      }
      case 'RunContinued':
        return this.#callOff(event.at)
      case 'CancelRequested':
        return this.#cancel(event)
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        this.endedAt = event.at
        return this.#callOff(event.at)
      // What else happened has no length, and nobody waited for it.
      default:
        return
    }
  }

  #begin(key: string, from: number, what: Pick<Row, 'kind' | 'name' | 'note' | 'queued'>): void {
    const row: Row = { ...what, key, from, attempts: 0, retries: [], outcome: 'open' }
    this.rows.push(row)
    this.#open.set(key, row)
  }

  // A signal that came before it was waited for is received at once.
  #await({ key, name, at }: Extract<Event, { type: 'WaitStarted' }>): void {
    const early = this.#early.get(name)?.shift()
    this.#begin(key, at, { kind: 'signal', name })
    if (!early) return
    this.rows.splice(this.rows.indexOf(early), 1)
    this.#settle({ key, at }, { outcome: 'done' })
  }

  #receive(name: string, at: number): void {
    for (const [key, row] of this.#open) {
      if (row.kind === 'signal' && row.name === name) {
        return this.#settle({ key, at }, { outcome: 'done' })
      }
    }
    const row: Row = {
      kind: 'signal',
      name,
      from: at,
      to: at,
      attempts: 0,
      retries: [],
      outcome: 'done',
      note: 'arrived; not waited for yet',
    }
    this.rows.push(row)
    this.#early.set(name, [...(this.#early.get(name) ?? []), row])
  }

  #retry({ key, at, attempt, failure }: Extract<Event, { type: 'StepRetried' }>): void {
    const row = this.#open.get(key)
    if (!row) return
    row.retries.push({ at, attempt, failure })
    row.attempts = attempt
  }

  #fire({ key, at }: { readonly key: string; readonly at: number }): void {
    const isWait = this.#open.get(key)?.kind === 'signal'
    this.#settle({ key, at }, { outcome: isWait ? 'timeout' : 'done' })
  }

  #cancel({ at, reason }: Extract<Event, { type: 'CancelRequested' }>): void {
    this.#callOff(at, isShielded)
    this.rows.push({
      kind: 'cancel',
      name: 'cancel requested',
      from: at,
      to: at,
      attempts: 0,
      retries: [],
      outcome: 'done',
      ...(reason !== undefined && { note: reason }),
    })
  }

  #letGo({ keys, at }: Extract<Event, { type: 'CalledOff' }>): void {
    for (const key of keys) this.#settle({ key, at }, { outcome: 'calledOff' })
  }

  // Nobody waits for it any more: the run ended, or was cancelled. What is shielded goes on.
  #callOff(at: number, goesOn: (key: string) => boolean = () => false): void {
    for (const key of [...this.#open.keys()]) {
      if (!goesOn(key)) this.#settle({ key, at }, { outcome: 'calledOff' })
    }
  }

  #settle(
    { key, at }: { readonly key: string; readonly at: number },
    result: Partial<Pick<Row, 'outcome' | 'attempts' | 'failure'>>,
  ): void {
    const row = this.#open.get(key)
    if (!row) return
    this.#open.delete(key)
    Object.assign(row, { to: at, ...result })
  }
}

// No key of a step looks like this.
function updateKey({ id }: { readonly id: string }): string {
  return `update ${id}`
}
