// Live events through pawl/client: in order and once, also when the connection is cut.
import { createServer, type Socket } from 'node:net'
import { type Engine, open, signal, workflow } from 'pawl'
import { connect } from 'pawl/client'
import { server } from 'pawl/server'
import { expect, test } from 'vitest'

const go = signal<number>('go')
const counts = workflow('counts', async (ctx) => {
  let sum = 0
  for (let n = 0; n < 3; n++) sum += await ctx.wait(go)
  return sum
})
const quiet = { log: (): void => {} }

interface Place extends AsyncDisposable {
  readonly engine: Engine
  readonly url: string
  /** Cuts every connection. */
  readonly cut: () => void
}

async function openPlace(): Promise<Place> {
  const engine = await open('memory:', { workflows: [counts], logger: quiet })
  engine.work({ signals: false })
  const api = server(engine, { logger: quiet })
  const { port } = await api.listen({ port: 0 })
  const sockets = new Set<Socket>()
  const { connect: toServer } = await import('node:net')
  const proxy = createServer((socket) => {
    const other = toServer(port, '127.0.0.1')
    for (const each of [socket, other]) {
      sockets.add(each)
      each.on('error', () => {}).on('close', () => sockets.delete(each))
    }
    socket.pipe(other)
    other.pipe(socket)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port: proxyPort } = proxy.address() as { readonly port: number }
  const cut = (): void => {
    for (const each of sockets) each.destroy()
  }
  const close = async (): Promise<void> => {
    proxy.close()
    cut()
    await api.close({ grace: 0 })
    await engine.close()
  }
  return { engine, url: `http://127.0.0.1:${proxyPort}`, cut, [Symbol.asyncDispose]: close }
}

test('I1: a client follows a run to its end, each event once, though the connection is cut', async () => {
  await using place = await openPlace()
  const run = await place.engine.start(counts)
  const client = connect(place.url)
  const seqs: number[] = []
  const states: string[] = []
  const stream = client.live('live.run', { run: run.runId }, { onConnection: (state) => void states.push(state) })
  for await (const event of stream) {
    if (event.event !== 'history') continue
    seqs.push(event.data.seq)
    if (event.data.type !== 'WaitStarted') continue
    place.cut()
    await run.signal(go, 2)
  }
  expect(await run.result()).toBe(6)
  expect(seqs).toEqual(seqs.map((_, index) => index))
  expect(states.filter((state) => state === 'lost').length).toBeGreaterThanOrEqual(3)
  await client.close()
})

test('I1: a client follows the runs of a filter, and stops when it is told to', async () => {
  await using place = await openPlace()
  const client = connect(place.url)
  const stop = new AbortController()
  const seen: string[] = []
  let started: string | undefined
  for await (const event of client.live('live.runs', { workflow: 'counts' }, { signal: stop.signal })) {
    if (event.event === 'caughtUp' && started === undefined) started = (await place.engine.start(counts)).runId
    if (event.event !== 'run') continue
    seen.push(event.data.runId)
    stop.abort()
  }
  expect(seen).toEqual([started])
  await client.close()
})

test('I1: closing the client ends its streams', async () => {
  await using place = await openPlace()
  const { runId } = await place.engine.start(counts)
  const client = connect(place.url)
  const follow = async (): Promise<void> => {
    for await (const event of client.live('live.run', { run: runId })) if (event.event === 'state') await client.close()
  }
  await expect(follow()).rejects.toMatchObject({ code: 'WORKER_STOPPED' })
})
