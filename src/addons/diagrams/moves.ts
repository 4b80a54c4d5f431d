// The moves of a machine, from the history of its run: which event led from which state to which. A browser can load it.
import type { HistoryEvent } from '../../core/index.ts'

/** One move of a machine, or its end. States are named by their labels. */
export interface MachineMove {
  readonly seq: number
  readonly at: Date
  /** The state before; absent for the first move. */
  readonly from?: string
  /** The state after; absent if the run ended. */
  readonly to?: string
  /** The event that the machine handled; absent for its start, and if the history does not have it. */
  readonly cause?: HistoryEvent
  /** How the run ended. */
  readonly end?: 'completed' | 'failed' | 'cancelled'
}

const ENDS: Readonly<Record<string, 'completed' | 'failed' | 'cancelled'>> = {
  RunCompleted: 'completed',
  RunFailed: 'failed',
  RunCancelled: 'cancelled',
}

/** The moves of a machine in their order; none for a run that is no machine's. */
export function movesOf(history: Iterable<HistoryEvent>): readonly MachineMove[] {
  const events = [...history]
  const bySeq = new Map(events.map((event) => [event.seq, event]))
  const labels = new Labels()
  const moves: MachineMove[] = []
  let before: string | undefined
  for (const event of events) {
    const { seq, at } = event
    const from = before === undefined ? {} : { from: before }
    const end = ENDS[event.type]
    if (event.type === 'StateMoved') {
      const to = 'state' in event ? labels.of(event.state) : before
      const cause = event.by === 0 ? undefined : bySeq.get(event.by)
      moves.push({ seq, at, ...from, ...(to !== undefined && { to }), ...(cause && { cause }) })
      before = to
    }
    if (end !== undefined && before !== undefined) moves.push({ seq, at, ...from, end })
  }
  return moves
}

const DISCRIMINANTS = ['at', 'type', 'state', 'status', 'kind'] as const

/** The labels of states: a name that the state has, or a number. */
class Labels {
  readonly #others: string[] = []

  of(state: unknown): string {
    return nameIn(state) ?? `#${this.#numberOf(state)}`
  }

  #numberOf(state: unknown): number {
    const text = JSON.stringify(state) ?? 'undefined'
    if (!this.#others.includes(text)) this.#others.push(text)
    return this.#others.indexOf(text) + 1
  }
}

function nameIn(state: unknown): string | undefined {
  if (typeof state === 'string') return state
  if (typeof state !== 'object' || state === null) return undefined
  const values = DISCRIMINANTS.map((name) => (state as Readonly<Record<string, unknown>>)[name])
  return values.find((value): value is string => typeof value === 'string')
}
