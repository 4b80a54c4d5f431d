// What a run brings along when it is claimed: its head and its history, read after the lease was granted.
import { assert } from '../kernel/assert.ts'
import { decodePayload, decodeTurn } from '../kernel/codec.ts'
import type { HistoryEvent } from '../kernel/event.ts'
import { decodeExtras } from '../kernel/extras.ts'
import { limits } from '../kernel/limits.ts'
import { type Head, RunState } from '../kernel/run.ts'
import type { ClaimedRun, StoredHead, StoredTurn } from '../stores/store.ts'
import type { RunHost } from './host.ts'

export interface Past {
  readonly state: RunState
  readonly events: HistoryEvent[]
  readonly bytes: number
  /** The epoch of the last durable turn; 0 if there is none. */
  readonly epoch: number
}

/** What is stored. A run that was granted for the first time has nothing, and is not asked about. */
export async function loadTurns(
  host: RunHost,
  claimed: ClaimedRun,
  again: boolean,
): Promise<readonly StoredTurn[]> {
  const fresh = claimed.deliveries === 1 && claimed.seq === 0 && !again
  return fresh ? [] : loadAll(host, claimed.head)
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
    turns.push(...page)
    const last = page.at(-1)
    if (!last || page.length < limits.historyPageTurns) return turns
    after = last.seq + last.count
  }
}

export function headOf({ head }: Pick<ClaimedRun, 'head'>): Head {
  const { extras, input, ...rest } = head
  return { ...rest, input: decodePayload(input), extras: decodeExtras(extras) }
}

/** The head as this generation knows it: it may have begun with an input of its own. */
export function headSince(head: Head, events: readonly HistoryEvent[]): Head {
  const [first] = events
  if (first?.type !== 'GenerationBegan') return head
  const { input, keysOf, attempt, parsed } = first
  return {
    ...head,
    input,
    ...(keysOf !== undefined && { keysOf }),
    ...(attempt !== undefined && { attempt }),
    ...(parsed !== undefined && { extras: { ...head.extras, parsed } }),
  }
}
