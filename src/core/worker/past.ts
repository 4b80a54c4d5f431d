// What a run brings along when it is claimed: its head and its history, read after the lease was granted.
import { assert } from '../base/assert.ts'
import { limits } from '../base/limits.ts'
import { decodePayload, decodeTurn } from '../kernel/codec.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { decodeExtras } from '../kernel/extras.ts'
import { type Head, RunState } from '../kernel/run.ts'
import type { ClaimedRun, StoredHead, StoredTurn } from '../stores/store.ts'
import type { Again, RunHost } from './host.ts'

export interface Past {
  readonly state: RunState
  readonly events: HistoryEvent[]
  readonly bytes: number
  /** The epoch of the last durable turn; 0 if there is none. */
  readonly epoch: number
}

/** What is stored of a run, before anybody has looked into it. */
export interface StoredPast {
  readonly turns: readonly StoredTurn[]
  /** Events in them. */
  readonly reached: number
  /** Deaths of earlier holders since the last of them, and grants that led to nothing. */
  readonly deaths: number
  readonly fruitless: number
}

/** A run that was granted for the first time has nothing, and is not asked about. */
export async function loadTurns(
  host: RunHost,
  claimed: ClaimedRun,
  { isOld, cutOff }: Again,
): Promise<StoredPast> {
  const { deliveries, seq, head, lease } = claimed
  const fresh = deliveries === 1 && seq === 0 && !isOld
  const turns = fresh ? [] : await loadAll(host, head)
  const last = turns.at(-1)
  const epochs = lease.epoch - (last?.epoch ?? 0)
  const reached = last ? last.seq + last.count : 0
  const deaths = Math.min(deliveries - 1, epochs) + cutOff
  return { turns, reached, deaths, fruitless: epochs - 1 }
}

export function pastOf(turns: readonly StoredTurn[]): Past {
  const state = new RunState()
  const events: HistoryEvent[] = []
  let bytes = 0
  for (const turn of turns) {
    assert(turn.seq === state.seq, 'history has no gaps')
    bytes += turn.body.length
    for (const event of decodeTurn(turn.body).events) events.push(state.apply(event))
  }
  return { state, events, bytes, epoch: turns.at(-1)?.epoch ?? 0 }
}

async function loadAll(host: RunHost, head: StoredHead): Promise<StoredTurn[]> {
  const turns: StoredTurn[] = []
  for (let after = 0; ; ) {
    const page = await host.history(head, after)
    turns.push(...page.turns)
    const last = page.turns.at(-1)
    const isFull = page.more ?? page.turns.length >= limits.historyPageTurns
    if (!last || !isFull) return turns
    after = last.seq + last.count
  }
}

export function headOf({ head }: Pick<ClaimedRun, 'head'>): Head {
  const { extras, input, ...rest } = head
  return { ...rest, input: decodePayload(input), extras: decodeExtras(extras) }
}

/** The head, and why it cannot be read if that is so: then only its names are in it. */
export function readHead(claimed: ClaimedRun): {
  readonly head: Head
  readonly unreadable?: unknown
} {
  try {
    return { head: headOf(claimed) }
  } catch (error) {
    const { extras: _, ...rest } = claimed.head
    return { head: { ...rest, input: { json: null }, extras: {} }, unreadable: error }
  }
}

/** The head as this generation knows it: it may have begun with an input of its own. */
export function headSince(given: Head, events: readonly HistoryEvent[]): Head {
  const head = given.extras.pending ? headTriggered(given, events) : given
  const [first] = events
  if (first?.type !== 'GenerationBegan') return head
  const { input, keysOf, attempt, parsed, triggeredAt, attributes } = first
  const extras = {
    ...head.extras,
    ...(parsed !== undefined && { parsed }),
    ...(triggeredAt !== undefined && { from: triggeredAt }),
    ...(attributes && { attributes }),
  }
  return {
    ...head,
    input,
    extras,
    ...(keysOf !== undefined && { keysOf }),
    ...(attempt !== undefined && { attempt }),
  }
}

// It may have been told its input only when it was let begin. What nobody has parsed yet is parsed then.
function headTriggered(head: Head, events: readonly HistoryEvent[]): Head {
  const triggered = events.find((event) => event.type === 'RunTriggered')
  if (!triggered) return head
  const { parsed, ...rest } = head.extras
  const extras = { ...rest, from: triggered.at }
  if (triggered.input) return { ...head, input: triggered.input, extras }
  return { ...head, extras: { ...extras, ...(parsed !== undefined && { parsed }) } }
}

/** Whether the run was created to wait until it is triggered, and has not been. */
export function waitsForTrigger({ extras }: Head, { triggered, ending }: RunState): boolean {
  return extras.pending === true && !triggered && !ending
}

const BEGINS_ANEW: ReadonlySet<string> = new Set([
  'RunTriggered',
  'MigrationRequested',
  'MessageDiscarded',
])

/**
 * Whether the run must be read anew: its code, because what it goes by has changed, or its inbox, because what kept
 * other messages from being taken is gone.
 */
export function changesCode(events: readonly HistoryEvent[]): boolean {
  return events.some(({ type }) => BEGINS_ANEW.has(type))
}
