// Streams of live events, as a client reads them: server-sent events over `fetch`, because a request of `EventSource`
// carries no token. A stream that breaks is opened again, after the last event that the client has.
import { limits } from '../core/base/limits.ts'
import { sleep } from '../core/runtime/clock.ts'
import type { InputOf } from '../operations/inputs.ts'
import type { LiveEvent, WindowEvent } from '../operations/live/events.ts'
import type { StreamEvent } from '../operations/live/stream-events.ts'
import type { CallOptions, Connection } from './connection.ts'

/** The events of each stream. */
export interface LiveEvents {
  'live.run': LiveEvent
  'live.runs': WindowEvent
  'live.stream': StreamEvent
}

/** How a stream is read. */
export interface LiveOptions extends CallOptions {
  /** Hears when the stream is opened, and when it breaks: then it is opened again. */
  readonly onConnection?: (state: 'open' | 'lost', error?: unknown) => void
}

/**
 * The events of a stream, until it ends or the signal aborts. Times are texts in ISO 8601. A stream of runs begins with
 * `reset` each time it is opened.
 */
export async function* liveEvents<N extends keyof LiveEvents>(
  server: Connection,
  name: N,
  input: InputOf<N>,
  { signal, onConnection = () => {} }: LiveOptions,
): AsyncGenerator<LiveEvents[N]> {
  let after = (input as { readonly after?: string }).after
  let pauseMs: number = limits.serverRetryMsMin
  for (;;) {
    try {
      const lines = server.lines(name, after === undefined ? input : { ...input, after }, { signal })
      for await (const each of eventsIn(lines, () => onConnection('open'))) {
        pauseMs = limits.serverRetryMsMin
        const event = each as unknown as LiveEvents[N]
        if (event.id !== undefined) after = event.id
        yield event
        if (event.event === 'end') return
      }
      onConnection('lost')
    } catch (error) {
      if (signal?.aborted) return
      const { code } = error as { readonly code?: string }
      if (code !== 'SERVER_UNREACHABLE' && code !== 'TRY_LATER' && code !== 'TOO_MANY_REQUESTS') throw error
      onConnection('lost', error)
    }
    if (signal?.aborted) return
    await sleep(server.clock, pauseMs, signal)
    pauseMs = Math.min(pauseMs * 2, limits.serverRetryMsMax)
  }
}

interface SentEvent {
  readonly event: string
  readonly id?: string
  readonly data: unknown
}

/** Fields of an event are lines; an empty line ends it. */
async function* eventsIn(lines: AsyncIterable<string>, opened: () => void): AsyncGenerator<SentEvent> {
  let fields: Record<string, string> = {}
  for await (const line of lines) {
    if (line === '') {
      const { event, id, data } = fields
      if (fields['retry'] !== undefined) opened()
      if (event !== undefined && data !== undefined)
        yield { event, data: JSON.parse(data) as unknown, ...(id !== undefined && { id }) }
      fields = {}
      continue
    }
    const at = line.indexOf(':')
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart()
  }
}
