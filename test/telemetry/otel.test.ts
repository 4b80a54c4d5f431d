// Traces, as a collector gets them over HTTP.
import { context, trace } from '@opentelemetry/api'
import { activity, signal, workflow } from 'pawl'
import { otel } from 'pawl/otel'
import { server } from 'pawl/server'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { useStore, waitsFor } from '../workflows/each-store.ts'
import { activeSpans, type CollectedSpan, Collector, sdk } from './collector.ts'

const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const approval = signal<string>('approval')
const heads: string[] = []
const charge = activity('charge', { retry: { initial: '1ms' } }, async (_: number, ctx) => {
  heads.push(ctx.traceparent)
  if (ctx.attempt === 1) throw new Error('the bank is busy')
  return 'receipt'
})
const pack = activity('pack', { queue: 'packing' }, async (_: number, ctx) => ctx.traceparent)
const ship = workflow('ship', async (ctx, n: number) => ctx.run(pack, n))
const order = workflow('order', async (ctx, n: number) => {
  await ctx.run(charge, n)
  const by = await ctx.wait(approval)
  return [by, await ctx.child(ship, n)]
})
const code = { workflows: [order, ship], activities: [charge, pack] }

describe.each(['memory', 'sqlite', 'postgres'] as const)('on %s', (kind) => {
  const bench = useStore(kind)
  let collector: Collector
  let url = ''
  let stop: () => void
  beforeAll(() => {
    stop = activeSpans()
  })
  afterAll(() => stop())
  beforeEach(async () => {
    heads.length = 0
    collector = new Collector()
    url = await collector.start()
  })
  afterEach(() => collector.stop())

  test('O6: an order with a retry, a signal and a child is one trace', async () => {
    const provider = sdk(url)
    const tracer = provider.getTracer('test')
    const tracing = otel({ tracer })
    const engine = await bench.serve({ ...code, ...tracing }, { queues: ['default', 'packing'] })
    const run = await engine.start(order, 1, { workflowId: 'o-1', traceparent: caller })
    await waitsFor(run, 'signal')
    const span = tracer.startSpan('clerk')
    const active = trace.setSpan(context.active(), span)
    await context.with(active, () => run.signal(approval, 'Ada'))
    const sent = span.spanContext()
    span.end()
    const [, packed] = await run.result()
    await engine.close()
    await provider.forceFlush()
    const traceId = run.runId.replaceAll('-', '')
    const [whole, child] = [runSpan(collector, 'order'), runSpan(collector, 'ship')]
    expect(new Set([whole, child].map((each) => each.traceId))).toEqual(new Set([traceId]))
    expect(whole.parentSpanId ?? '').toBe('')
    expect(whole.links).toMatchObject([{ traceId: caller.slice(3, 35), spanId: caller.slice(36, 52) }])
    expect(child).toMatchObject({ parentSpanId: whole.spanId, links: [] })
    expect(whole.attributes).toMatchObject({
      'durable.workflow.id': 'o-1',
      'durable.workflow.type': 'order',
      'durable.workflow.status': 'completed',
      'durable.workflow.generation': 1,
      'durable.worker.id': expect.any(String),
    })
    const attempts = collector.named('durable.activity.execute')
    const summary = attempts.map(({ attributes: of, parentSpanId, status }) => {
      return [of['durable.activity.type'], of['durable.activity.attempt'], parentSpanId, status === 2]
    })
    expect(summary).toEqual([
      ['charge', 1, whole.spanId, true],
      ['charge', 2, whole.spanId, false],
      ['pack', 1, child.spanId, false],
    ])
    expect(attempts.every((each) => each.traceId === traceId)).toBe(true)
    expect(attempts.map(textOf)).toEqual([...heads, packed])
    expect(attempts[0]?.attributes).toMatchObject({
      'durable.activity.id': 'activity:charge#1',
      'durable.task.priority': 0,
      'durable.task.schedule_to_start_latency_ms': expect.any(Number),
    })
    const linked = collector.named('durable.event.append').filter(({ links }) => links.length > 0)
    expect(linked.map(({ links, parentSpanId }) => [links[0]?.spanId, parentSpanId])).toEqual([
      [sent.spanId, whole.spanId],
    ])
  })

  test('O6: processes derive the same ids, and a replay emits nothing', async () => {
    const first = sdk(url)
    const one = await bench.serve({ ...code, ...otel({ tracer: first.getTracer('a') }) })
    const run = await one.start(order, 1)
    await waitsFor(run, 'signal')
    await one.close()
    await first.forceFlush()
    const before = collector.named('durable.activity.execute').map(({ spanId }) => spanId)
    expect(before.length).toBe(2)
    expect(collector.named('durable.workflow.run')).toEqual([])
    const second = sdk(url)
    const two = await bench.serve({ ...code, ...otel({ tracer: second.getTracer('b') }) })
    const three = await bench.serve({ ...code, ...otel({ tracer: second.getTracer('c') }) }, { queues: ['packing'] })
    await two.get(run.runId).signal(approval, 'Ada')
    await two.get(run.runId).result()
    await Promise.all([two.close(), three.close()])
    await second.forceFlush()
    const attempts = collector.named('durable.activity.execute')
    expect(attempts.map(({ attributes }) => attributes['durable.activity.type'])).toEqual(['charge', 'charge', 'pack'])
    const [whole, child] = [runSpan(collector, 'order'), runSpan(collector, 'ship')]
    expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual([whole.spanId, whole.spanId, child.spanId])
    expect(collector.named('durable.workflow.run').length).toBe(2)
    // The activity of the child was queued: its claim and its outcome are spans of its run.
    for (const name of ['durable.task.claim', 'durable.task.complete']) {
      const [span, ...more] = collector.named(name)
      expect([span?.parentSpanId, span?.traceId, more.length]).toEqual([child.spanId, whole.traceId, 0])
      expect(span?.attributes).toMatchObject({ 'durable.activity.type': 'pack', 'durable.task.priority': 0 })
    }
  })

  test('O6: with join, runs belong to the trace of their caller; without the ids, runs have no span', async () => {
    const provider = sdk(url, true)
    const tracer = provider.getTracer('test')
    const engine = await bench.serve({ ...code, ...otel({ tracer, join: true }) }, { queues: ['default', 'packing'] })
    const parent = tracer.startSpan('clerk')
    const active = trace.setSpan(context.active(), parent)
    const run = await context.with(active, () => engine.start(ship, 1))
    parent.end()
    const text = await run.result()
    await engine.close()
    await provider.forceFlush()
    const { traceId } = parent.spanContext()
    expect(text.slice(3, 35)).toBe(traceId)
    expect(collector.named('durable.activity.execute').map((span) => span.traceId)).toEqual([traceId])
    expect(collector.named('durable.workflow.run')).toEqual([])
  })
})

describe('the HTTP API', () => {
  const bench = useStore('memory')

  test('O6: a request has a span, which the run it starts links to', async () => {
    const stop = activeSpans()
    const collector = new Collector()
    const provider = sdk(await collector.start())
    const engine = await bench.serve({ ...code, ...otel({ tracer: provider.getTracer('test') }) })
    const api = server(engine, { open: true, metrics: false })
    const start = await call(api, '/runs', { workflow: 'order', input: 1 })
    const { runId } = (await start.json()) as { runId: string }
    const run = engine.get(runId)
    await waitsFor(run, 'signal')
    await call(api, `/runs/${runId}/signals/approval`, { payload: 'Ada' })
    await call(api, `/runs/${runId}/cancel`, { reason: 3 })
    await run.terminate('enough')
    await run.result().catch(() => {})
    await api.close()
    await engine.close()
    await provider.forceFlush()
    const requests = collector.spans.filter(({ name }) => name.startsWith('HTTP '))
    expect(requests.map(({ name }) => name)).toEqual([
      'HTTP POST /runs',
      'HTTP POST /runs/{run}/signals/{name}',
      'HTTP POST /runs/{run}/cancel',
    ])
    const [started, signalled, refused] = requests
    expect(started).toMatchObject({ traceId: caller.slice(3, 35), parentSpanId: caller.slice(36, 52) })
    expect(started?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/runs',
      'http.response.status_code': 201,
      'pawl.operation': 'runs.start',
      'pawl.request_id': start.headers.get('x-request-id'),
    })
    expect(refused?.attributes).toMatchObject({ 'http.response.status_code': 400, 'error.type': 'INPUT_INVALID' })
    expect(runSpan(collector, 'order').links[0]).toMatchObject({ spanId: started?.spanId })
    const appended = collector.named('durable.event.append').flatMap(({ links }) => links)
    expect(appended.map(({ spanId }) => spanId)).toEqual([signalled?.spanId])
    await collector.stop()
    stop()
  })

  test('O6: without OpenTelemetry the caller in the header reaches the run; what is no traceparent does not', async () => {
    const engine = await bench.engine(code)
    const api = server(engine, { open: true })
    const traced = await call(api, '/runs', { workflow: 'order', input: 1 })
    const plain = await call(api, '/runs', { workflow: 'order', input: 1 }, 'nonsense')
    const callers = await Promise.all(
      [traced, plain].map(async (response) => {
        const { runId } = (await response.json()) as { runId: string }
        const [loaded] = await engine.host.load([{ type: 'run', runId }])
        const extras = loaded?.type === 'run' ? loaded.run?.head.extras : undefined
        return JSON.parse(extras ?? '{}') as unknown
      }),
    )
    expect(callers).toEqual([{ trace: { caller } }, {}])
    await api.close()
  })
})

function call(api: ReturnType<typeof server>, path: string, body: object, traceparent = caller): Promise<Response> {
  const headers = { 'content-type': 'application/json', host: 'localhost', traceparent }
  const request = new Request(`http://localhost/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  return api.fetch(request)
}

function runSpan(collector: Collector, type: string): CollectedSpan {
  const found = collector
    .named('durable.workflow.run')
    .filter(({ attributes }) => attributes['durable.workflow.type'] === type)
  const [span] = found
  if (!span || found.length > 1) throw new Error(`there are ${found.length} spans of runs of '${type}'; expected one`)
  return span
}

function textOf({ traceId, spanId }: CollectedSpan): string {
  return `00-${traceId}-${spanId}-01`
}
