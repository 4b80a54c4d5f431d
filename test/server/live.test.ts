// Live events by real servers: of a run, every event once and in order; of a window, what a list shows.
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Announcement, type Engine, open, PermanentError, type RunHandle, signal, workflow } from 'pawl'
import { type Server, server } from 'pawl/server'
import { afterEach, describe, expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { watchersOf } from '../../src/operations/handlers/live.ts'
import type { Counts } from '../../src/operations/live/windows.ts'
import { SeededRandom } from '../../src/testing/seeded-random.ts'
import { allOf, type Connect, EventStream, type SentEvent } from '../support/sse.ts'
import { until, useStore } from '../workflows/each-store.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const go = signal<number>('go')

/** Steps one after another and side by side, so that turns have one event or many. */
const busy = workflow('busy', async (ctx, steps: number) => {
  for (let n = 0; n < steps; n++) {
    if (n % 3 === 0) await Promise.all([1, 2, 3].map((each) => ctx.run(`part${each}`, () => ({ n, each }))))
    else await ctx.run('step', () => n)
  }
  return steps
})
/** 200 events with 800 characters each in every round. */
const wide = workflow('wide', async (ctx, left: number) => {
  for (let n = 0; n < left; n++) {
    await Promise.all(Array.from({ length: 100 }, () => ctx.run('step', () => 'x'.repeat(1_500))))
  }
})
const rounds = workflow('rounds', async (ctx, left: number): Promise<number> => {
  await ctx.run('round', () => left)
  if (left > 0) return ctx.continueAsNew(left - 1)
  await ctx.wait(go)
  return 0
})
let fails = true
const shaky = workflow('shaky', async (ctx) => {
  await ctx.run('first', () => 1)
  await ctx.run('second', () => {
    if (fails) throw new PermanentError('not yet')
    return 2
  })
})
const waits = workflow('waits', async (ctx) => ctx.wait(go))
const workflows = [busy, wide, rounds, shaky, waits]

const servers: Server[] = []
afterEach(async () => {
  for (const each of servers.splice(0)) await each.close()
})

async function serve(engine: Engine): Promise<string> {
  const api = server(engine)
  servers.push(api)
  return `${(await api.listen({ port: 0 })).url}/api/v1`
}

/** Every event of every generation that is kept, as JSON. */
async function historyOf(run: RunHandle<unknown>): Promise<object[]> {
  const { generation: newest } = await run.describe()
  const events: object[] = []
  for (let generation = Math.max(1, newest - limits.generationsKept + 1); generation <= newest; generation++) {
    for await (const event of run.history({ generation })) {
      events.push({ id: `${generation}.${event.seq}`, data: JSON.parse(JSON.stringify(event)) as unknown })
    }
  }
  return events
}

function eventsIn(stream: EventStream): object[] {
  return stream.named('history').map(({ id, data }) => ({ id, data }))
}

const eventsOf = (url: string, { runId }: { readonly runId: string }) => `${url}/runs/${runId}/events?payloads=true`

async function follow(url: string, run: RunHandle<unknown>, options?: Connect): Promise<EventStream> {
  return allOf(eventsOf(url, run), options)
}

describe.each(['memory', 'sqlite', 'postgres'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('live.run has every event once, in order, on the server with the worker and on another', async () => {
    const engine = await bench.serve({ workflows })
    const [here, there] = [await serve(engine), await serve(await bench.engine())]
    const run = await engine.start(busy, 60)
    const streams = await Promise.all([follow(here, run), follow(there, run), follow(there, run)])
    const history = await historyOf(run)
    expect(history.length).toBeGreaterThan(180)
    for (const stream of streams) {
      expect(eventsIn(stream)).toEqual(history)
      expect(stream.events[0]).toMatchObject({ event: 'state', id: undefined })
      const last = stream.events.at(-1)
      expect(last).toMatchObject({ event: 'end', id: `1.${history.length}`, data: { status: 'completed' } })
      expect(stream.named('end')).toHaveLength(1)
      expect(stream.retry).toBe(1_000)
      expect((await EventStream.connect(eventsOf(here, run), { after: last?.id })).status).toBe(204)
      // A client that lost its connection just before the end is told when it comes again.
      const again = await follow(there, run, { after: stream.named('history').at(-1)?.id })
      expect(again.events.map(({ event }) => event)).toEqual(['state', 'end'])
    }
  })

  test('live.run continues after any event, also one in the middle of a turn; so does run.history', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(engine)
    const run = await engine.start(busy, 6)
    await run.result()
    const history = await historyOf(run)
    for (const at of history.keys()) {
      const rest = history.slice(at + 1)
      const stream = await follow(url, run, { after: `1.${at}` })
      expect(eventsIn(stream)).toEqual(rest)
      const read: unknown[] = []
      for await (const event of run.history({ after: at })) read.push(JSON.parse(JSON.stringify(event)))
      expect(read).toEqual(rest.map((event) => (event as { data: unknown }).data))
    }
    const byField = await allOf(`${url}/runs/${run.runId}/events?after=1.3`)
    expect(byField.named('history')[0]).toMatchObject({ id: '1.4' })
    expect(byField.events.every(({ data }) => !JSON.stringify(data).includes('"result"'))).toBe(true)
  })

  test('live.run refuses a position that the store does not have, and waits for one that comes', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(engine)
    const run = await engine.start(rounds, 1)
    await run.signal(go, 1)
    await run.result()
    const { generation } = await run.describe()
    const end = (await follow(url, run)).events.at(-1)?.id ?? ''
    const [, seq] = end.split('.').map(Number)
    const status = async (after: string) => (await EventStream.connect(eventsOf(url, run), { after })).status
    expect(await status(end)).toBe(204)
    const ahead = [`${generation}.${Number(seq) + 1}`, `${generation}.999`, `${generation + 1}.0`]
    expect(await Promise.all(ahead.map(status))).toEqual([400, 400, 400])
    // As after a fail-over to a server that reads the store a little later.
    const late = await engine.start(rounds, 1)
    const stream = EventStream.connect(eventsOf(url, late), { after: `${generation}.0` })
    await late.signal(go, 1)
    await late.result()
    expect((await stream).status).toBe(200)
    await (await stream).ended
    const history = await historyOf(late)
    expect(eventsIn(await stream)).toEqual(history.filter((event) => (event as { id: string }).id > `${generation}.0`))
  })

  test('live.run goes on through continue-as-new, from a server that hears of nothing', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(await bench.engine())
    const run = await engine.start(rounds, 4)
    const stream = await EventStream.connect(eventsOf(url, run))
    await stream.until(() => stream.named('state').some(({ data }) => JSON.stringify(data).includes('"signal"')))
    await run.signal(go, 1)
    await stream.ended
    expect(eventsIn(stream)).toEqual(await historyOf(run))
    expect(stream.events.at(-1)).toMatchObject({ event: 'end', data: { generation: 5 } })
  })

  test('generations that were forgotten are a gap', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(engine)
    const run = await engine.start(rounds, 19)
    await until(
      () => run.describe(),
      ({ generation, status }) => generation === 20 && status === 'waiting',
    )
    const stream = await EventStream.connect(eventsOf(url, run))
    const history = await historyOf(run)
    await stream.until(() => stream.named('history').length >= history.length)
    expect(stream.named('gap')).toEqual([{ event: 'gap', id: '5.0', data: { from: 1, to: 4 } }])
    expect(eventsIn(stream)).toEqual(history)
    const later = await EventStream.connect(eventsOf(url, run), { after: '3.2' })
    await later.until(() => later.named('history').length >= history.length)
    expect(later.named('gap')).toEqual([{ event: 'gap', id: '5.0', data: { from: 3, to: 4 } }])
    stream.close()
    later.close()
  })

  test('a run that is retried after its end goes on with its next generation', async () => {
    fails = true
    const engine = await bench.serve({ workflows })
    const url = await serve(engine)
    const run = await engine.start(shaky)
    const first = await follow(url, run)
    expect(first.events.at(-1)).toMatchObject({ event: 'end', data: { status: 'failed', generation: 1 } })
    const after = first.events.at(-1)?.id
    expect((await EventStream.connect(eventsOf(url, run), { after })).status).toBe(204)
    fails = false
    await run.retry()
    const second = await follow(url, run, { after })
    expect([...eventsIn(first), ...eventsIn(second)]).toEqual(await historyOf(run))
    expect(second.events.at(-1)).toMatchObject({ event: 'end', data: { status: 'completed', generation: 2 } })
  })

  test('a client that stops reading costs little, and misses nothing', { timeout: 120_000 }, async () => {
    const engine = await bench.serve({ workflows })
    let loads = 0
    const listeners = [({ type, ...call }: Announcement) => void (type === 'store.call' && isLoad(call) && loads++)]
    const url = await serve(await bench.engine({ listeners }))
    const run = await engine.start(wide, 100)
    const counted = counter()
    const stream = await EventStream.connect(eventsOf(url, run), { onEvent: counted.take, paused: true })
    await run.result()
    await settled(() => loads)
    const before = loads
    const held = collected()
    const others = Array.from({ length: 10 }, () => EventStream.connect(eventsOf(url, run), { paused: true }))
    const paused = await Promise.all(others)
    await settled(() => loads)
    const used = collected() - held
    for (const each of paused) each.close()
    // Each of them would be sent 17 MB. It has a page in hand, and its socket a few pieces.
    expect(used).toBeLessThan(10 * 6 * 1_048_576)
    expect(before).toBeLessThan(100)
    stream.response.resume()
    await stream.ended
    expect(counted.ids).toEqual((await historyOf(run)).map((event) => (event as { id: string }).id))
    expect(counted.ids.length).toBeGreaterThan(20_000)
    expect(counted.last).toMatchObject({ event: 'end', data: { status: 'completed' } })
  })

  test('live.runs converges to the list under random changes, by a filter and by ids', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(await bench.engine())
    const random = new SeededRandom(7)
    const runs = await engine.startMany(
      waits,
      Array.from({ length: 12 }, () => ({}) as never),
    )
    const ids = runs.map(({ runId }) => runId)
    const newest = new Window(await EventStream.connect(`${url}/events?workflow=waits&status=waiting,paused&limit=10`))
    const others = new Window(await EventStream.connect(`${url}/events?runs=${ids.join(',')}`))
    for (let n = 0; n < 40; n++) {
      const run = runs[random.below(runs.length)] as RunHandle<unknown>
      const change = random.below(5)
      if (change === 0) await engine.start(waits)
      else if (change === 1) await run.signal(go, 1).catch(() => {})
      else if (change === 2) await run.pause().catch(() => {})
      else if (change === 3) await run.resume().catch(() => {})
      else if (n % 4 === 0) await run.cancel()
      if (n % 10 === 9) {
        await newest.equals(async () => {
          const filter = { workflow: 'waits', status: ['waiting', 'paused'] as const }
          return (await engine.list(filter, { limit: 10 })).items
        })
        await others.equals(() => Promise.all(runs.map((each) => each.describe())))
      }
    }
    newest.stream.close()
    others.stream.close()
  })
})

function counter() {
  const counted = {
    ids: [] as (string | undefined)[],
    last: undefined as SentEvent | undefined,
    take: (event: SentEvent) => {
      if (event.event === 'history') counted.ids.push(event.id)
      counted.last = event
    },
  }
  return counted
}

/** Resolves when a number has stopped changing. */
async function settled(read: () => number): Promise<void> {
  for (let last = -1; last !== read(); ) {
    last = read()
    await pause(500)
  }
}

function isLoad(call: object): boolean {
  return 'method' in call && call.method === 'load'
}

/** The bytes in use after a collection of garbage. */
function collected(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** What a client of a window keeps. */
class Window {
  readonly stream: EventStream
  readonly #rows = new Map<string, string>()
  #taken = 0

  constructor(stream: EventStream) {
    this.stream = stream
  }

  #take({ event, data }: SentEvent): void {
    const { runId, status, generation } = data as Record<string, string>
    if (event === 'reset') this.#rows.clear()
    if (event === 'run') this.#rows.set(runId ?? '', `${runId} ${status} ${generation}`)
    if (event === 'left') expect(this.#rows.delete(runId ?? '')).toBe(true)
  }

  /** Once nothing changes, the rows are those of a list. */
  async equals(list: () => Promise<readonly { runId: string; status: string; generation: number }[]>): Promise<void> {
    const read = async () => {
      const { events } = this.stream
      for (; this.#taken < events.length; this.#taken++) this.#take(events[this.#taken] as SentEvent)
      const wanted = (await list()).map(({ runId, status, generation }) => `${runId} ${status} ${generation}`)
      return { wanted: wanted.toSorted(), rows: [...this.#rows.values()].toSorted(), last: events.at(-1)?.event }
    }
    await until(
      read,
      ({ wanted, rows, last }) => last === 'caughtUp' && JSON.stringify(wanted) === JSON.stringify(rows),
    )
  }
}

describe('on memory', () => {
  const bench = useStore('memory')

  test('counts are those of the filter', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(engine)
    const stream = await EventStream.connect(`${url}/events?workflow=waits&counts=true&limit=1`)
    await stream.until((events) => events.at(-1)?.event === 'caughtUp')
    expect(stream.events.map(({ event }) => event)).toEqual(['reset', 'counts', 'caughtUp'])
    const runs = [await engine.start(waits), await engine.start(waits)]
    await runs[0]?.signal(go, 1)
    await stream.until(() => {
      const { count, byStatus } = (stream.named('counts').at(-1)?.data ?? { byStatus: {} }) as Counts
      return count === 2 && byStatus.waiting === 1 && byStatus.completed === 1
    })
    stream.close()
  })

  test('a stream leaves nothing behind when its client or its server goes, and a server tells the client', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(engine)
    const run = await engine.start(waits)
    const { runs, windows } = watchersOf(engine)
    const places = [`${url}/runs/${run.runId}/events`, `${url}/events`, `${url}/events?runs=${run.runId}`]
    for (const ends of ['client', 'server']) {
      const streams = await Promise.all(places.map((place) => EventStream.connect(place)))
      for (const stream of streams) await stream.until((events) => events.length > 1)
      await until(
        () => runs.size,
        (size) => size === 1,
      )
      expect(windows.size).toBe(2)
      if (ends === 'client') for (const stream of streams) stream.close()
      else await servers.pop()?.close()
      const complete = await Promise.all(streams.map(({ ended }) => ended))
      expect(complete).toEqual(places.map(() => ends === 'server'))
      await until(
        () => runs.size + windows.size,
        (size) => size === 0,
      )
    }
  })

  test('a token has so many streams, and gets the place of one that ended', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(engine)
    const run = await engine.start(waits)
    const place = `${url}/runs/${run.runId}/events`
    const streams = await Promise.all(
      Array.from({ length: limits.liveStreamsPerToken }, () => EventStream.connect(place)),
    )
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]))
    const refused = await fetch(place)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
    expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
    // Other requests are not counted with them, nor is the head of a stream.
    expect((await fetch(`${url}/runs/${run.runId}`)).status).toBe(200)
    streams.pop()?.close()
    const again = await until(
      () => EventStream.connect(place),
      ({ status }) => status === 200,
    )
    for (const stream of [...streams, again]) stream.close()
    await until(
      async () => (await fetch(place, { method: 'HEAD' })).status,
      (status) => status === 200,
    )
  })

  test('a request that cannot be answered has a status', async () => {
    const engine = await bench.serve({ workflows })
    const url = await serve(engine)
    const { runId } = await engine.start(waits)
    const status = async (path: string, after?: string) =>
      (await EventStream.connect(`${url}${path}`, { after })).status
    expect(await status('/runs/w:nobody/events')).toBe(404)
    expect(await status(`/runs/${runId}/events?after=x`)).toBe(400)
    expect(await status(`/runs/${runId}/events`, '0.1')).toBe(400)
    expect(await status(`/events?runs=${runId}&workflow=waits`)).toBe(400)
    expect(await status(`/events?runs=${runId}&limit=5`)).toBe(400)
    expect(await status('/events?limit=201')).toBe(400)
    expect(await status('/events?runs=w:nobody')).toBe(200)
  })
})

test('I8 a client that left before its stream began leaves nothing behind', async () => {
  await using engine = await open('memory:')
  const api = server(engine, { open: true })
  const signal = AbortSignal.abort()
  for (const workflow of ['a', 'b']) {
    await api.fetch(new Request(`http://localhost/api/v1/events?workflow=${workflow}`, { signal }))
  }
  expect(watchersOf(engine).windows.size).toBe(0)
  await api.close()
})

test('I8 an attribute that JSON cannot say is refused, not a failure of the server', async () => {
  await using engine = await open('memory:')
  const api = server(engine, { open: true })
  const body = JSON.stringify({ json: { attributes: { x: '5' } }, notes: [['bigint', 'attributes', 'x']] })
  const request = { method: 'POST', body, headers: { 'content-type': 'application/vnd.pawl+json' } }
  const { status } = await api.fetch(new Request('http://localhost/api/v1/call/live.runs', request))
  expect(status).toBe(400)
  await api.close()
})

test('I8 a stream ends when its client leaves, also after its request was collected as garbage', async () => {
  await using engine = await open('memory:')
  const api = server(engine, { open: true })
  const client = new AbortController()
  const streams = Array.from({ length: 20 }, async () => {
    const response = await api.fetch(new Request('http://localhost/api/v1/events', { signal: client.signal }))
    return response.text()
  })
  for (let times = 0; times < 5; times++) {
    await pause(10)
    collectGarbage()
  }
  client.abort()
  expect((await Promise.allSettled(streams)).length).toBe(20)
  await api.close()
})
