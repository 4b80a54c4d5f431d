// The trace of a caller, as starts and messages take it.

import { option } from '../base/described.ts'
import type { StoredTrace } from '../kernel/run-trace.ts'
import { parseTraceparent, traceparentText } from '../kernel/trace.ts'

export const tracing = {
  /** The span of the caller, in the format of W3C Trace Context. */
  traceparent: option<string>(
    'The span of the caller, in the format of W3C Trace Context.',
    'a traceparent such as 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    (value) => typeof value === 'string' && parseTraceparent(value) !== undefined,
    { otherwise: 'none', schema: { type: 'string', pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' } },
  ),
} as const

/** The caller of a message, in the version of the format that is stored. */
export function callerOf({ traceparent }: { readonly traceparent?: string }): { readonly traceparent?: string } {
  const place = traceparent === undefined ? undefined : parseTraceparent(traceparent)
  return place ? { traceparent: traceparentText(place) } : {}
}

/** What a run that somebody starts stores about its trace. */
export function startedTrace(options: {
  readonly traceparent?: string
  readonly joinTrace?: boolean
}): StoredTrace | undefined {
  const { traceparent: caller } = callerOf(options)
  return caller === undefined ? undefined : { caller, ...(options.joinTrace && { join: true }) }
}
