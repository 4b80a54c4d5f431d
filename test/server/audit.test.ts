// O8: the audit trail of a server, and its namespaces.
import { activity, type Engine, open, workflow } from 'pawl'
import { server } from 'pawl/server'
import { afterEach, expect, test } from 'vitest'
import { Records } from '../../src/core/catalogue/records.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { MemoryStore } from '../../src/core/stores/memory/store.ts'
import { Audit } from '../../src/server/audit.ts'

const step = activity('step', async () => 1)
const patient = workflow('patient', async (ctx) => {
  await ctx.sleep('1h')
  return ctx.run(step)
})

const engines: Engine[] = []

async function engine(): Promise<Engine> {
  const opened = await open('memory:', { workflows: [patient], activities: [step] })
  engines.push(opened)
  return opened
}

afterEach(async () => {
  for (const each of engines.splice(0)) await each.close()
})

interface Call {
  readonly method?: string
  readonly body?: object
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

function caller(fetch: (request: Request) => Promise<Response>) {
  return async (path: string, { method = 'GET', body, token, headers }: Call = {}) => {
    const request = new Request(`http://localhost/api/v1${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
    })
    const response = await fetch(request)
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as Record<string, never>) }
  }
}

test('O8: every change is in the trail: who, what, when, why, and how it ended; reads and payloads are not', async () => {
  const api = server(await engine(), { token: 'the-secret-of-the-settings' })
  const call = caller(api.fetch)
  const token = 'the-secret-of-the-settings'
  const made = await call('/tokens', { method: 'POST', body: { name: 'ada', scope: 'operate' }, token })
  expect(made.status).toBe(201)
  const ada = String(made.body?.['token'])
  const start = { workflow: 'patient', input: 'private', workflowId: 'p1' }
  expect((await call('/runs', { method: 'POST', body: start, token: ada })).status).toBe(201)
  expect((await call('/runs/w:p1', { token: ada })).status).toBe(200)
  const cancel = { method: 'POST', body: { reason: 'asked for' }, token: ada }
  expect((await call('/runs/w:p1/cancel', cancel)).status).toBe(202)
  const why = { 'x-reason': 'by mistake' }
  expect((await call('/runs/w:nobody/retry', { method: 'POST', token: ada, headers: why })).status).toBe(404)
  const { body } = await call('/audit', { token })
  const items = body?.['items'] as unknown as readonly Record<string, unknown>[]
  expect(items.map(({ at, requestId, ...entry }) => [typeof at, typeof requestId, entry])).toEqual([
    [
      'string',
      'string',
      { by: 'ada', operation: 'runs.retry', target: 'w:nobody', reason: 'by mistake', outcome: 'RUN_NOT_FOUND' },
    ],
    ['string', 'string', { by: 'ada', operation: 'runs.cancel', target: 'w:p1', reason: 'asked for', outcome: 'done' }],
    ['string', 'string', { by: 'ada', operation: 'runs.start', target: 'p1', outcome: 'done' }],
    [
      'string',
      'string',
      { by: 'the token of the settings', operation: 'tokens.create', target: 'ada', outcome: 'done' },
    ],
  ])
  expect(JSON.stringify(items)).not.toContain('private')
  expect((await call('/audit', { token: ada })).status).toBe(403)
  expect((await call('/builds/b1/retire', { method: 'POST', token: ada })).status).toBe(403)
  const forged = { method: 'POST', body: { workflow: 'pawl.schedule', input: {} }, token: ada }
  expect((await call('/runs', forged)).status).toBe(400)
  const after = (await call('/audit', { token })).body?.['items'] as unknown as readonly Record<string, unknown>[]
  expect(after.map(({ operation, outcome }) => `${String(operation)} ${String(outcome)}`).slice(0, 2)).toEqual([
    'runs.start INPUT_INVALID',
    'runs.retry RUN_NOT_FOUND',
  ])
  await api.close()
})

test('O8: what callers of webhooks try in vain pushes nothing out of the trail', async () => {
  const hooked = workflow('hooked', async (ctx) => {
    const hook = ctx.webhook('hook')
    ctx.setAttributes({ token: hook.token })
    return ctx.wait(hook)
  })
  const opened = await open('memory:', { workflows: [hooked] })
  engines.push(opened)
  opened.work({ signals: false })
  const api = server(opened, { open: true })
  const run = await opened.start(hooked)
  const tokenNow = async () => (await run.describe()).attributes['token']
  await expect.poll(tokenNow).toBeDefined()
  const token = String(await tokenNow())
  const post = async (path: string, body: string) => {
    const headers = { 'content-type': 'application/json' }
    return (await api.fetch(new Request(`http://localhost/webhooks/${path}`, { method: 'POST', body, headers }))).status
  }
  expect(await post('guessed', '{}')).toBe(404)
  expect(await post(token.replace(/.{8}$/, 'AAAAAAAA'), '{}')).toBe(404)
  expect(await post(token, '1')).toBe(202)
  expect(await post(token, '2')).toBe(404)
  const { body } = await caller(api.fetch)('/audit')
  expect(body).toMatchObject({ items: [{ by: 'webhook', operation: 'completions.resolve', outcome: 'done' }] })
  expect(body?.['items']).toHaveLength(1)
  await api.close()
})

test('O8: an entry is durable before the change, so a server that dies in between leaves it without an outcome', async () => {
  const { records } = await engine()
  const dying = new Audit(records, systemClock)
  await dying.add({ by: 'ada', operation: 'runs.cancel', target: 'w:p1', requestId: 'r1' }).written
  const another = new Audit(records, systemClock)
  const { items } = await another.list({})
  expect(items).toMatchObject([{ by: 'ada', operation: 'runs.cancel', target: 'w:p1', requestId: 'r1' }])
  expect(items[0]).not.toHaveProperty('outcome')
})

test('O8: two servers write one trail; pages join, and each entry is listed once', async () => {
  const { records } = await engine()
  const trails = [new Audit(records, systemClock), new Audit(records, systemClock)]
  const entries = Array.from({ length: 300 }, (_, index) => String(index))
  await Promise.all(
    entries.map(async (requestId, index) => {
      const entry = trails[index % 2]?.add({ by: 'ada', operation: 'runs.cancel', requestId })
      await entry?.written
      entry?.end('done')
    }),
  )
  await Promise.all(trails.map((trail) => trail.flush()))
  const found: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await new Audit(records, systemClock).list({ limit: 7, ...(cursor !== undefined && { cursor }) })
    found.push(...page.items.map(({ requestId, outcome }) => `${requestId} ${outcome}`))
    cursor = page.cursor
    if (cursor === undefined) break
  }
  expect(found.toSorted()).toEqual(entries.map((requestId) => `${requestId} done`).toSorted())
})

/** The records of a store, with a function that is called around every write. */
function recordsOf(store: MemoryStore, around: (write: () => Promise<unknown>) => Promise<unknown>): Records {
  let writes = 0
  return new Records({
    records: async (operations) => {
      const isWrite = operations.some(({ type }) => type === 'put')
      const call = () => store.records(operations)
      return (await (isWrite ? around(call) : call())) as Awaited<ReturnType<typeof call>>
    },
    writeId: () => ++writes,
  })
}

test('O8: an outcome is written with the next entry, not by itself', async () => {
  let writes = 0
  const records = recordsOf(new MemoryStore({ clock: systemClock }), (write) => {
    writes++
    return write()
  })
  const trail = new Audit(records, systemClock)
  const cancel = { by: 'ada', operation: 'runs.cancel' }
  for (let n = 0; n < 3; n++) {
    const entry = trail.add({ ...cancel, requestId: `r${n}` })
    await entry.written
    entry.end('done')
  }
  // The number of the page, and three entries.
  expect(writes).toBe(4)
  const { items } = await trail.list({})
  expect(items.map(({ requestId, outcome }) => `${requestId} ${outcome}`)).toEqual(['r2 done', 'r1 done', 'r0 done'])
})

test('O8: a write whose answer was lost costs no later entry', async () => {
  let isLost = false
  const records = recordsOf(new MemoryStore({ clock: systemClock }), async (write) => {
    const answer = await write()
    if (!isLost) return answer
    isLost = false
    throw new Error('the answer was lost')
  })
  const trail = new Audit(records, systemClock)
  const cancel = { by: 'ada', operation: 'runs.cancel' }
  await trail.add({ ...cancel, requestId: 'r1' }).written
  isLost = true
  await expect(trail.add({ ...cancel, requestId: 'r2' }).written).rejects.toThrow('the answer was lost')
  await trail.add({ ...cancel, requestId: 'r3' }).written
  const { items } = await new Audit(records, systemClock).list({})
  expect(items.map(({ requestId }) => requestId)).toEqual(['r3', 'r2', 'r1'])
})

test('a token sees the runs, tokens and trail of its own namespace only', async () => {
  const [one, two] = [await engine(), await engine()]
  const api = server({ one, two }, { token: 'the-secret-of-the-settings' })
  const call = caller(api.fetch)
  const { token } = await api.tokens.create({ name: 'of two', scope: 'admin', namespace: 'two' })
  const own = 'the-secret-of-the-settings'
  const run = await one.start(patient, undefined, { workflowId: 'p1' })
  expect((await call('/runs/w:p1', { token: own })).status).toBe(200)
  const hidden = await call(`/runs/${run.runId}`, { token })
  const missing = await call('/runs/01a1f0a6-1566-776f-b7b3-2505e60ac64e', { token })
  expect(hidden.status).toBe(404)
  const shown = (body: object | undefined) => JSON.stringify(body).replaceAll(/[0-9a-f-]{36}/g, '…')
  expect(shown(hidden.body)).toBe(shown(missing.body))
  expect((await call('/runs', { token })).body).toEqual({ items: [] })
  expect((await call('/tokens', { token: own })).body).toEqual({ items: [] })
  const [other] = await api.tokens.list()
  expect((await call(`/tokens/${other?.id}`, { method: 'DELETE', token: own })).status).toBe(404)
  expect((await call('/audit', { token })).body).toEqual({ items: [] })
  await api.close()
})

test('O8: the trail by who, what and to what; a filter that finds little says where to continue', async () => {
  const opened = await engine()
  const trail = new Audit(opened.records, systemClock)
  const kinds = ['runs.cancel', 'runs.pause', 'builds.retire'] as const
  for (let n = 0; n < 60; n++) {
    const entry = { by: n % 2 === 0 ? 'ada' : 'bob', operation: kinds[n % 3] ?? '', target: `t${n % 4}` }
    trail.add({ ...entry, requestId: `r${n}` }).end('done')
  }
  const idsOf = async (filter: object): Promise<string[]> => {
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await trail.list({ ...filter, limit: 7, ...(cursor !== undefined && { cursor }) })
      found.push(...page.items.map(({ requestId }) => requestId))
      cursor = page.cursor
    } while (cursor !== undefined)
    return found
  }
  const all = Array.from({ length: 60 }, (_, n) => n).toReversed()
  const ids = (fits: (n: number) => boolean): string[] => all.filter(fits).map((n) => `r${n}`)
  expect(await idsOf({})).toEqual(ids(() => true))
  expect(await idsOf({ by: 'ada' })).toEqual(ids((n) => n % 2 === 0))
  expect(await idsOf({ operation: 'runs.' })).toEqual(ids((n) => n % 3 < 2))
  expect(await idsOf({ operation: 'runs.pause', target: 't1' })).toEqual(ids((n) => n % 3 === 1 && n % 4 === 1))
  expect(await idsOf({ by: 'nobody' })).toEqual([])
})
