// Spans around what is in progress: attempts and requests; and the active span of callers, which starts and messages
// take along.
import { context, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import {
  attemptSpanOf,
  CompletedLater,
  type Interceptor,
  parseTraceparent,
  runSpanOf,
  traceparentText,
} from '../core/index.ts'
import { contextOf, startSpanAt } from './ids.ts'
import { known } from './spans.ts'

export function tracingInterceptor(tracer: Tracer, join: boolean): Interceptor {
  return {
    async activity(call, next) {
      const { ctx, name, queue, priority, waitedMs } = call
      const span = startSpanAt(tracer, attemptSpanOf(call.trace, ctx.stepKey, ctx.attempt), {
        name: 'durable.activity.execute',
        parent: runSpanOf(call.trace),
        attributes: known({
          'durable.activity.id': ctx.stepKey,
          'durable.activity.type': name,
          'durable.activity.attempt': ctx.attempt,
          'durable.workflow.id': ctx.workflowId,
          'durable.task.queue': queue,
          'durable.task.priority': priority,
          'durable.task.schedule_to_start_latency_ms': waitedMs,
        }),
      })
      // What the body passes on continues from this span.
      Reflect.set(ctx, 'traceparent', textOf(span))
      return inside(span, () => next(call))
    },
    start(call, next) {
      const { traceparent = activeTraceparent() } = call.options
      if (traceparent === undefined) return next(call)
      const { joinTrace = join } = call.options
      return next({ ...call, options: { ...call.options, traceparent, ...(joinTrace && { joinTrace }) } })
    },
    client(call, next) {
      const traceparent = activeTraceparent()
      const isMessage = call.operation === 'signal' || call.operation === 'update'
      if (!isMessage || traceparent === undefined) return next(call)
      const [message, payload, options = {}] = call.args
      return next({ ...call, args: [message, payload, { traceparent, ...(options as object) }] })
    },
    async request(call, next) {
      const caller = call.traceparent === undefined ? undefined : parseTraceparent(call.traceparent)
      const active = context.active()
      // The program that mounts the server may record a span of the request itself.
      const parent = trace.getSpan(active) || !caller ? active : contextOf(caller, active)
      const attributes = {
        'http.request.method': call.method,
        'http.route': call.route,
        'pawl.operation': call.operation,
        'pawl.request_id': call.requestId,
      }
      const span = tracer.startSpan(`HTTP ${call.method} ${call.route}`, { kind: SpanKind.SERVER, attributes }, parent)
      return inside(span, async () => {
        const answer = await next({ ...call, traceparent: textOf(span) })
        span.setAttribute('http.response.status_code', answer.status)
        if (answer.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
        if (answer.error) span.setAttribute('error.type', answer.error)
        return answer
      })
    },
  }
}

/** Makes the call with the span active, and ends the span with it. */
async function inside<T>(span: Span, call: () => Promise<T>): Promise<T> {
  try {
    return await context.with(trace.setSpan(context.active(), span), call)
  } catch (error) {
    // A body that leaves its step to be completed from outside has not failed.
    if (!(error instanceof CompletedLater)) {
      const message = error instanceof Error ? error.message : String(error)
      span.setStatus({ code: SpanStatusCode.ERROR, message })
      span.recordException(error instanceof Error ? error : message)
    }
    throw error
  } finally {
    span.end()
  }
}

function activeTraceparent(): string | undefined {
  const span = trace.getActiveSpan()
  return span && trace.isSpanContextValid(span.spanContext()) ? textOf(span) : undefined
}

function textOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return traceparentText({ traceId, spanId, flags: traceFlags.toString(16).padStart(2, '0') })
}
