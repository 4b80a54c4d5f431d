// Reads histories of any length, page by page.

import { limits } from '../base/limits.ts'
import { decodeTurn } from '../kernel/codec.ts'
import type { Event } from '../kernel/event.ts'
import type { HistoryPage, LoadAsk, Loaded, StoredHead, StoredTurn } from '../stores/store.ts'

export type Load = (asks: readonly LoadAsk[]) => Promise<readonly Loaded[]>
export type Generation = Pick<StoredHead, 'runId' | 'generation'>

export function historyAsk({ runId, generation }: Generation, after: number) {
  return { type: 'history', runId, generation, after, turns: limits.historyPageTurns } as const
}

/** `first` is the first page, if it was loaded before. */
export async function* pagesOf(
  load: Load,
  of: Generation,
  after = 0,
  first?: HistoryPage,
): AsyncGenerator<readonly StoredTurn[]> {
  for (let from = after, known = first; ; ) {
    const { turns, more } = known ?? pageIn((await load([historyAsk(of, from)]))[0])
    known = undefined
    yield turns
    const last = turns.at(-1)
    const isFull = more ?? turns.length >= limits.historyPageTurns
    if (!last || !isFull) return
    from = last.seq + last.count
  }
}

/** Where to read from to get the events after `after`, which may be in the middle of a turn: where that turn begins. */
export async function turnStart(load: Load, of: Generation, after: number): Promise<number> {
  return (await newestTurn(load, of, after + 1))?.seq ?? 0
}

/** The number of the newest event of a generation. */
export async function lastSeq(load: Load, of: Generation): Promise<number> {
  const turn = await newestTurn(load, of, Number.MAX_SAFE_INTEGER)
  return turn ? turn.seq + turn.count : 0
}

async function newestTurn(load: Load, of: Generation, before: number): Promise<StoredTurn | undefined> {
  return pageIn((await load([{ ...historyAsk(of, 0), before, turns: 1 }]))[0]).turns[0]
}

export async function turnsOf(load: Load, of: Generation, first?: HistoryPage): Promise<StoredTurn[]> {
  const turns: StoredTurn[] = []
  for await (const page of pagesOf(load, of, 0, first)) turns.push(...page)
  return turns
}

export async function eventsOf(load: Load, of: Generation): Promise<Event[]> {
  return (await turnsOf(load, of)).flatMap((turn) => decodeTurn(turn.body).events)
}

/** The events of every generation whose history is kept, the newest first. */
export async function* generationsOf(load: Load, runId: string): AsyncGenerator<Event[]> {
  const [loaded] = await load([{ type: 'run', runId }])
  const newest = loaded?.type === 'run' ? (loaded.run?.head.generation ?? 0) : 0
  const oldest = Math.max(1, newest - limits.generationsKept + 1)
  for (let generation = newest; generation >= oldest; generation--) {
    yield await eventsOf(load, { runId, generation })
  }
}

/** The trigger of a run that was started with `pending`, if its history is kept. */
export async function triggerOf(
  load: Load,
  runId: string,
): Promise<Extract<Event, { type: 'RunTriggered' }> | undefined> {
  for await (const events of generationsOf(load, runId)) {
    const found = events.find((event) => event.type === 'RunTriggered')
    if (found) return found
  }
  return undefined
}

/** True if a run has consumed a message, in any of its generations. */
export async function hasTaken(load: Load, runId: string, messageId: string): Promise<boolean> {
  for await (const events of generationsOf(load, runId)) {
    if (events.some((event) => isOfMessage(event, messageId))) return true
  }
  return false
}

const MESSAGES: ReadonlySet<Event['type']> = new Set([
  'SignalReceived',
  'UpdateReceived',
  'PauseRequested',
  'ResumeRequested',
  'RunTriggered',
  'MigrationRequested',
  'MessageDiscarded',
  'StepCompleted',
] as const)

function isOfMessage(event: Event, messageId: string): boolean {
  if (MESSAGES.has(event.type)) return 'id' in event && event.id === messageId
  return event.type === 'GenerationBegan' && (event.messageIds?.includes(messageId) ?? false)
}

export function pageIn(loaded: Loaded | undefined): HistoryPage {
  return loaded?.type === 'history' ? loaded : { turns: [] }
}
