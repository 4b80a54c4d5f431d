// pawl/client on a server that listens: the same calls as on a store, with the same answers and errors.
import { type Engine, graph, type OpenOptions, query, signal, update, workflow } from 'pawl'
import { CancelledError, connect, PawlError, type RemoteClient, RunError } from 'pawl/client'
import { type Server, type ServerOptions, server } from 'pawl/server'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { inputs } from '../../src/operations/inputs.ts'
import { type OperationName, routes } from '../../src/operations/routes.ts'
import { once, withOwnIds } from '../../src/remote/repeating.ts'
import { until, useStore } from '../workflows/each-store.ts'

const go = signal<unknown>('go')
const stage = query<void, string>('stage')
const add = update<number, number>('add')
const never = update<void, void>('never')

const echo = workflow('echo', async (_, input: unknown) => input)
const waiting = workflow('waiting', async (ctx) => {
  let sum = 0
  ctx.on(stage, () => `at ${sum}`)
  ctx.on(add, (more) => {
    if (more < 0) throw new RangeError('too little')
    sum += more
    return sum
  })
  return [await ctx.wait(go), sum]
})
const fails = workflow('fails', async (ctx) =>
  ctx.run('bad', { retry: 'none' }, () => {
    throw Object.assign(new RangeError('the shop is closed'), { code: 'CLOSED', details: { until: 9 } })
  }),
)
const long = workflow('long', async (ctx, count: number) => {
  for (let each = 0; each < count; each++) await ctx.run('step', () => each)
})
const steps = workflow('steps', async (ctx, input: number) => {
  const one = await ctx.run('one', () => input)
  return ctx.run('two', () => one + 1)
})
const hook = workflow('hook', async (ctx) => {
  const made = ctx.webhook<unknown>('paid')
  ctx.setAttributes({ token: made.token })
  return ctx.wait(made)
})
const code: OpenOptions = { workflows: [echo, waiting, fails, long, steps, hook] }

const exact = {
  when: new Date(5),
  names: new Map<unknown, unknown>([['a', new Set([1n])]]),
  nothing: undefined,
  bytes: new Uint8Array([1, 2]),
  numbers: [Number.NaN, -0, Number.NEGATIVE_INFINITY],
  odd: JSON.parse('{ "__proto__": 1, "": 2 }') as unknown,
}

const servers: Server[] = []
afterEach(async () => {
  for (const each of servers.splice(0)) await each.close()
})

async function listen(engine: Engine, options: ServerOptions = {}, port = 0): Promise<string> {
  const api = server(engine, options)
  servers.push(api)
  return (await api.listen({ port })).url
}

async function collected<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

async function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => 'none',
    (error: unknown) => (error instanceof PawlError ? error.code : error),
  )
}

describe.each(['memory', 'sqlite'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  async function client(): Promise<{ pawl: RemoteClient; engine: Engine }> {
    const engine = await bench.serve(code)
    return { pawl: connect(await listen(engine)), engine }
  }

  test('I1, I2: values travel exactly: inputs, results, signals, attributes, records, events', async () => {
    const { pawl, engine } = await client()
    const run = await pawl.start(echo, exact, { attributes: { at: new Date(7), tags: ['a', 'b'] }, memo: { exact } })
    expect(run.isNew).toBe(true)
    expect(await run.result()).toStrictEqual(exact)
    expect(await pawl.execute(echo, undefined)).toBeUndefined()
    const local = engine.get(run.runId)
    expect(await run.describe()).toStrictEqual(await local.describe())
    expect(await collected(run.history())).toStrictEqual(await collected(local.history()))
    expect(await run.steps()).toStrictEqual(await local.steps())
    expect(await run.steps({ at: 1, generation: 1 })).toStrictEqual(await local.steps({ at: 1, generation: 1 }))
    expect((await run.timeline({ at: 1 })).rows).toStrictEqual((await local.timeline({ at: 1 })).rows)
    expect(await collected(run.history({ type: 'RunCompleted' }))).toHaveLength(1)
    expect(await run.why()).toStrictEqual(await local.why())
    expect((await run.timeline()).rows).toStrictEqual((await local.timeline()).rows)
    expect(await pawl.list()).toStrictEqual(await engine.list())
    // Attributes that are dates are found by dates.
    expect(await pawl.count({ attributes: { at: { gte: new Date(6), lt: new Date(8) } } })).toBe(1)
    expect(await pawl.count({ attributes: { at: { gte: new Date(8) } } })).toBe(0)
  })

  test('I2: signals, queries, updates and their errors are those of a store', async () => {
    const { pawl } = await client()
    const run = await pawl.start(waiting, undefined, { workflowId: '../odd id/ü' })
    const named = pawl.get(waiting, { workflowId: '../odd id/ü' })
    expect(() => named.runId).toThrow('not known yet')
    expect(await named.query(stage)).toBe('at 0')
    expect(named.runId).toBe(run.runId)
    expect(await named.update(add, 2, { messageId: 'u1' })).toBe(2)
    expect(await named.update(add, 2, { messageId: 'u1' })).toBe(2)
    expect(await run.updateResult(add, 'u1')).toEqual({ value: 2 })
    const failed = await run.update(add, -1).catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'UPDATE_FAILED', message: expect.stringContaining('too little') })
    const late = await run.update(never, undefined, { timeout: '50ms' }).catch((error: unknown) => error)
    expect(late).toMatchObject({ code: 'NOT_ENDED', details: { why: { reason: 'signal', name: 'go' } } })
    expect(String(late)).toContain("has not answered update 'never'")
    const early = await run.result({ timeout: '50ms' }).catch((error: unknown) => error)
    expect(String(early)).toContain("has not ended within 50 ms: Waiting for signal 'go'")
    expect(await codeOf(run.query(query<void, number>('none')))).toBe('QUERY_NOT_FOUND')
    await run.signal(go, exact)
    expect(await run.result()).toStrictEqual([exact, 2])
    expect(await codeOf(run.signal(go, 1))).toBe('RUN_ENDED')
    expect(await codeOf(pawl.get({ workflowId: 'nobody' }).describe())).toBe('RUN_NOT_FOUND')
    expect(() => pawl.get('nobody')).toThrow(expect.objectContaining({ code: 'RUN_ID_INVALID' }))
    // One path segment cannot hold these names, so they travel in the body.
    expect(await codeOf(run.signal(signal('..'), undefined))).toBe('RUN_ENDED')
  })

  test('I1: a failed or cancelled run fails its caller as it does locally', async () => {
    const { pawl, engine } = await client()
    const run = await pawl.start(fails, undefined, { workflowId: 'f' })
    const [far, near] = await Promise.all(
      [run.result(), engine.get({ workflowId: 'f' }).result()].map((each) => each.catch((error: unknown) => error)),
    )
    expect(far).toBeInstanceOf(RunError)
    expect(far).toMatchObject({ message: (near as Error).message, runId: run.runId })
    expect((far as RunError).failure).toStrictEqual((near as RunError).failure)
    expect((far as RunError).cause).toStrictEqual((near as RunError).cause)
    const other = await pawl.start(waiting)
    await other.cancel('enough')
    expect(await other.result().catch((error: unknown) => error)).toStrictEqual(new CancelledError('enough'))
  })

  test('I2: starts with keys, ids, signals and updates', async () => {
    const { pawl } = await client()
    const first = await pawl.start(steps, 1, { idempotencyKey: 'k' })
    const second = await pawl.start(steps, 1, { idempotencyKey: 'k' })
    expect([first.isNew, second.isNew, second.runId]).toEqual([true, false, first.runId])
    expect(await codeOf(pawl.start(steps, 2, { idempotencyKey: 'k' }))).toBe('RUN_ALREADY_EXISTS')
    const some = await pawl.startMany(steps, [{ input: 1 }, { input: 2, workflowId: 'second' }])
    expect(await Promise.all(some.map((run) => run.result()))).toEqual([2, 3])
    expect(some.map((run) => run.isNew)).toEqual([true, true])
    const many = await pawl.startMany(
      echo,
      Array.from({ length: 300 }, (_, input) => ({ input })),
    )
    expect(new Set(many.map(({ runId }) => runId)).size).toBe(300)
    const signalled = await pawl.signalWithStart(waiting, { workflowId: 's', signal: go, payload: 1 })
    expect(await signalled.result()).toEqual([1, 0])
    const { run, result } = await pawl.updateWithStart(waiting, { workflowId: 'u', update: add, payload: 3 })
    expect([run.isNew, result]).toEqual([true, 3])
    const again = await pawl.updateWithStart(waiting, { workflowId: 'u', update: add, payload: 3 })
    expect([again.run.isNew, again.run.runId, again.result]).toEqual([false, run.runId, 6])
  })

  test('I2: pause, resume, retry, reset, fork, trigger, terminate and discard', async () => {
    const { pawl } = await client()
    const pending = await pawl.start(steps, 1, { pending: true })
    await pending.trigger(5)
    expect(await pending.result()).toBe(6)
    const fork = await pending.fork({ step: 'two', results: { one: 10 } })
    expect(await fork.result()).toBe(11)
    await pending.reset({ step: 'one' })
    expect(await pending.result()).toBe(6)
    const run = await pawl.start(waiting)
    await run.pause('look')
    await until(
      () => run.describe(),
      ({ status }) => status === 'paused',
    )
    expect(await run.why()).toMatchObject({ reason: 'paused', note: 'look' })
    await run.resume()
    expect(await codeOf(run.discardMessage('m'))).toBe('INPUT_INVALID')
    expect(await codeOf(run.migrate({ definitionHash: 'none' }))).toBe('none')
    await run.terminate('enough')
    const failed = await pawl.start(fails)
    await failed.result().catch(() => {})
    await failed.retry()
    expect(await failed.result().catch((error: unknown) => error)).toBeInstanceOf(RunError)
  })

  test('I2: a history of more than a thousand events, page by page', async () => {
    const { pawl, engine } = await client()
    const run = await pawl.start(long, 600)
    await run.result()
    const events = await collected(run.history())
    expect(events.length).toBeGreaterThan(1_000)
    expect(events).toStrictEqual(await collected(engine.get(run.runId).history()))
    for (const after of [1_099, 1_100, 1_101]) {
      expect(await collected(run.history({ after }))).toStrictEqual(events.filter(({ seq }) => seq > after))
    }
    for (const handle of [run, engine.get(run.runId)]) {
      expect(await collected(handle.history({ last: 1_100 }))).toStrictEqual(events.slice(-1_100))
      expect(await collected(handle.history({ before: 1_050, last: 3 }))).toStrictEqual(events.slice(1_047, 1_050))
      expect(await collected(handle.history({ before: 2, last: 9 }))).toStrictEqual(events.slice(0, 2))
      expect(await collected(handle.history({ after: 7, before: 9 }))).toStrictEqual(events.slice(8, 9))
      expect(await collected(handle.history({ before: 0 }))).toStrictEqual([])
    }
    // A page may end in the middle of a turn.
    const first = await pawl.call('runs.history', { run: run.runId, limit: 7 })
    const second = await pawl.call('runs.history', { run: run.runId, limit: 8, after: first.next ?? 0 })
    expect([...first.events, ...second.events]).toStrictEqual(events.slice(0, 15))
  })

  test('O4: lists, counts, batches and exports', async () => {
    const { pawl, engine } = await client()
    for (let each = 0; each < 5; each++) await pawl.start(waiting, undefined, { attributes: { even: each % 2 === 0 } })
    const first = await pawl.list({ workflow: waiting }, { limit: 3 })
    const rest = await pawl.list({ workflow: waiting }, { limit: 3, cursor: first.cursor ?? '' })
    expect([...first.items, ...rest.items]).toStrictEqual((await engine.list({ workflow: waiting })).items)
    expect(await pawl.count({ status: ['waiting', 'running', 'pending'], attributes: { even: true } })).toBe(3)
    const batch = pawl.batch({ workflow: 'waiting', attributes: { even: false } }, { limit: 10 })
    expect(await batch.count()).toBe(2)
    expect(await batch.cancel()).toEqual({ matched: 2, done: 2, failures: [] })
    const lines = await collected(pawl.export({ workflow: waiting }))
    expect(lines.map((line) => (JSON.parse(line) as { pawl: number }).pawl)).toEqual([1, 1, 1, 1, 1])
    expect(() => pawl.batch({}, {} as never)).toThrow('limit')
    expect(await codeOf(pawl.list({ status: 'lost' as never }))).toBe('INPUT_INVALID')
  })

  test('I2: schedules', async () => {
    const { pawl, engine } = await client()
    const till = new Date('2999-01-01')
    const nightly = await pawl.schedules.set('nightly', {
      cron: '0 3 * * *',
      workflow: echo,
      input: exact,
      until: till,
    })
    await nightly.pause('holiday')
    const described = await nightly.describe()
    expect(described).toStrictEqual(await engine.schedules.get('nightly').describe())
    expect(described).toMatchObject({ paused: true, note: 'holiday', plan: { input: exact, until: till } })
    await nightly.update({ every: '1h' })
    await nightly.resume()
    expect((await pawl.schedules.list()).items).toMatchObject([{ id: 'nightly', timing: { every: '1h' } }])
    expect(await (await nightly.trigger()).result()).toStrictEqual(exact)
    const range = { from: new Date('2020-01-01T00:00:00Z'), to: new Date('2020-01-01T02:00:00Z') }
    expect(await nightly.backfill(range)).toBe(3)
    await nightly.delete()
    await until(
      () => codeOf(nightly.describe()),
      (found) => found === 'RUN_NOT_FOUND',
    )
  })

  test('I2: definitions, builds, workers, completions and the server itself', async () => {
    const { pawl, engine } = await client()
    const document = { name: 'report', nodes: [{ id: 'first', handler: 'input' }] }
    expect(await codeOf(pawl.submit({ name: 'x', nodes: [{}] }))).toBe('DEFINITION_INVALID')
    const submitted = await pawl.submit(document)
    expect(submitted).toMatchObject({ is: 'workflow', name: 'report', version: 1 })
    expect(await pawl.definitionNames()).toEqual(['report'])
    expect(await pawl.definitions('report')).toStrictEqual(await engine.definitions('report'))
    expect(await pawl.definitions('none')).toEqual([])
    expect(await codeOf(pawl.submit(graph('in-code')))).toBe('NOT_SUPPORTED')
    await pawl.builds.rollOut('b1', 30)
    expect(await pawl.builds.list()).toEqual(await engine.builds.list())
    expect([await pawl.builds.isKnown('b1'), await pawl.builds.isKnown('b2')]).toEqual([true, false])
    expect((await pawl.workers()).map(({ worker }) => worker)).toEqual(
      (await engine.workers()).map(({ worker }) => worker),
    )
    expect(await pawl.health()).toMatchObject({ status: 'healthy', store: kind })
    expect(await pawl.me()).toEqual({ name: 'local', scope: 'admin' })
    const run = await pawl.start(hook)
    const { attributes } = await until(
      () => run.describe(),
      (seen) => 'token' in seen.attributes,
    )
    await pawl.resolve(String(attributes['token']), exact)
    expect(await run.result()).toStrictEqual(exact)
    expect(await codeOf(pawl.reject('nothing', 'no'))).toBe('TOKEN_INVALID')
  })

  test('a server that restarts is not noticed by result(), and starts nothing twice', { timeout: 60_000 }, async () => {
    const engine = await bench.serve(code)
    const url = await listen(engine)
    const pawl = connect(url)
    const run = await pawl.start(waiting, undefined, { workflowId: 'w' })
    const ended = run.result()
    const port = Number(new URL(url).port)
    for (let round = 0; round < 3; round++) {
      const starts = Promise.all(
        Array.from({ length: 20 }, async (_, each) =>
          pawl.start(echo, each, { workflowId: `${round}-${each}`, reuse: 'returnExisting' }),
        ),
      )
      const [old] = servers.splice(0)
      await old?.close()
      await listen(engine, {}, port)
      const made = await starts
      expect(made.map(({ isNew }) => isNew)).not.toContain(false)
    }
    expect(await engine.count({ workflow: echo })).toBe(60)
    await run.signal(go, 1)
    expect(await ended).toEqual([1, 0])
  })
})

describe('connections', () => {
  const bench = useStore('memory')

  /** Loses the answers of the first requests of each operation. */
  function losing(times: number) {
    const lost = new Map<string, number>()
    return async (url: string, init: RequestInit): Promise<Response> => {
      const response = await fetch(url, init)
      const count = (lost.get(url) ?? 0) + 1
      lost.set(url, count)
      if (count > times) return response
      await response.text()
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
      })
    }
  }

  test('lost answers double nothing: each start, signal and update has an id of its own', async () => {
    const engine = await bench.serve(code)
    const pawl = connect(await listen(engine), { fetch: losing(2) })
    const run = await pawl.start(waiting, undefined, { workflowId: 'w', reuse: 'returnExisting' })
    expect(run.isNew).toBe(true)
    const found = await pawl.start(waiting, undefined, { workflowId: 'w', reuse: 'returnExisting' })
    expect([found.isNew, found.runId]).toEqual([false, run.runId])
    expect(await run.update(add, 2)).toBe(2)
    const both = await pawl.startMany(echo, [{ input: 1 }, { input: 2 }])
    expect(both.map(({ isNew }) => isNew)).toEqual([true, true])
    const begun = await pawl.signalWithStart(waiting, { signal: go, payload: 7 })
    expect([begun.isNew, await begun.result()]).toEqual([true, [7, 0]])
    await run.signal(go, 1)
    expect(await run.result()).toEqual([1, 2])
    expect(await engine.count()).toBe(4)
    const fork = await run.fork({ step: 'go' }).catch((error: unknown) => error)
    expect(fork).toMatchObject({ code: 'SERVER_UNREACHABLE', message: expect.stringContaining('may have been done') })
  })

  test('a server that is not there, or is none, is named with what to do', async () => {
    const engine = await bench.serve(code)
    const url = await listen(engine)
    await servers.pop()?.close()
    const gone = await connect(url, { timeout: '200ms' })
      .count()
      .catch((error: unknown) => error)
    expect(gone).toMatchObject({ code: 'SERVER_UNREACHABLE', message: expect.stringContaining('ECONNREFUSED') })
    expect(String(gone)).toContain(url)
    const page = connect(url, {
      fetch: async () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    })
    expect(String(await page.count().catch(String))).toContain('expected a pawl server')
    expect(() => connect('localhost:7295')).toThrow('expected http(s)://')
    expect(() => connect('http://me:secret@localhost')).toThrow(expect.not.stringContaining('secret'))
  })

  test('a wrong token is refused at once; a token is needed when the server has one', async () => {
    const engine = await bench.serve(code)
    const url = await listen(engine, { token: 'the-secret-of-the-settings' })
    expect(await connect(url, { token: 'the-secret-of-the-settings' }).me()).toMatchObject({ scope: 'admin' })
    expect(await codeOf(connect(url, { token: 'another-secret' }).count())).toBe('UNAUTHENTICATED')
    expect(await codeOf(connect(url).count())).toBe('UNAUTHENTICATED')
    expect(() => connect(url, { token: 'a b' })).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }))
  })

  test('an AbortSignal ends the wait and not the run; close ends every call', async () => {
    const engine = await bench.serve(code)
    const pawl = connect(await listen(engine))
    const run = await pawl.start(waiting)
    const stop = new AbortController()
    const ended = run.result({ signal: stop.signal }).catch((error: unknown) => error)
    stop.abort(new Error('mine'))
    expect(await ended).toMatchObject({ message: 'mine' })
    expect(await run.describe()).toMatchObject({ status: expect.not.stringMatching('cancelled') })
    const other = run.result().catch((error: unknown) => error)
    await pawl.close()
    expect(await other).toMatchObject({ code: 'WORKER_STOPPED' })
  })

  test('a server that is busy is asked again when it says; close ends that wait, too', async () => {
    const busy = (after: string) => {
      let asked = 0
      const problem = { code: 'TOO_MANY_REQUESTS', detail: 'too many', status: 429 }
      const headers = { 'content-type': 'application/problem+json', 'retry-after': after }
      const fetch = async (): Promise<Response> => {
        asked++
        return new Response(JSON.stringify(problem), { status: 429, headers })
      }
      return { pawl: connect('http://localhost', { fetch }), count: () => asked }
    }
    const hour = busy('3600')
    expect(await codeOf(hour.pawl.count())).toBe('TOO_MANY_REQUESTS')
    expect(hour.count()).toBe(1)
    for (const after of ['20', 'Wed, 21 Oct 2037 07:28:00 GMT']) {
      const { pawl, count } = busy(after)
      const asked = pawl.count().catch((error: unknown) => error)
      await vi.waitFor(() => expect(count()).toBe(1))
      await pawl.close()
      expect(await asked).toMatchObject({ code: 'WORKER_STOPPED' })
      expect(count()).toBe(1)
    }
  })

  test('every operation that writes is repeated with an id of its own, changes nothing when repeated, or is sent once', () => {
    const natural = [
      ...['runs.trigger', 'runs.cancel', 'runs.terminate', 'runs.pause', 'completions.resolve', 'completions.reject'],
      ...['schedules.set', 'schedules.pause', 'schedules.resume', 'definitions.submit'],
      ...['builds.rollOut', 'builds.retire', 'batches.start', 'batches.stop', 'views.set', 'views.delete'],
      ...['retention.set', 'retention.remove', 'retention.purge', 'workers.work'],
    ]
    for (const [name, { scope }] of Object.entries(routes)) {
      const isRead = scope === 'read' || scope === 'none' || /\.(list|export)$/.test(name)
      const input = name === 'runs.startMany' ? { runs: [{}] } : {}
      const hasId = JSON.stringify(withOwnIds(name as OperationName, input, () => 'id')).includes('"id"')
      const ways = [isRead, hasId, natural.includes(name), once.has(name as OperationName)]
      expect(ways.filter(Boolean).length, name).toBe(1)
    }
    expect(Object.keys(inputs)).toEqual(expect.arrayContaining([...once]))
  })
})
