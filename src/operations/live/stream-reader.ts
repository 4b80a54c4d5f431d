// Reads a stream of a run as live events.
import { newsOf } from '../../core/index.ts'
import type { Engine } from '../../engine.ts'
import type { StreamEvent } from './stream-events.ts'

export interface StreamPlace {
  readonly runId: string
  readonly stream: string
  readonly from: number
  readonly signal: AbortSignal
}

export async function* streamEvents({ host }: Engine, place: StreamPlace): AsyncGenerator<readonly StreamEvent[]> {
  for await (const { parts, items, next, isLast } of newsOf(host.streams, place)) {
    const events: StreamEvent[] = parts.map((data) => ({ event: 'part', data }))
    for (const { offset, part, payload } of items) {
      const { json: chunk, notes } = payload
      const data = { offset, part: part.number, chunk, ...(notes && { notes }) }
      events.push({ event: 'item', id: String(offset), data })
    }
    if (isLast) events.push({ event: 'end', id: `end.${next}`, data: { items: next } })
    yield events
  }
}
