// Traces of runs, metrics and logs, without a network: spans stay in memory here, and go to a collector in production.
import assert from 'node:assert/strict'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { activity, jsonLogger, metrics, open, workflow } from 'pawl'
import { otel, pawlIdGenerator } from 'pawl/otel'

const exporter = new InMemorySpanExporter()
const spanProcessors = [new SimpleSpanProcessor(exporter)]
trace.setGlobalTracerProvider(new BasicTracerProvider({ idGenerator: pawlIdGenerator(), spanProcessors }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const charge = activity('charge', async (cents: number, ctx) => {
  // Services that are called by hand continue the trace with this header.
  ctx.log.info('charging', { cents, traceparent: ctx.traceparent })
  return `receipt-${cents}`
})
const order = workflow('order', async (ctx, cents: number) => ctx.run(charge, cents))

const lines: string[] = []
const logger = jsonLogger({ write: (line) => void lines.push(line) })
const pawl = await open('sqlite:./pawl.db', { workflows: [order], activities: [charge], logger, ...otel() })
const counted = metrics(pawl)
pawl.work()

// The span in which a run is started: the run links to it.
await trace.getTracer('shop').startActiveSpan('checkout', async (span) => {
  await pawl.execute(order, 1999)
  span.end()
})
await pawl.close()

const text = await counted.text()
counted.close()
const spans = exporter.getFinishedSpans()
for (const { name, attributes } of spans) console.log(name, attributes)
console.log(lines.join(''))
console.log(text.match(/^pawl_runs_ended_total.*$/m)?.[0])

const run = spans.find(({ name }) => name === 'durable.workflow.run')
const attempt = spans.find(({ name }) => name === 'durable.activity.execute')
const checkout = spans.find(({ name }) => name === 'checkout')
assert.equal(attempt?.parentSpanContext?.spanId, run?.spanContext().spanId)
assert.equal(run?.links[0]?.context.spanId, checkout?.spanContext().spanId)
assert.match(text, /^pawl_runs_ended_total\{workflow="order",status="completed"\} 1$/m)
assert.match(lines.join(''), /"message":"charging".*"traceId":"[0-9a-f]{32}"/)
