// Spans with ids of pawl's choice. The API of OpenTelemetry has no way to set the id of a span, so the SDK asks a
// generator, which answers with the chosen ids while such a span is started.
import { type Context, ROOT_CONTEXT, type Span, type SpanOptions, type Tracer, trace } from '@opentelemetry/api'
import type { SpanPlace } from '../core/index.ts'
import { systemRandom } from '../core/runtime/random.ts'

/** What the SDK of OpenTelemetry takes as `idGenerator`. */
export interface IdGenerator {
  generateTraceId(): string
  generateSpanId(): string
}

let chosen: SpanPlace | undefined

/**
 * The `idGenerator` of the SDK: spans of runs and attempts get the ids that every process derives, and all others get
 * random ones. Without it, runs have no span of their own.
 */
export function pawlIdGenerator(): IdGenerator {
  return {
    generateTraceId: () => chosen?.traceId ?? randomHex(32),
    generateSpanId: () => chosen?.spanId ?? randomHex(16),
  }
}

/** Starts a span under the id that belongs to it, if the SDK has the generator. */
export function startSpanAt(
  tracer: Tracer,
  place: SpanPlace,
  { name, parent, ...options }: SpanOptions & { readonly name: string; readonly parent: SpanPlace | undefined },
): Span {
  chosen = place
  try {
    return tracer.startSpan(name, options, parent ? contextOf(parent) : ROOT_CONTEXT)
  } finally {
    chosen = undefined
  }
}

/** True if the SDK has the generator. */
export function isAt(span: Span, { traceId, spanId }: SpanPlace): boolean {
  const given = span.spanContext()
  return given.spanId === spanId && given.traceId === traceId
}

/** A context in which a span of another process is active. */
export function contextOf(place: SpanPlace, context: Context = ROOT_CONTEXT): Context {
  return trace.setSpanContext(context, spanContextOf(place))
}

export function spanContextOf({ traceId, spanId, flags }: SpanPlace): {
  traceId: string
  spanId: string
  traceFlags: number
  isRemote: true
} {
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
}

function randomHex(digits: number): string {
  let text = ''
  while (text.length < digits) text += systemRandom.integer().toString(16).padStart(12, '0')
  return text.slice(0, digits)
}
