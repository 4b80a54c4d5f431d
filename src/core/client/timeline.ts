// A run's history as rows with a beginning and an end: steps, lists, timers, waits, children; and marks for what happened to
// the run as a whole. Which event settles which request is the kernel's to say.
import { unreachable } from '../base/assert.ts'
import type { Failure } from '../base/failure.ts'
import type { Instant } from '../base/time.ts'
import { decode } from '../base/value.ts'
import { parseNodeKey } from '../deciders/graph/node-key.ts'
import { stepName } from '../deciders/requests.ts'
import { type Event, hasTrait } from '../kernel/event.ts'
import { type OpenRequest, RequestIndex, type Settling } from '../kernel/requests.ts'
import { shownSignal } from '../kernel/tokens.ts'

/** A step, timer, wait, child or update of a run, and how long it took; or a mark for what happened to the run. */
export interface TimelineRow {
  readonly kind:
    | 'activity'
    | 'step'
    | 'sideEffect'
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
  readonly from: Date
  readonly to?: Date
  /** Attempts whose outcome is known. */
  readonly attempts: number
  readonly retries: readonly {
    readonly at: Date
    readonly attempt: number
    readonly failure: Failure
    /** When the next attempt starts. */
    readonly until: Date
  }[]
  /** The step ran from the task queue, which keeps the failures of its attempts to itself. */
  readonly queued: boolean
  /** Attempts that were left to be completed from outside, and how each fails if nothing completes it. */
  readonly left: ReadonlyMap<number, Failure>
  readonly outcome: 'open' | 'done' | 'failed' | 'timeout' | 'cancelled' | 'skipped'
  readonly failure?: Failure
  /** The run id of a child, the reason of a cancellation, the note of an operator. */
  readonly note?: string
  /** Of a list: how many items it has, and how many of them have completed. */
  readonly items?: { readonly all: number; readonly ended: number }
}

/** A run's history as rows, in the order in which they began. */
export interface Timeline {
  readonly from: Date
  /** When the run ended; now, if it has not. */
  readonly to: Date
  readonly rows: readonly TimelineRow[]
}

/** With `opened`, the items of the list with this key are rows, too. */
export function timelineOf(events: readonly Event[], createdAt: Instant, now: Instant, opened?: string): Timeline {
  const builder = new TimelineBuilder(opened)
  for (const event of events) builder.add(event)
  const to = builder.endedAt ?? Math.max(now, createdAt)
  return { from: new Date(createdAt), to: new Date(to), rows: builder.rows }
}

type Row = { -readonly [Field in keyof TimelineRow]: TimelineRow[Field] } & {
  readonly retries: { at: Date; attempt: number; failure: Failure; until: Date }[]
  readonly left: Map<number, Failure>
}
type Ended = Partial<Pick<Row, 'outcome' | 'attempts' | 'failure'>>
type OfType<Type extends Event['type']> = Extract<Event, { readonly type: Type }>

class TimelineBuilder {
  readonly rows: Row[] = []
  endedAt: Instant | undefined
  readonly #open = new Map<string, Row>()
  /** Signals that nothing waited for when they came, by name. */
  readonly #early = new Map<string, Row[]>()
  /** Lists of a graph, by the key that the keys of their items begin with. */
  readonly #lists = new Map<string, Row>()
  /** Keys of steps by which a function compensates begin with one of these. */
  readonly #undoing = new Set<string>()
  readonly #opened: string | undefined
  /** Whether the signal that is being read settled a wait. */
  #isTaken = false
  readonly #requests = new RequestIndex({
    opened: (key, request, event) => this.#begin(key, event.at, rowOf(key, request, this.#isUndo(key))),
    settled: (key, request, how, event) => this.#settled(key, request, how, event),
  })

  constructor(opened?: string) {
    this.#opened = opened
  }

  add(event: Event): void {
    if (hasTrait(event, 'request')) this.#request(event)
    switch (event.type) {
      case 'UpdateReceived':
        return this.#begin(updateKey(event.id), event.at, { kind: 'update', name: event.name })
      case 'UpdateCompleted':
        return this.#end(updateKey(event.id), event.at, { outcome: 'done' })
      case 'UpdateFailed':
        return this.#end(updateKey(event.id), event.at, failed(event.failure))
      case 'StepSkipped':
        return this.#instant(event, { outcome: 'skipped' })
      case 'StepRefused':
        return this.#instant(event, failed(event.failure))
      case 'ListTaken':
        return this.#list(event)
      case 'CompensationBegan':
        this.#undoing.add(event.key.slice(0, event.key.lastIndexOf('/') + 1))
        return this.#mark(event.at, 'compensation began')
      case 'CancelRequested':
        return this.#mark(event.at, 'cancel requested', event.reason)
      case 'RunTriggered':
        return this.#mark(event.at, 'triggered', event.input && 'with another input')
      case 'MigrationRequested':
        return this.#mark(event.at, 'migrated', `to definition ${event.hash.slice(0, 12)}`)
      case 'MessageDiscarded': {
        const { at, message, note } = event
        return this.#mark(at, 'message discarded', note === undefined ? message : `${message}: ${note}`)
      }
      case 'RunContinued':
        return this.#cancelOpen(event.at)
      case 'RunCompleted':
      case 'RunFailed':
      case 'RunCancelled':
        this.endedAt = event.at
        return this.#cancelOpen(event.at)
      // Other events took no time, and are no marks that people look for.
      default:
        return
    }
  }

  #request(event: Parameters<RequestIndex['apply']>[0]): void {
    this.#isTaken = false
    this.#requests.apply(event)
    if (event.type === 'SignalReceived' && !this.#isTaken) this.#arrived(event)
    if (event.type === 'StepRetried') this.#retry(event)
    if (event.type === 'StepQueued') {
      const row = this.#open.get(event.key)
      if (row) row.queued = true
    }
  }

  #settled(key: string, request: OpenRequest, how: Settling, event: Event): void {
    this.#isTaken = true
    // A signal that came before its wait has a row of its own until the wait takes it.
    if (how === 'signalled' && request.type === 'wait' && event.type === 'WaitStarted') {
      const early = this.#early.get(request.name)?.shift()
      if (early) this.rows.splice(this.rows.indexOf(early), 1)
    }
    this.#end(key, event.at, endOf(request, how, event))
  }

  #arrived({ name, at }: OfType<'SignalReceived'>): void {
    const row: Row = { ...fresh(at), kind: 'signal', name: shownSignal(name), to: new Date(at), note: 'arrived' }
    row.outcome = 'done'
    this.rows.push(row)
    this.#early.set(name, [...(this.#early.get(name) ?? []), row])
  }

  #begin(key: string, at: Instant, what: Pick<Row, 'kind' | 'name'> & Partial<Row>): void {
    const row: Row = { ...fresh(at), ...what, key }
    const list = listOf(key)
    if (!this.#lists.has(list) || list === this.#opened) this.rows.push(row)
    this.#open.set(key, row)
  }

  #retry({ key, at, attempt, failure, until, left }: OfType<'StepRetried'>): void {
    const row = this.#open.get(key)
    if (!row) return
    if (left) row.left.set(attempt, failure)
    else row.retries.push({ at: new Date(at), attempt, failure, until: new Date(until) })
    row.attempts = attempt
  }

  #mark(at: Instant, name: string, note?: string): void {
    const row: Row = { ...fresh(at), kind: 'mark', name, to: new Date(at), outcome: 'done' }
    this.rows.push(note === undefined ? row : { ...row, note })
  }

  /** A step that was over when it began. */
  #instant({ key, at }: { readonly key: string; readonly at: Instant }, result: Ended): void {
    this.#begin(key, at, { kind: kindIn(key), name: stepName(key) })
    this.#end(key, at, result)
  }

  // However many items a list has, it is one row.
  #list({ key, at, items }: OfType<'ListTaken'>): void {
    const list = decode(items)
    const all = Array.isArray(list) ? list.length : 0
    this.#begin(key, at, { kind: 'list', name: stepName(key), items: { all, ended: 0 } })
    const row = this.#open.get(key)
    if (row) this.#lists.set(key, row)
    if (all === 0) this.#end(key, at, { outcome: 'done' })
  }

  #isUndo(key: string): boolean {
    if (parseNodeKey(key)?.kind === 'undo') return true
    return [...this.#undoing].some((place) => place !== '' && key.startsWith(place))
  }

  #cancelOpen(at: Instant): void {
    for (const key of [...this.#open.keys()]) this.#end(key, at, { outcome: 'cancelled' })
  }

  #end(key: string, at: Instant, result: Ended): void {
    const row = this.#open.get(key)
    if (!row) return
    this.#open.delete(key)
    Object.assign(row, { to: new Date(at), ...result })
    const list = this.#lists.get(listOf(key))
    if (list?.items) this.#endItem(list, row, at)
  }

  #endItem(list: Row, { outcome, failure }: Row, at: Instant): void {
    const { items, key = '' } = list
    if (!items || list.to !== undefined) return
    if (outcome === 'done') list.items = { ...items, ended: items.ended + 1 }
    if (outcome === 'failed' && failure) list.failure ??= failure
    const isOver = outcome === 'failed' || list.items?.ended === items.all
    if (isOver) this.#end(key, at, { outcome: outcome === 'failed' ? 'failed' : 'done' })
  }
}

function fresh(at: Instant): Omit<Row, 'kind' | 'name'> {
  return {
    from: new Date(at),
    attempts: 0,
    retries: [],
    queued: false,
    left: new Map(),
    outcome: 'open',
  }
}

function rowOf(key: string, request: OpenRequest, isUndo: boolean): Pick<Row, 'kind' | 'name'> & Partial<Row> {
  switch (request.type) {
    case 'step':
      return { kind: isUndo ? 'undo' : request.kind, name: stepName(key), queued: request.queued }
    case 'timer':
      return { kind: 'sleep', name: stepName(key) }
    case 'child':
      return { kind: 'child', name: stepName(key), note: request.child }
    case 'wait':
      return request.condition
        ? { kind: 'condition', name: stepName(key) }
        : { kind: 'signal', name: shownSignal(request.name) }
    default:
      return unreachable(request)
  }
}

function endOf(request: OpenRequest, how: Settling, event: Event): Ended {
  const attempts = 'attempt' in event && event.attempt !== undefined ? event.attempt : undefined
  const counted = attempts === undefined ? {} : { attempts }
  switch (how) {
    case 'completed':
    case 'signalled':
    case 'met':
      return { outcome: 'done', ...counted }
    case 'failed':
      return { ...('failure' in event && event.failure && failed(event.failure)), ...counted }
    case 'fired':
      return { outcome: request.type === 'wait' ? 'timeout' : 'done' }
    case 'cancelled':
      return { outcome: 'cancelled' }
    default:
      return unreachable(how)
  }
}

function failed(failure: Failure): Ended {
  return { outcome: 'failed', failure }
}

/** The key of the list that a key belongs to, if it is the key of an item. */
export function listOf(key: string): string {
  return parseNodeKey(key)?.index === undefined ? '' : key.slice(0, key.lastIndexOf('['))
}

function kindIn(key: string): Row['kind'] {
  const { kind = 'step' } = parseNodeKey(key) ?? {}
  if (kind === 'delay') return 'sleep'
  return kind === 'wait' ? 'signal' : kind
}

// No key of a step looks like this.
function updateKey(messageId: string): string {
  return `update ${messageId}`
}
