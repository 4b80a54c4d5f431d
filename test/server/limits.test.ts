// Rates, names of the server and tokens under attack.
import { server } from 'pawl/server'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { openEngine, openWorld, quiet, send, type Wire, type World, wireOf, withToken } from './support.ts'

let world: World
let token: string

beforeAll(async () => {
  world = await openWorld()
  token = (await world.api.tokens.create({ name: 'good', scope: 'read', namespace: 'default' })).token
})

afterAll(() => world[Symbol.asyncDispose]())

const me = wireOf('me.get', {})

test('wrong tokens are refused after a few; a token that was valid before is not locked out', async () => {
  const api = server(world.engine, { logger: quiet })
  expect((await send(api, withToken(me, token))).status).toBe(200)
  const statuses: number[] = []
  for (let at = 0; at < limits.wrongTokensPerMinute + 5; at++) {
    const answer = await send(api, withToken(me, `wrong-${at}`))
    statuses.push(answer.status)
    if (answer.status === 429) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  }
  expect(statuses.slice(0, limits.wrongTokensPerMinute)).toEqual(Array(limits.wrongTokensPerMinute).fill(401))
  expect(statuses.slice(limits.wrongTokensPerMinute)).toEqual(Array(5).fill(429))
  expect((await send(api, withToken(me, token))).status).toBe(200)
})

test('a token makes so many requests per second, and no more; others are not held up', async () => {
  const api = server(world.engine, { logger: quiet })
  const other = (await api.tokens.create({ name: 'other', scope: 'read', namespace: 'default' })).token
  // Time stands still, so that a machine that is slow does not fill the bucket meanwhile.
  const at = Math.ceil(systemClock.monotonic())
  const clock = vi.spyOn(systemClock, 'monotonic').mockReturnValue(at)
  onTestFinished(() => clock.mockRestore())
  const statuses = async (count: number): Promise<string> => {
    const answers = await inRows(count, () => send(api, withToken(me, token)))
    const counts = [200, 429].map((status) => answers.filter((each) => each.status === status).length)
    const [refused] = answers.filter(({ status }) => status === 429)
    if (refused) {
      expect(refused.json).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
      expect(refused.headers.get('retry-after')).toBe('1')
    }
    return counts.join(' ')
  }
  expect(await statuses(limits.requestBurst + 500)).toBe(`${limits.requestBurst} 500`)
  clock.mockReturnValue(at + 1_000)
  expect(await statuses(limits.requestsPerSecond + 500)).toBe(`${limits.requestsPerSecond} 500`)
  expect((await send(api, withToken(me, other))).status).toBe(200)
})

test('only so many requests are in progress at once', async () => {
  const api = server(world.engine, { open: true, logger: quiet })
  const run = await world.engine.start({ is: 'workflow', name: 'waits' } as never, 1)
  const wait = wireOf('runs.result', { run: run.runId, wait: '60s' })
  const waiting = Array.from({ length: limits.requestsAtOnce }, () => send(api, wait))
  const refused = await send(api, me)
  expect(refused).toMatchObject({ status: 429, json: { code: 'TOO_MANY_REQUESTS' } })
  await api.close()
  expect(new Set((await Promise.all(waiting)).map(({ status }) => status))).toEqual(new Set([503]))
})

test('hosts: with and without port, in any case; a server that needs tokens and lists none takes any', async () => {
  const under = (host: string): Wire => ({
    ...withToken(me, token),
    headers: { authorization: `Bearer ${token}`, host },
  })
  const listed = server(world.engine, {
    hosts: ['Pawl.Example:443', 'other.example', 'ported.example:8443'],
    logger: quiet,
  })
  const statuses = async (api: typeof listed, hosts: readonly string[]): Promise<number[]> => {
    const all: number[] = []
    for (const host of hosts) all.push((await send(api, under(host))).status)
    return all
  }
  const fine = [
    'pawl.example',
    'PAWL.example:443',
    'other.example:9000',
    'ported.example:8443',
    'localhost:1',
    '[::1]:7295',
  ]
  expect(await statuses(listed, fine)).toEqual(fine.map(() => 200))
  const foreign = [
    'evil.example',
    'pawl.example.evil',
    'pawl.example:8080',
    'ported.example',
    '',
    'localhost@evil.example',
    '127.0.0.1.evil',
  ]
  expect(await statuses(listed, foreign.slice(0, 4))).toEqual([421, 421, 421, 421])
  expect(await statuses(listed, foreign.slice(5))).toEqual([421, 421])
  expect(await statuses(server(world.engine, { logger: quiet }), foreign.slice(0, 2))).toEqual([200, 200])
  expect(await statuses(server(world.engine, { open: true, logger: quiet }), foreign.slice(0, 2))).toEqual([421, 421])
})

test('a server that is open stays open when a token is made; a token still has its own scope', async () => {
  const api = server(world.engine, { open: true, logger: quiet })
  expect((await send(api, me)).json).toEqual({ name: 'local', scope: 'admin' })
  expect((await send(api, withToken(me, token))).json).toEqual({ name: 'good', scope: 'read' })
  expect((await send(api, withToken(me, `${token}x`))).status).toBe(401)
})

test('a page of large runs, or of a large history, ends early; its cursor leads to the rest', async () => {
  await using engine = await openEngine('memory:', false)
  const api = server(engine, { open: true, logger: quiet })
  const nobody = { is: 'workflow', name: 'nobody' } as never
  const large = 'x'.repeat(limits.payloadBytesMax - 100)
  const count = limits.listPageDefault + 20
  const begun = await engine.startMany(nobody, Array(count).fill({ input: large }))
  const found: string[] = []
  const sizes: number[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await send(api, wireOf('runs.list', { limit: 1_000, ...(cursor !== undefined && { cursor }) }))
    const { items, cursor: next } = page.json as unknown as { items: { runId: string }[]; cursor?: string }
    sizes.push(items.length)
    found.push(...items.map(({ runId }) => runId))
    cursor = next
    if (cursor === undefined) break
  }
  expect(found.toSorted()).toEqual(begun.map(({ runId }) => runId).toSorted())
  expect(sizes[0]).toBe(limits.listPageDefault)

  await using holder = await openEngine()
  const run = await holder.start({ is: 'workflow', name: 'waits' } as never, 1)
  const signals = 12
  for (let at = 0; at < signals; at++) await run.signal({ is: 'signal', name: 'ignored' } as never, large)
  const received = async () => {
    const events: { type: string }[] = []
    let pages = 0
    for (let after: number | undefined; ; pages++) {
      const ask = wireOf('runs.history', { run: run.runId, limit: 1_000, ...(after !== undefined && { after }) })
      const { json, text } = await send(server(holder, { open: true, logger: quiet }), ask)
      expect(text.length).toBeLessThan(limits.answerPageLength + 2 * limits.payloadBytesMax)
      const page = json as unknown as { events: { type: string }[]; next?: number }
      events.push(...page.events)
      after = page.next
      if (after === undefined) return [events.filter(({ type }) => type === 'SignalReceived').length, pages]
    }
  }
  await expect.poll(received).toEqual([signals, 1])
})

test('the token of the settings may look like one of the store, and never takes the place of one', async () => {
  const own = `pawl_${'a'.repeat(12)}_${'b'.repeat(40)}`
  const api = server(world.engine, { token: own, logger: quiet })
  expect((await send(api, withToken(me, own))).json).toMatchObject({ scope: 'admin' })
  expect((await send(api, withToken(me, `${own.slice(0, -1)}c`))).status).toBe(401)
  const same = server(world.engine, { token, logger: quiet })
  expect((await send(same, withToken(me, token))).json).toEqual({ name: 'good', scope: 'read' })
})

test('a server that listens beyond this machine without a token is refused', async () => {
  const { openEngine } = await import('./support.ts')
  const engine = await openEngine()
  await expect(server(engine, { logger: quiet }).listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow(
    /without a token/,
  )
  const api = server(engine, { token: 'the-token-of-the-settings', logger: quiet })
  await api.listen({ host: '0.0.0.0', port: 0 })
  await api.close()
  await engine.close()
})

async function inRows<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  while (made.length < count) made.push(...(await Promise.all(Array.from({ length: 100 }, make))))
  return made
}
