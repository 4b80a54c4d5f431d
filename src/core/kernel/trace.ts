// Distributed traces, as W3C Trace Context has them. The ids follow from the run, so that every process that works on
// it derives the same ones; nothing here knows who records spans.

import { digest } from '../base/digest.ts'
import type { Head } from './run.ts'
import type { RunTrace, StoredTrace } from './run-trace.ts'

/** The place of a span, as `traceparent` has it. */
export interface SpanPlace {
  readonly traceId: string
  readonly spanId: string
  /** Two hexadecimal digits; 01 means that the trace is recorded. */
  readonly flags: string
}

const traceparent = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

/** Undefined if the text is no `traceparent`. Later versions of the format begin like this one. */
export function parseTraceparent(text: string): SpanPlace | undefined {
  const [, traceId, spanId, flags] = traceparent.exec(text) ?? []
  return traceId && spanId && flags ? { traceId, spanId, flags } : undefined
}

export function traceparentText({ traceId, spanId, flags }: SpanPlace): string {
  return `00-${traceId}-${spanId}-${flags}`
}

export function traceOf(head: Head): RunTrace {
  const { runId, generation, parent } = head
  return { runId, generation, ...(parent && { parent }), ...storedTraceOf(head) }
}

/** What a task of a run stores about its trace; undefined if it follows from the run id. */
export function storedTraceOf({ parent, extras: { trace } }: Head): StoredTrace | undefined {
  if (parent || trace?.root === undefined) return trace
  // A fork has the extras of the run it was made of, and is nobody's child.
  const { root: _, ...rest } = trace
  return rest
}

/** What a child stores about its trace. */
export function traceForChild(head: Head): StoredTrace {
  const { root = head.runId, caller, join } = traceOf(head)
  return { root, ...(caller !== undefined && { caller }), ...(join && { join }) }
}

/** The id of the trace that a run belongs to. */
export function traceIdOf({ root, runId, caller, join }: Pick<RunTrace, 'root' | 'runId' | 'caller' | 'join'>): string {
  const joined = join && caller !== undefined ? parseTraceparent(caller) : undefined
  return joined?.traceId ?? (root ?? runId).replaceAll('-', '')
}

/** The span of one generation of a run. */
export function runSpanOf(trace: RunTrace): SpanPlace {
  const spanId = runSpanId(trace)
  const { caller } = trace
  const flags = (caller !== undefined && parseTraceparent(caller)?.flags) || '01'
  return { traceId: traceIdOf(trace), spanId, flags }
}

/** The span of one attempt at a step. */
export function attemptSpanOf(trace: RunTrace, key: string, attempt: number): SpanPlace {
  const { runId, generation } = trace
  return { ...runSpanOf(trace), spanId: digest(JSON.stringify([runId, generation, key, attempt])) }
}

/** The span that the span of the run is a child of, if there is one. */
export function parentSpanOf(trace: RunTrace): SpanPlace | undefined {
  const { parent, caller, join } = trace
  if (parent) return { ...runSpanOf(trace), spanId: runSpanId(parent) }
  return join && caller !== undefined ? parseTraceparent(caller) : undefined
}

function runSpanId({ runId, generation }: Pick<RunTrace, 'runId' | 'generation'>): string {
  return digest(JSON.stringify([runId, generation]))
}
