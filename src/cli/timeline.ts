// A run's history as rows with a beginning and an end: steps, lists, timers, waits, children; and marks for what happened
// to the run as a whole. Events are matched as the kernel matches them: by key, and a signal with the oldest wait for its name.

import type { Failure } from '../core/base/failure.ts'
import { isShielded, parseNodeKey, stepName } from '../core/index.ts'
import type { HistoryEvent } from '../index.ts'

export interface Row {
  readonly kind:
    | OfType<'StepStarted'>['kind']
    | 'list'
    | 'undo'
    | 'sleep'
    | 'signal'
    | 'condition'
    | 'update'
    | 'child'
    | 'mark'
  readonly name: string
  readonly key?: string
  readonly from: number
  to?: number
  /** Attempts that are known of, the one under way not counted. */
  attempts: number
  readonly retries: Retried[]
  /** Its attempts were made from the task queue, which keeps their failures to itself. */
  queued?: true
  /** Attempts that were left to be completed from outside, and what they are if nobody does. */
  readonly left?: Map<number, Failure>
  /** When it is cancelled, the code waits for its end. */
  readonly awaited?: true
  outcome: 'open' | 'done' | 'failed' | 'timeout' | 'cancelled' | 'skipped'
  failure?: Failure
  /** The run id of a child, why a run was cancelled. */
  readonly note?: string
  /** Of a list: how many it has, and how many of them have ended. */
  readonly items?: { readonly all: number; ended: number }
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

export function timelineOf(history: readonly HistoryEvent[], now: number): Timeline {
  const from = history[0]?.at.getTime() ?? now
  const builder = new TimelineBuilder()
  for (const event of history) builder.add(event)
  return { from, to: builder.endedAt ?? Math.max(now, from), rows: builder.rows }
}

type OfType<Type extends HistoryEvent['type']> = Extract<HistoryEvent, { readonly type: Type }>

/** Which step, and when. */
interface Moment {
  readonly step: string
  readonly at: Date
}

class TimelineBuilder {
  readonly rows: Row[] = []
  endedAt: number | undefined
  readonly #open = new Map<string, Row>()
  /** Signals nobody waited for yet, by name. */
  readonly #early = new Map<string, Row[]>()
  /** Lists of a graph, by the key that the keys of their items begin with. */
  readonly #lists = new Map<string, Row>()
  /** Where functions undo what they did: keys of those steps begin with one of these. */
  readonly #undoing = new Set<string>()

  add(event: HistoryEvent): void {
    switch (event.type) {
      case 'StepStarted': {
        const kind = this.#isUndo(event.step) ? 'undo' : event.kind
        const queued = event.queued ? { queued: true as const } : {}
        const marks = { ...queued, ...awaited(event), left: new Map<number, Failure>() }
        return this.#begin(event.step, event.at, { kind, name: stepName(event.step), ...marks })
      }
      case 'TimerStarted':
        return this.#begin(event.step, event.at, { kind: 'sleep', name: stepName(event.step) })
      case 'ChildStarted':
        return this.#begin(event.step, event.at, {
          kind: 'child',
          name: stepName(event.step),
          note: event.childRunId,
          ...awaited(event),
        })
      case 'WaitStarted':
        return this.#await(event)
      case 'SignalReceived':
        return this.#receive(event.name, event.at)
      case 'StepRetried':
        return this.#retry(event)
      case 'StepQueued':
        return this.#queue(event)
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
        return this.#settle({ step: updateKey(event), at: event.at }, { outcome: 'done' })
      case 'UpdateFailed': {
        const { at, failure } = event
        return this.#settle({ step: updateKey(event), at }, { outcome: 'failed', failure })
      }
      case 'RunContinued':
        return this.#cancelOpen(event.at)
      case 'CancelRequested':
        this.#cancelOpen(
          event.at,
          (step) => isShielded(step) || this.#open.get(step)?.awaited === true,
        )
        return this.#mark(event.at, 'cancel requested', event.reason)
      default:
        return this.#addDecided(event)
    }
  }

  // What graphs and sagas decided, what was said to the run, and how it ended.
  #addDecided(event: HistoryEvent): void {
    switch (event.type) {
      case 'StepSkipped':
        return this.#instant(event, { outcome: 'skipped' })
      case 'StepRefused':
        return this.#instant(event, { outcome: 'failed', failure: event.failure })
      case 'ListTaken':
        return this.#list(event)
      case 'CompensationBegan':
        this.#undoing.add(event.step.slice(0, event.step.lastIndexOf('/') + 1))
        return this.#mark(event.at, 'compensation began')
      case 'RunTriggered':
        return this.#mark(
          event.at,
          'triggered',
          'input' in event ? 'with another input' : undefined,
        )
      case 'MigrationRequested':
        return this.#mark(
          event.at,
          'migrated',
          `to definition ${event.definitionHash.slice(0, 12)}`,
        )
      case 'MessageDiscarded': {
        const { at, discarded, note } = event
        return this.#mark(
          at,
          'message discarded',
          note === undefined ? discarded : `${discarded}: ${note}`,
        )
      }
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        this.endedAt = event.at.getTime()
        return this.#cancelOpen(event.at)
      // What else happened has no length, and nobody waited for it.
      default:
        return
    }
  }

  #begin(
    key: string,
    at: Date,
    what: Pick<Row, 'kind' | 'name' | 'note' | 'queued' | 'items'>,
  ): void {
    const row: Row = { ...what, key, from: at.getTime(), attempts: 0, retries: [], outcome: 'open' }
    if (!this.#lists.has(listOf(key))) this.rows.push(row)
    this.#open.set(key, row)
  }

  // A signal that came before it was waited for is received at once.
  #await({ step, name, at, condition }: OfType<'WaitStarted'>): void {
    if (condition) return this.#begin(step, at, { kind: 'condition', name: stepName(step) })
    const early = this.#early.get(name)?.shift()
    this.#begin(step, at, { kind: 'signal', name })
    if (!early) return
    this.rows.splice(this.rows.indexOf(early), 1)
    this.#settle({ step, at }, { outcome: 'done' })
  }

  #receive(name: string, at: Date): void {
    for (const [step, row] of this.#open) {
      if (row.kind === 'signal' && row.name === name) {
        return this.#settle({ step, at }, { outcome: 'done' })
      }
    }
    const row: Row = {
      kind: 'signal',
      name,
      from: at.getTime(),
      to: at.getTime(),
      attempts: 0,
      retries: [],
      outcome: 'done',
      note: 'arrived',
    }
    this.rows.push(row)
    this.#early.set(name, [...(this.#early.get(name) ?? []), row])
  }

  #retry({ step, at, attempt, failure, leftOpen }: OfType<'StepRetried'>): void {
    const row = this.#open.get(step)
    if (!row) return
    if (leftOpen) row.left?.set(attempt, failure)
    else row.retries.push({ at: at.getTime(), attempt, failure })
    row.attempts = attempt
  }

  #queue({ step }: OfType<'StepQueued'>): void {
    const row = this.#open.get(step)
    if (row) row.queued = true
  }

  #fire({ step, at }: Moment): void {
    const { kind } = this.#open.get(step) ?? {}
    const isWait = kind === 'signal' || kind === 'condition'
    this.#settle({ step, at }, { outcome: isWait ? 'timeout' : 'done' })
  }

  #mark(at: Date, name: string, note?: string): void {
    const row: Row = {
      kind: 'mark',
      name,
      from: at.getTime(),
      to: at.getTime(),
      attempts: 0,
      retries: [],
      outcome: 'done',
      ...(note !== undefined && { note }),
    }
    this.rows.push(row)
  }

  /** A step that was over before it began. */
  #instant(
    { step, at }: Moment,
    result: Pick<Row, 'outcome'> & { readonly failure?: Failure },
  ): void {
    this.#begin(step, at, { kind: kindIn(step), name: stepName(step) })
    this.#settle({ step, at }, result)
  }

  // However many items it has, a list is one row.
  #list({ step, at, items }: OfType<'ListTaken'>): void {
    const all = Array.isArray(items) ? items.length : 0
    this.#begin(step, at, { kind: 'list', name: stepName(step), items: { all, ended: 0 } })
    const row = this.#open.get(step)
    if (row) this.#lists.set(step, row)
    if (all === 0) this.#settle({ step, at }, { outcome: 'done' })
  }

  #isUndo(key: string): boolean {
    if (parseNodeKey(key)?.kind === 'undo') return true
    return [...this.#undoing].some((place) => place !== '' && key.startsWith(place))
  }

  #letGo({ steps, met, at }: OfType<'CalledOff'>): void {
    for (const step of steps) {
      if (this.#open.get(step)?.awaited) continue
      this.#settle({ step, at }, { outcome: met.includes(step) ? 'done' : 'cancelled' })
    }
  }

  // Nobody waits for it any more: the run ended, or was cancelled. What is shielded goes on.
  #cancelOpen(at: Date, goesOn: (key: string) => boolean = () => false): void {
    for (const step of [...this.#open.keys()]) {
      if (!goesOn(step)) this.#settle({ step, at }, { outcome: 'cancelled' })
    }
  }

  #settle(
    { step, at }: Moment,
    result: Partial<Pick<Row, 'outcome' | 'attempts' | 'failure'>>,
  ): void {
    const row = this.#open.get(step)
    if (!row) return
    this.#open.delete(step)
    Object.assign(row, { to: at.getTime(), ...result })
    const list = this.#lists.get(listOf(step))
    if (list?.items) this.#settleItem(list, row, at)
  }

  #settleItem(list: Row, { outcome, failure }: Row, at: Date): void {
    const { items, key: step = '' } = list
    if (!items || list.to !== undefined) return
    if (outcome === 'done') items.ended++
    if (outcome === 'failed') list.failure ??= failure as Failure
    const isOver = outcome === 'failed' || items.ended === items.all
    if (isOver) this.#settle({ step, at }, { outcome: outcome === 'failed' ? 'failed' : 'done' })
  }
}

/** The key of the list that a key is of, if it is that of an item. */
function listOf(key: string): string {
  return parseNodeKey(key)?.index === undefined ? '' : key.slice(0, key.lastIndexOf('['))
}

function kindIn(key: string): Row['kind'] {
  const { kind = 'step' } = parseNodeKey(key) ?? {}
  if (kind === 'delay') return 'sleep'
  return kind === 'wait' ? 'signal' : kind
}

// No key of a step looks like this.
function updateKey({ messageId }: { readonly messageId: string }): string {
  return `update ${messageId}`
}

function awaited({ onCancel }: { readonly onCancel?: 'wait' }): { readonly awaited?: true } {
  return onCancel === 'wait' ? { awaited: true } : {}
}
