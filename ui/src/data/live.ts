// Live events of the server, and whether they come.
import type { LiveEvents, OperationInput } from 'pawl/client'
import { useEffect, useRef } from 'react'
import { client, noteRefusal } from './client.ts'
import { shared } from './store.ts'

export interface Connection {
  readonly state: 'none' | 'open' | 'lost'
  /** Since when it is so. */
  readonly since: number
}

/** The stream of the page. */
export const connection = shared<Connection>({ state: 'none', since: Date.now() })

/** Says whether the page hears of changes. */
export function noteConnection(state: Connection['state']): void {
  if (connection.get().state !== state) connection.set({ state, since: Date.now() })
}

/**
 * Follows a stream while the component is shown. Events come in batches, at most four a second, so that a busy server
 * does not make the page busy.
 */
export function useLive<N extends keyof LiveEvents>(
  stream: N,
  input: OperationInput<N> | undefined,
  onEvents: (events: readonly LiveEvents[N][]) => void,
): void {
  const handler = useRef(onEvents)
  useEffect(() => {
    handler.current = onEvents
  })
  const key = JSON.stringify(input)
  useEffect(() => {
    if (key === undefined) return
    const stop = new AbortController()
    const pending: LiveEvents[N][] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const flush = (): void => {
      timer = undefined
      handler.current(pending.splice(0))
    }
    const options = { signal: stop.signal, onConnection: noteConnection }
    const follow = async (): Promise<void> => {
      for await (const event of client().live(stream, revived(key) as OperationInput<N>, options)) {
        pending.push(event)
        timer ??= setTimeout(flush, 250)
      }
    }
    follow().catch((error: unknown) => {
      if (stop.signal.aborted) return
      noteRefusal(error)
      noteConnection('lost')
    })
    return () => {
      stop.abort()
      clearTimeout(timer)
      noteConnection('none')
    }
  }, [key, stream])
}

const times = new Set(['startedAfter', 'startedBefore', 'createdAt', 'updatedAt', 'endedAt'])

/** Streams and keys hold times as texts. */
export function revived(json: string): unknown {
  return JSON.parse(json, (key, value: unknown) => {
    return times.has(key) && typeof value === 'string' ? new Date(value) : value
  })
}
