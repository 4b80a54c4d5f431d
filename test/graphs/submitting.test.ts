// Definitions that are kept in the store, and runs that wait to be triggered.
import { activity, type Json, PawlError, signal, TIMEOUT, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { historyOf, rejection, until, useStore, waitsFor } from '../workflows/each-store.ts'

const tell = activity('tell', async ({ what }: { what: string }) => `told ${what}`)
const go = signal<string>('go')
const activities = [tell]

/** A graph that tells one thing, and then waits if it is asked to. */
const telling = (what: string, waits = false): Json => ({
  name: 'telling',
  parameters: { who: { type: 'string', default: 'nobody' } },
  nodes: [
    { id: 'tell', handler: 'tell', with: { what: `${what} to {{ input.who }}` } },
    ...(waits ? [{ id: 'go', wait: 'go', after: ['tell'] }] : []),
  ],
})

const patient = workflow('patient', async (ctx, first: string) => {
  const said = await ctx.wait(go, { timeout: '50ms' })
  return said === TIMEOUT ? first : `${first} ${said}`
})
const strict = workflow('strict', { input: z.object({ n: z.number().default(7) }) }, async (_, { n }) => n)
const rounds = workflow('rounds', async (ctx, n: number): Promise<number> => {
  if (n < 3) ctx.continueAsNew(n + 1)
  return n
})
let failing = true
const fails = workflow('fails', async (ctx, word: string) =>
  ctx.run('say', { retry: 'none' }, () => {
    if (failing) throw new Error('not yet')
    return word
  }),
)

describe.each(['memory', 'sqlite', 'postgres', 'file'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  describe('definitions', () => {
    test('D2: a graph is checked before anything is stored', async () => {
      const engine = await bench.engine({ activities })
      const [a, b] = [
        { id: 'a', handler: 'tel' },
        { id: 'b', handler: 'tell', after: ['c'] },
      ]
      const bad = { name: 'telling', nodes: [a, b] }
      const error = await rejection(engine.submit(bad))
      expect(error).toBeInstanceOf(PawlError)
      expect(error).toMatchObject({
        code: 'DEFINITION_INVALID',
        details: { problems: [{ code: 'UNKNOWN_HANDLER' }, { path: 'nodes[1].after[0]' }] },
      })
      expect(await engine.definitions('telling')).toEqual([])
    })

    test('D3: the same again changes nothing, another is the next version', async () => {
      const engine = await bench.engine({ activities })
      const first = await engine.submit(telling('news'))
      expect(first).toMatchObject({ is: 'workflow', name: 'telling', version: 1 })
      expect(await engine.submit(JSON.stringify(telling('news')))).toEqual(first)
      const second = await engine.submit(telling('lies'))
      expect(second.version).toBe(2)
      // The structure is the same; what is in it is not.
      expect(second.definitionHash).toBe(first.definitionHash)
      expect((await engine.submit(telling('news'))).version).toBe(3)
      const versions = await engine.definitions('telling')
      expect(versions.map(({ version }) => version)).toEqual([3, 2, 1])
    })

    test('D3: several who submit at once get consecutive versions, and none is lost', async () => {
      const engines = await Promise.all(Array.from({ length: 3 }, () => bench.engine()))
      const submitted = await Promise.all(
        Array.from({ length: 12 }, async (_, n) => {
          const engine = engines[n % engines.length]
          return engine?.submit(telling(`thing ${n % 6}`))
        }),
      )
      const versions = (await engines[0]?.definitions('telling')) ?? []
      const numbers = versions.map(({ version }) => version).reverse()
      expect(numbers).toEqual(Array.from({ length: versions.length }, (_, n) => n + 1))
      for (const [n, mine] of submitted.entries()) {
        const found = versions.find(({ version }) => version === mine?.version)
        expect(JSON.stringify(found?.document)).toContain(`thing ${n % 6} `)
      }
    })

    test('D3: a run keeps the version it began with; without one it takes the newest when it begins', async () => {
      const engine = await bench.serve({ activities })
      const first = await engine.submit(telling('news', true))
      const old = await engine.start(first, { who: 'Ada' })
      await waitsFor(old, 'signal')
      const bound = await engine.start(first, {}, { pending: true })
      const byName = workflow.declare<unknown, unknown>('telling')
      const free = await engine.start(byName, {}, { pending: true })
      const second = await engine.submit(telling('lies'))
      expect(await engine.execute(second)).toEqual({ tell: 'told lies to nobody' })
      await free.trigger({ who: 'Bob' })
      expect(await free.result()).toEqual({ tell: 'told lies to Bob' })
      await old.signal(go, 'on')
      expect(await old.result()).toEqual({ tell: 'told news to Ada', go: 'on' })
      await bound.trigger()
      await waitsFor(bound, 'signal')
      const again = await engine.start(second, {}, { version: 1 })
      await waitsFor(again, 'signal')
      await Promise.all([bound, again].map((run) => run.cancel()))
    })

    test('D2: a worker that was there before finds what is submitted', async () => {
      const { worker } = await bench.worker({ activities })
      const engine = await bench.engine()
      const run = await engine.start(await engine.submit(telling('news')), { who: 'Eve' })
      expect(await run.result()).toEqual({ tell: 'told news to Eve' })
      expect(worker.stepsRunning).toBe(0)
    })

    test('why does not say that a worker is missing for what any worker can run', async () => {
      const engine = await bench.engine()
      const run = await engine.start(await engine.submit(telling('news')))
      expect(await run.why()).toMatchObject({ reason: 'noWorker', type: 'telling' })
      // It has not looked for definitions when it says what it has code for.
      await bench.worker({ activities })
      expect((await run.why()).reason).not.toBe('noWorker')
      expect(await run.result()).toEqual({ tell: 'told news to nobody' })
    })

    test('D3: a version that is not there pauses the run, and says so', async () => {
      const engine = await bench.serve({ activities })
      const run = await engine.start(await engine.submit(telling('news')), {}, { version: 9 })
      const { failure } = await until(
        () => run.describe(),
        ({ status }) => status === 'paused',
      )
      expect(failure?.message).toMatch(/version 9 of definition 'telling'/)
    })
  })

  describe('pending runs', () => {
    test('D2: it does not begin before it is triggered, whatever it is sent; then it does, with its messages', async () => {
      const engine = await bench.serve({ workflows: [patient] })
      const run = await engine.start(patient, 'one', { pending: true })
      await run.signal(go, 'two')
      expect(await run.why()).toMatchObject({
        reason: 'pending',
        suggestion: `pawl trigger ${run.runId}`,
      })
      expect(await run.describe()).toMatchObject({ status: 'pending' })
      expect(await historyOf(run)).toHaveLength(1)
      expect((await engine.list({ status: 'pending' })).items).toHaveLength(1)
      await run.trigger()
      expect(await run.result()).toBe('one two')
    })

    test('D2: the same trigger again changes nothing, another is refused', async () => {
      const engine = await bench.serve({ workflows: [patient] })
      const run = await engine.start(patient, 'one', { pending: true })
      await run.trigger('three')
      await run.trigger('three')
      expect(await run.result()).toBe('three')
      await run.trigger('three')
      for (const input of ['four', undefined])
        expect(await rejection(run.trigger(input))).toMatchObject({ code: 'RUN_ALREADY_EXISTS' })
      const plain = await engine.start(patient, 'one')
      expect(await rejection(plain.trigger())).toMatchObject({ code: 'INPUT_INVALID' })
    })

    test('D2: the same definition runs many times, each time with its own parameters', async () => {
      const engine = await bench.serve({ activities })
      const submitted = await engine.submit(telling('news'))
      const told = await Promise.all(
        ['Ada', 'Eve', undefined].map(async (who) => {
          const run = await engine.start(submitted, {}, { pending: true })
          await run.trigger(who === undefined ? undefined : { who })
          return run.result()
        }),
      )
      expect(told).toEqual(['Ada', 'Eve', 'nobody'].map((who) => ({ tell: `told news to ${who}` })))
    })

    test('D2: what it is triggered with is parsed like any input', async () => {
      const engine = await bench.serve({ workflows: [strict] })
      const good = await engine.start(strict, { n: 1 }, { pending: true })
      await good.trigger({})
      expect(await good.result()).toBe(7)
      const bad = await engine.start(strict, { n: 1 }, { pending: true })
      await bad.trigger({ n: 'many' })
      await bad.result().catch(() => {})
      expect((await bad.describe()).failure?.type).toBe('InvalidInput')
      const kept = await engine.start(strict, { n: 2 }, { pending: true })
      await kept.trigger()
      expect(await kept.result()).toBe(2)
    })

    test('D2: it can be cancelled and terminated before it begins; then it is not triggered any more', async () => {
      const engine = await bench.serve({ workflows: [patient] })
      for (const stop of ['cancel', 'terminate'] as const) {
        const run = await engine.start(patient, 'one', { pending: true })
        await run[stop]('not wanted')
        await run.result().catch(() => {})
        expect((await run.describe()).status).toBe(stop === 'cancel' ? 'cancelled' : 'failed')
        expect(await rejection(run.trigger())).toMatchObject({ code: 'RUN_ENDED' })
        // It was never let begin, so there is nothing to go on with.
        expect(await rejection(run.retry())).toMatchObject({ code: 'RUN_ENDED' })
      }
    })

    test('D2: one that was paused and resumed still waits to be triggered', async () => {
      const engine = await bench.serve({ workflows: [patient] })
      const run = await engine.start(patient, 'one', { pending: true })
      await run.pause('for a while')
      await run.resume()
      await run.signal(go, 'two')
      expect(await run.why()).toMatchObject({ reason: 'pending' })
      await run.trigger()
      expect(await run.result()).toBe('one two')
    })

    test('D2: time counts from the trigger', async () => {
      const engine = await bench.serve({ workflows: [patient] })
      const limits = { runTimeout: '2s', executionTimeout: '2s' } as const
      const run = await engine.start(patient, 'one', { pending: true, ...limits })
      await new Promise((resolve) => setTimeout(resolve, 2_100))
      await run.trigger()
      expect(await run.result()).toBe('one')
    })

    test('V9: a run that was triggered goes on with what it was triggered with', async () => {
      failing = true
      const engine = await bench.serve({ workflows: [fails, rounds] })
      const run = await engine.start(fails, 'first', { pending: true, runTimeout: '10s' })
      await run.trigger('second')
      await run.result().catch(() => {})
      failing = false
      await run.retry()
      expect(await run.result()).toBe('second')
      await run.reset({ step: 'say' })
      expect(await run.result()).toBe('second')
      expect(await (await run.fork({ step: 'say' })).result()).toBe('second')
      const again = await engine.start(rounds, 1, { pending: true })
      await again.trigger()
      expect(await again.result()).toBe(3)
    })
  })
})
