// The history of a run, read from the store after the lease was granted; and its head, as that history leaves it.
import { assert } from '../base/assert.ts'
import { limits } from '../base/limits.ts'
import { decodePayload, decodeTurn } from '../kernel/codec.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { decodeExtras } from '../kernel/extras.ts'
import { type Head, RunState } from '../kernel/run.ts'
import type { ClaimedRun, HistoryPage, StoredHead, StoredTurn } from '../stores/store.ts'
import type { EarlierWork } from './lease-book.ts'
import type { StoreLine } from './store-line.ts'

export interface History {
  readonly state: RunState
  readonly events: HistoryEvent[]
  readonly bytes: number
}

/** The turns of a run as stored, before any is decoded. */
export interface StoredHistory {
  readonly turns: readonly StoredTurn[]
  /** How many events they have. */
  readonly count: number
  /** How many holders died since the last of these turns. */
  readonly deaths: number
  /** How many grants since the last of these turns led to no turn. */
  readonly fruitless: number
}

/** A run that is granted for the first time has no history, and the store is not asked for it. */
export async function loadHistory(
  line: StoreLine,
  claimed: ClaimedRun,
  { wasGranted, cutOff }: EarlierWork,
): Promise<StoredHistory> {
  const { deliveries, seq, head, lease } = claimed
  const isNew = deliveries === 1 && seq === 0 && !wasGranted
  const turns = isNew ? [] : await loadTurns(line, head)
  const last = turns.at(-1)
  const epochs = lease.epoch - (last?.epoch ?? 0)
  const deaths = Math.min(deliveries - 1, epochs) + cutOff
  return { turns, count: last ? last.seq + last.count : 0, deaths, fruitless: epochs - 1 }
}

async function loadTurns(line: StoreLine, head: StoredHead): Promise<StoredTurn[]> {
  const turns: StoredTurn[] = []
  for (let after = 0; ; ) {
    const page = await loadPage(line, head, after)
    turns.push(...page.turns)
    const last = page.turns.at(-1)
    const isFull = page.more ?? page.turns.length >= limits.historyPageTurns
    if (!last || !isFull) return turns
    after = last.seq + last.count
  }
}

async function loadPage(line: StoreLine, { runId, generation }: StoredHead, after: number): Promise<HistoryPage> {
  const ask = { type: 'history', runId, generation, after, turns: limits.historyPageTurns } as const
  const [loaded] = await line.send((store) => store.load([ask]))
  return loaded?.type === 'history' ? loaded : { turns: [] }
}

export function decodeHistory(turns: readonly StoredTurn[]): History {
  const state = new RunState()
  const events: HistoryEvent[] = []
  let bytes = 0
  for (const turn of turns) {
    assert(turn.seq === state.seq, 'history has no gaps')
    bytes += turn.body.length
    for (const event of decodeTurn(turn.body).events) events.push(state.apply(event))
  }
  return { state, events, bytes }
}

export function headOf({ head }: Pick<ClaimedRun, 'head'>): Head {
  const { extras, input, ...rest } = head
  return { ...rest, input: decodePayload(input), extras: decodeExtras(extras) }
}

/** The head; if it cannot be read, the error, and a head without input and extras. */
export function readHead(claimed: ClaimedRun): { readonly head: Head; readonly error?: unknown } {
  try {
    return { head: headOf(claimed) }
  } catch (error) {
    const { extras: _, ...rest } = claimed.head
    return { head: { ...rest, input: { json: null }, extras: {} }, error }
  }
}

/** The head of this generation, which may have begun with an input of its own. */
export function headSince(given: Head, events: readonly HistoryEvent[]): Head {
  const head = given.extras.pending ? headTriggered(given, events) : given
  const [first] = events
  if (first?.type !== 'GenerationBegan') return head
  const { input, keysOf, chapter, attempt, parsed, triggeredAt, attributes } = first
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
    ...(chapter !== undefined && { chapter }),
    ...(attempt !== undefined && { attempt }),
  }
}

// A pending run may get its input from the trigger. That input has not been parsed yet.
function headTriggered(head: Head, events: readonly HistoryEvent[]): Head {
  const triggered = events.find((event) => event.type === 'RunTriggered')
  if (!triggered) return head
  const { parsed, ...rest } = head.extras
  const extras = { ...rest, from: triggered.at }
  if (triggered.input) return { ...head, input: triggered.input, extras }
  return { ...head, extras: { ...extras, ...(parsed !== undefined && { parsed }) } }
}

/** Whether the run was created pending and has not been triggered. */
export function waitsForTrigger({ extras }: Head, { triggered, ending }: RunState): boolean {
  return extras.pending === true && !triggered && !ending
}

/**
 * Whether the run must be read from its beginning again: its definition or input has changed, or a message that kept
 * later ones from being taken was discarded.
 */
export function needsReload(events: readonly HistoryEvent[]): boolean {
  for (const { type } of events)
    if (type === 'RunTriggered' || type === 'MigrationRequested' || type === 'MessageDiscarded') return true
  return false
}
