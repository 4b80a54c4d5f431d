// Metrics: what is counted is what happened, labels are bounded, and nothing is paid for what nobody listens to.
import { type Announcement, activity, metrics, PermanentError, signal, workflow } from 'pawl'
import { server } from 'pawl/server'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { Bus } from '../../src/core/telemetry/announcement.ts'
import { counting } from '../../src/metrics/counting.ts'
import { Meter, merged, totalsOf } from '../../src/metrics/meter.ts'
import { metricsText } from '../../src/metrics/text.ts'
import { until, useStore, waitsFor } from '../workflows/each-store.ts'
import { promtool, samplesOf } from './scrape.ts'

const go = signal<string>('go')
const charge = activity('charge', { retry: { initial: '1ms' } }, async (_: number, ctx) => {
  if (ctx.attempt < 3) throw new Error('the bank is busy')
  return 'receipt'
})
const pack = activity('pack', { queue: 'packing' }, async () => 'box')
const ship = workflow('ship', async (ctx) => ctx.run(pack))
const order = workflow('order', async (ctx, n: number) => {
  await ctx.run(charge, n)
  await ctx.wait(go)
  return ctx.child(ship)
})
const doomed = workflow('doomed', async (ctx) => {
  await ctx.sideEffect(() => 1)
  throw new PermanentError('no luck')
})
const code = { workflows: [order, ship, doomed], activities: [charge, pack] }

afterEach(() => vi.restoreAllMocks())

describe.each(['memory', 'sqlite', 'postgres'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('O7: a scrape tells what happened', async () => {
    const engine = await bench.serve(code, { id: 'w1', concurrency: { workflows: 10, activities: 4 } })
    const counted = metrics(engine)
    const run = await engine.start(order, 1)
    await waitsFor(run, 'signal')
    await run.signal(go, 'now')
    const failed = await engine.start(doomed)
    await failed.result().catch(() => {})
    // The activity of the child waits for a worker of its queue.
    const waiting = await until(
      () => engine.host.load([{ type: 'queues' }]),
      ([loaded]) => loaded?.type === 'queues' && loaded.queues.some((each) => each.kind === 'task'),
    )
    expect(waiting).toMatchObject([{ queues: [{ kind: 'task', queue: 'packing', due: 1 }] }])
    const during = samplesOf(await counted.text())
    expect(during.get('pawl_queue_depth{queue="packing",kind="task"}')).toBe(1)
    expect(during.get('pawl_queue_oldest_seconds{queue="packing",kind="task"}')).toBeGreaterThanOrEqual(0)
    expect(during.get('pawl_workers{status="alive"}')).toBe(1)
    expect(counted.depthOf('packing')).toBe(1)
    const packer = engine.work({ id: 'w2', signals: false, queues: ['packing'] })
    await run.result()
    const done = 'pawl_runs_ended_total{workflow="order",status="completed"}'
    const samples = await until(
      async () => samplesOf(await counted.text()),
      (found) => found.get(done) === 1 && found.get('pawl_worker_load_ratio{worker="w1",kind="run"}') === 0,
    )
    const expected: Readonly<Record<string, number>> = {
      [done]: 1,
      'pawl_runs_started_total{workflow="order"}': 1,
      'pawl_runs_started_total{workflow="ship"}': 1,
      'pawl_runs_ended_total{workflow="ship",status="completed"}': 1,
      'pawl_runs_ended_total{workflow="doomed",status="failed"}': 1,
      'pawl_run_duration_seconds_count{workflow="order",status="completed"}': 1,
      'pawl_activities_scheduled_total{activity="charge"}': 1,
      'pawl_activities_scheduled_total{activity="pack"}': 1,
      'pawl_activities_ended_total{activity="charge",outcome="completed"}': 1,
      'pawl_activity_retries_total{activity="charge"}': 2,
      'pawl_activity_duration_seconds_count{activity="charge",outcome="failed"}': 2,
      'pawl_activity_duration_seconds_count{activity="charge",outcome="completed"}': 1,
      'pawl_schedule_to_start_seconds_count{queue="packing"}': 1,
      'pawl_tasks_claimed_total{queue="packing",kind="task"}': 1,
      'pawl_worker_load_ratio{worker="w1",kind="run"}': 0,
      'pawl_worker_backpressure{worker="w1"}': 0,
      'pawl_worker_backpressure{worker="w2"}': 0,
    }
    for (const [name, value] of Object.entries(expected)) expect([name, samples.get(name)]).toEqual([name, value])
    expect(samples.get('pawl_store_call_seconds_count{method="commit",ok="true"}')).toBeGreaterThan(3)
    expect(samples.get('pawl_claim_duration_seconds_count')).toBeGreaterThan(0)
    expect(samples.get('pawl_event_loop_delay_seconds{quantile="0.99"}')).toBeGreaterThanOrEqual(0)
    expect(promtool(['check', 'metrics'], await counted.text())).toBe('')
    await packer.drain()
    counted.close()
  })
})

describe('the server', () => {
  const bench = useStore('memory')

  test('O7: /metrics needs a token that may read, or a listed address', async () => {
    const engine = await bench.serve(code)
    const api = server(engine, { token: 'a-token-of-the-server', metricsFrom: ['127.0.0.1'] })
    const { token } = await api.tokens.create({ name: 'prometheus', scope: 'read', namespace: 'default' })
    const get = (headers: Record<string, string>): Promise<Response> =>
      api.fetch(new Request('http://localhost/metrics', { headers: { host: 'localhost', ...headers } }))
    expect((await get({})).status).toBe(401)
    expect((await get({ authorization: 'Bearer nonsense' })).status).toBe(401)
    const read = await get({ authorization: `Bearer ${token}` })
    expect([read.status, read.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    const samples = samplesOf(await read.text())
    expect(samples.get('pawl_http_requests_total{operation="metrics",status="401"}')).toBe(2)
    expect(samples.get('pawl_live_streams')).toBe(0)
    const { url } = await api.listen({ port: 0 })
    const listed = await fetch(`${url}/metrics`)
    expect([listed.status, samplesOf(await listed.text()).get('pawl_workers{status="alive"}')]).toEqual([200, 1])
    await api.close()
  })

  test('O7: a namespace reads its own metrics only, and a server without metrics has none', async () => {
    const [one, two] = [await bench.engine(code), await bench.engine(code)]
    const api = server({ one, two }, { token: 'a-token-of-the-server' })
    const { token } = await api.tokens.create({ name: 'prometheus', scope: 'read', namespace: 'two' })
    await api.fetch(get('/api/v1/runs', 'a-token-of-the-server'))
    const scraped = samplesOf(await (await api.fetch(get('/metrics', token))).text())
    expect([...scraped.keys()].filter((name) => name.includes('runs.list'))).toEqual([])
    const own = samplesOf(await (await api.fetch(get('/metrics', 'a-token-of-the-server'))).text())
    expect(own.get('pawl_http_requests_total{operation="runs.list",status="200"}')).toBe(1)
    await api.close()
    const off = server(one, { open: true, metrics: false })
    expect((await off.fetch(get('/metrics'))).status).toBe(404)
    await off.close()
    const withPages = server(one, { open: true, ui: true })
    const looked = await withPages.fetch(get('/metrics', undefined, 'text/html'))
    expect(looked.headers.get('content-type')).toMatch(/^text\/plain/)
    await withPages.close()
  })

  test('O7: webhooks are counted by status', async () => {
    const engine = await bench.engine(code)
    const api = server(engine, { open: true })
    const body = { method: 'POST', headers: { host: 'localhost', 'content-type': 'application/json' }, body: '1' }
    const { status } = await api.fetch(new Request('http://localhost/webhooks/wrong', body))
    const samples = samplesOf(await (await api.fetch(get('/metrics'))).text())
    expect(samples.get(`pawl_webhooks_total{status="${status}"}`)).toBe(1)
    await api.close()
  })
})

describe('costs and bounds', () => {
  const bench = useStore('memory')

  test('O7: a label has at most 200 values, and hostile ones stay in their place', async () => {
    const meter = new Meter()
    const count = counting(meter)
    const most = limits.metricLabelValues
    const hostile = 'a"} 1\npawl_evil 1 \\ \ud800'
    for (let n = 0; n < most + 50; n++) count(started(n === 0 ? hostile : `w-${n}`))
    const text = metricsText(meter.snapshot())
    const samples = samplesOf(text)
    expect(samples.size).toBe(most + 1)
    expect(samples.get('pawl_runs_started_total{workflow="other"}')).toBe(50)
    expect(text).toContain('pawl_runs_started_total{workflow="a\\"} 1\\npawl_evil 1 \\\\ \ufffd"} 1\n')
    expect(promtool(['check', 'metrics'], text)).toBe('')
  })

  test('O7: processes add up, and one that has ended leaves its totals', () => {
    const [one, two] = [new Meter(), new Meter()]
    for (const meter of [one, two]) {
      meter.add('pawl_runs_started_total', ['order'], 2)
      meter.observe('pawl_claim_duration_seconds', [], 30)
      meter.set('pawl_worker_backpressure', ['w'], meter === one ? 1 : 0)
    }
    const both = samplesOf(metricsText(merged([one.snapshot(), two.snapshot()])))
    expect(both.get('pawl_runs_started_total{workflow="order"}')).toBe(4)
    expect(both.get('pawl_claim_duration_seconds_bucket{le="0.05"}')).toBe(2)
    expect(both.get('pawl_claim_duration_seconds_bucket{le="0.025"}')).toBe(0)
    expect(both.get('pawl_claim_duration_seconds_sum')).toBeCloseTo(0.06)
    expect(both.get('pawl_worker_backpressure{worker="w"}')).toBe(1)
    expect(Object.keys(totalsOf(one.snapshot()))).toEqual(['pawl_runs_started_total', 'pawl_claim_duration_seconds'])
  })

  test('O7: without a listener, no announcement is built', async () => {
    let [asked, built] = [0, 0]
    const { value } = Object.getOwnPropertyDescriptor(Bus.prototype, 'announce') ?? {}
    const announce = value as (this: Bus, make: () => Announcement) => void
    vi.spyOn(Bus.prototype, 'announce').mockImplementation(function (this: Bus, make: () => Announcement) {
      asked++
      announce.call(this, () => {
        built++
        return make()
      })
    })
    const engine = await bench.serve(code, { queues: ['default', 'packing'] })
    const run = await engine.start(order, 1)
    await run.signal(go, 'now')
    await run.result()
    expect([asked > 0, built]).toEqual([true, 0])
    const counted = metrics(engine)
    await engine.execute(ship)
    expect(built).toBeGreaterThan(5)
    counted.close()
    built = 0
    await engine.execute(ship)
    expect(built).toBe(0)
  })

  test('O5: listeners and metrics that throw harm no run', async () => {
    vi.spyOn(Meter.prototype, 'add').mockImplementation(() => {
      throw new Error('a broken meter')
    })
    const broken = (): never => {
      throw new Error('a broken listener')
    }
    const engine = await bench.serve({ ...code, listeners: [broken] }, { queues: ['default', 'packing'] })
    const counted = metrics(engine)
    expect(await engine.execute(ship)).toBe('box')
    counted.close()
  })

  test('O7: queues are asked for once in a while, whoever scrapes how often', async () => {
    const engine = await bench.engine(code)
    const load = vi.spyOn(engine.host, 'load')
    const counted = metrics(engine)
    for (let n = 0; n < 5; n++) await counted.text()
    expect(load).toHaveBeenCalledTimes(1)
    counted.close()
  })

  test('O7: a store that does not answer leaves its numbers out of the scrape', async () => {
    const engine = await bench.engine(code)
    vi.spyOn(engine.host, 'load').mockRejectedValue(new Error('away'))
    const counted = metrics(engine)
    const names = [...samplesOf(await counted.text()).keys()]
    expect(names.some((name) => name.startsWith('pawl_build_info'))).toBe(true)
    expect(names.filter((name) => name.startsWith('pawl_queue') || name.startsWith('pawl_workers'))).toEqual([])
    counted.close()
  })
})

function get(path: string, token?: string, accept = '*/*'): Request {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return new Request(`http://localhost${path}`, { headers: { host: 'localhost', accept, ...authorization } })
}

function started(name: string): Announcement {
  const run = { runId: 'r', workflowId: 'w', queue: 'default', trace: { runId: 'r', generation: 1 } }
  return { type: 'run.started', at: new Date(0), workflow: name, ...run }
}
