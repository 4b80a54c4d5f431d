// Canaries in everything a caller sends as a secret: no answer, log line or error may have them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open, signal, workflow } from 'pawl'
import { server } from 'pawl/server'
import { expect, test, vi } from 'vitest'
import { type OperationName, type Route, routes } from '../../src/operations/routes.ts'
import { callerOf, charge, openEngine, quiet, samples, send, type Wire, wireOf, workflows } from './support.ts'

const CANARY = 'c4n4ry'

test('what a request carries as a secret is in no answer and no log line', async () => {
  const lines: string[] = []
  const logger = { log: (...parts: unknown[]) => lines.push(JSON.stringify(parts)) }
  const engine = await openEngine()
  const bug = (): Promise<never> => Promise.reject(new Error(`a bug with ${CANARY} inside`))
  Object.defineProperty(engine, 'workers', { value: bug })
  const own = `${CANARY}-token-of-the-settings`
  const api = server(engine, { token: own, logger })
  const headers = (token: string): Record<string, string> => ({
    ...{
      authorization: `Bearer ${token}`,
      cookie: `session=${CANARY}`,
      'x-secret': CANARY,
      'proxy-authorization': CANARY,
    },
    ...{ referer: `https://${CANARY}.example`, 'user-agent': CANARY, 'x-forwarded-for': CANARY },
  })
  const texts: string[] = []
  const ask = async (wire: Wire): Promise<void> => {
    const { text, headers: answered, status } = await send(api, wire)
    texts.push(`${wire.method} ${wire.target} ${status}: ${text} ${JSON.stringify([...answered])}`)
  }
  for (const [name, { path }] of Object.entries(routes) as [OperationName, Route][]) {
    for (const token of [own, `${CANARY}-wrong`, `pawl_${'0'.repeat(12)}_${CANARY.padEnd(40, '0')}`]) {
      const hasSecret = path.startsWith('/completions')
      const input = hasSecret ? { ...samples[name], token: CANARY, payload: CANARY } : samples[name]
      await ask({ ...wireOf(name, input), headers: { 'content-type': 'application/json', ...headers(token) } })
    }
    // Of a kind that is refused, so that the error describes the value.
    const wrong = wireOf(name, { ...samples[name], ...(path.startsWith('/completions') && { token: [CANARY] }) })
    await ask({ ...wrong, headers: { 'content-type': 'application/json', ...headers(own) } })
  }
  const own500 = texts.filter((text) => text.includes(' 500: '))
  expect(own500.map((text) => text.split(' ')[1])).toContain('/api/v1/workers')
  expect(texts.filter((text) => text.includes(CANARY))).toEqual([])
  // The log has the bug itself, and nothing of the request.
  const ofRequests = lines.map((line) => line.replaceAll(`a bug with ${CANARY} inside`, ''))
  expect(lines.length).toBeGreaterThan(0)
  expect(ofRequests.filter((line) => line.includes(CANARY))).toEqual([])
  await api.close()
  await engine.close()
})

test('the token of a webhook, which settles it, is in no answer to a caller that may only read', async () => {
  const made: string[] = []
  const more = signal('more')
  const hooked = workflow('hooked', async (ctx) => {
    const hook = ctx.webhook('paid')
    made.push(hook.token)
    const paid = await ctx.wait(hook)
    await ctx.wait(more)
    return paid
  })
  await using engine = await open('memory:', { workflows: [hooked], logger: quiet })
  engine.work({ signals: false })
  const api = server(engine, { logger: quiet })
  const reader = (await api.tokens.create({ name: 'reader', scope: 'read', namespace: 'default' })).token
  const operator = (await api.tokens.create({ name: 'operator', scope: 'operate', namespace: 'default' })).token
  const run = await engine.start(hooked, undefined, { workflowId: 'h' })
  const waitsFor = (reason: string) => vi.waitFor(async () => expect(await run.why()).toMatchObject({ reason }))
  const reads = (Object.entries(routes) as [OperationName, Route][]).filter(([, { scope }]) => scope === 'read')
  const answers = async (token: string): Promise<string[]> => {
    const texts: string[] = []
    for (const [name] of reads) {
      const sample = samples[name]
      const asked = { ...('run' in sample && { run: run.runId }), ...('runs' in sample && { runs: [run.runId] }) }
      const input = { ...sample, ...asked, ...('payloads' in sample && { payloads: true }) }
      if (name !== 'live.run' && name !== 'live.stream')
        texts.push(`${name} ${(await callerOf(api, token)(name, input)).text}`)
    }
    const stop = new AbortController()
    const events = `http://localhost/api/v1/runs/${run.runId}/events?payloads=true`
    const headers = { authorization: `Bearer ${token}` }
    const { body } = await api.fetch(new Request(events, { headers, signal: stop.signal }))
    let live = 'live.run '
    for await (const part of body ?? []) {
      live += Buffer.from(part).toString()
      if (live.includes('WaitStarted')) break
    }
    return [...texts, live]
  }
  await waitsFor('webhook')
  const [token = 'none'] = made
  expect((await answers(reader)).filter((text) => text.includes(token))).toEqual([])
  expect((await answers(operator)).filter((text) => text.includes(token))).toHaveLength(2)
  expect(await run.steps()).toMatchObject([{ step: 'webhook:paid', kind: 'signal' }])
  await engine.resolve(token, 1)
  await waitsFor('signal')
  expect((await answers(reader)).filter((text) => text.includes(token))).toEqual([])
  await api.close()
})

test('payloads and attributes are in no log line; a query of the URL is not either', async () => {
  const lines: string[] = []
  const logger = { log: (...parts: unknown[]) => lines.push(JSON.stringify(parts)) }
  const engine = await open('memory:', { workflows, activities: [charge], logger })
  engine.work({ signals: false })
  const api = server(engine, { open: true, logger })
  const start = { workflow: 'double', input: { secret: CANARY }, memo: { secret: CANARY }, wait: '5s' }
  expect((await send(api, wireOf('runs.start', { ...start, attributes: { secret: CANARY } }))).status).toBe(201)
  await send(api, wireOf('runs.signalWithStart', { workflow: 'waits', workflowId: 'a', signal: 'go', payload: CANARY }))
  await send(api, wireOf('runs.list', { attributes: { secret: CANARY } }))
  await send(api, wireOf('runs.count', { workflow: 'double', limits: CANARY }))
  expect(lines.filter((line) => line.includes(CANARY))).toEqual([])
  await api.close()
  await engine.close()
})

test('the URL of the store is in no answer and no log line, when it fails, too', async () => {
  const folder = await mkdtemp(join(tmpdir(), `pawl-${CANARY}-`))
  const lines: string[] = []
  const logger = { log: (...parts: unknown[]) => lines.push(JSON.stringify(parts)) }
  const engine = await open(`sqlite:${join(folder, 'pawl.db')}`, { workflows, activities: [charge], logger })
  const api = server(engine, { open: true, logger })
  const texts: string[] = []
  const askAll = async (): Promise<void> => {
    for (const name of Object.keys(routes) as OperationName[]) {
      texts.push(JSON.stringify(await send(api, wireOf(name, samples[name]))))
    }
  }
  await askAll()
  await engine.close()
  await askAll()
  expect(texts.filter((text) => /"status":503/.test(text)).length).toBeGreaterThan(20)
  expect(texts.filter((text) => text.includes(CANARY))).toEqual([])
  expect(lines.filter((line) => line.includes(CANARY))).toEqual([])
  await api.close()
  await rm(folder, { recursive: true })
})

test('an unreachable database is named neither by its address nor by its password', async () => {
  const url = `postgres://user:${CANARY}@127.0.0.1:1/${CANARY}`
  const opened = open(url as 'postgres://x', { patience: 0 } as never)
  const error = await opened.then(
    () => undefined,
    (reason: Error) => reason,
  )
  expect(error).toBeInstanceOf(Error)
  expect(String(error?.message)).not.toContain(`:${CANARY}@`)
})
