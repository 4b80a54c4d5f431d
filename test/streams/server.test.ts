// Streams over HTTP: the typed client, plain requests, the command line, and readers that change servers.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Engine, open, signal, stream, workflow } from '../../src/index.ts'
import { connect, type RemoteClient } from '../../src/remote/index.ts'
import { server } from '../../src/server/index.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-streams-http-'))
})
afterAll(() => rm(folder, { recursive: true }))

const dates = stream<{ at: Date; word: string }>('dates')
const go = signal('go')
const at = new Date('2026-11-19T08:00:00Z')

const flow = workflow('flow', async (ctx) => {
  ctx.stream(dates).write({ at, word: 'begin' })
  await ctx.run('write', { retry: { initial: '1ms' } }, async (step) => {
    await step.stream(dates).write({ at, word: `attempt ${step.attempt}` })
    if (step.attempt === 1) throw new Error('not yet')
  })
  await ctx.wait(go)
  ctx.stream(dates).write({ at, word: 'end' })
})

type Fetch = (place: string, init?: RequestInit) => Promise<Response>

/** Two servers on one store; only the first works. */
async function serversOf(): Promise<{ engine: Engine; fetches: readonly Fetch[]; client: RemoteClient }> {
  const url = `sqlite:${join(folder, `${Math.random()}.db`)}`
  const fetches: Fetch[] = []
  const engines: Engine[] = []
  for (const works of [true, false]) {
    const engine = await open(url, { workflows: [flow], logger: { log: () => {} } })
    const api = server(engine, { open: true })
    onTestFinished(async () => {
      await api.close()
      await engine.close()
    })
    if (works) engine.work({ lease: '5s' })
    engines.push(engine)
    fetches.push((place, init) => api.fetch(new Request(place, init)))
  }
  const [engine] = engines as [Engine]
  const [fetch] = fetches as [Fetch]
  return { engine, fetches, client: connect('http://localhost', { fetch }) }
}

const base = 'http://localhost/api/v1'

/** Reads server-sent events until one of this name has come. */
async function events(response: Response, until: string): Promise<{ id?: string; event: string; data: never }[]> {
  let text = ''
  for await (const part of response.body ?? []) {
    text += Buffer.from(part).toString()
    if (text.includes(`event: ${until}\n`) && text.endsWith('\n\n')) break
  }
  return text.split('\n\n').flatMap((block) => {
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)))
    const { id, event, data } = fields as Record<string, string>
    return event === undefined || data === undefined
      ? []
      : [{ ...(id && { id }), event, data: JSON.parse(data) as never }]
  })
}

test('the client of a server reads what the engine reads, with every value as it was', async () => {
  const { engine, client } = await serversOf()
  const { runId } = await engine.start(flow)
  const here = engine.get(runId)
  const there = client.get(runId)
  const reading: string[] = []
  for await (const { offset, chunk, part } of there.stream(dates)) {
    expect(chunk.at).toEqual(at)
    reading.push(`${offset} ${chunk.word} of part ${part.number}, attempt ${part.attempt}, keeps ${part.keep}`)
    if (chunk.word === 'attempt 2') await there.signal(go)
  }
  expect(reading).toEqual([
    '0 begin of part 0, attempt 0, keeps 0',
    '1 attempt 1 of part 1, attempt 1, keeps 0',
    '2 attempt 2 of part 2, attempt 2, keeps 0',
    '3 end of part 0, attempt 0, keeps 0',
  ])
  const valid = ['begin', 'attempt 2', 'end'].map((word) => ({ at, word }))
  expect(await there.streamed(dates)).toEqual(valid)
  expect(await here.streamed(dates)).toEqual(valid)
  expect(await there.streams()).toEqual(await here.streams())
  await expect(client.get('00000000-0000-7000-8000-000000000000').streams()).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
  })
})

test('plain requests get pages; server-sent events go on behind Last-Event-ID, on any server', async () => {
  const { engine, fetches } = await serversOf()
  const [first, second] = fetches as [Fetch, Fetch]
  const run = await engine.start(flow)
  const place = `${base}/runs/${run.runId}/streams/dates`
  const begun = await events(await first(`${place}/events`), 'item')
  expect(begun.map(({ id, event }) => [id, event])).toEqual([
    [undefined, 'part'],
    ['0', 'item'],
  ])
  expect(begun[1]?.data).toEqual({
    ...{ offset: 0, part: 0, chunk: { at: at.toISOString(), word: 'begin' } },
    notes: [['date', 'at']],
  })
  await run.signal(go)
  await run.result()
  const headers = { 'last-event-id': '0' }
  const rest = await events(await second(`${place}/events`, { headers }), 'end')
  expect(rest.map(({ id, event }) => id ?? event)).toEqual(['part', 'part', 'part', '1', '2', '3', 'end.4'])
  expect((await second(`${place}/events`, { headers: { 'last-event-id': 'end.4' } })).status).toBe(204)
  expect((await second(`${place}/events`, { headers: { 'last-event-id': 'x' } })).status).toBe(400)
  const page = (await (await first(`${place}?from=2`)).json()) as { items: { offset: number }[]; closed: boolean }
  expect(page.items.map(({ offset }) => offset)).toEqual([2, 3])
  expect(page).toMatchObject({ closed: true, parts: [{ number: 0 }, { number: 1 }, { number: 2 }] })
  const listed = await (await first(`${base}/runs/${run.runId}/streams`)).json()
  expect(listed).toMatchObject({ items: [{ name: 'dates', items: 4, closed: true }] })
})
