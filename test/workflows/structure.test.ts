// Races, joins, maps, scopes and shields: what is cancelled, what becomes of it, and that it comes out the same again.
import { activity, CANCELLED, CancelledError, query, signal, TIMEOUT, workflow } from 'pawl'
import { describe, expect, test } from 'vitest'
import { Gate, historyOf, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal<string>('go')
const stop = signal('stop')

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('C3 a race says which branch won, and calls off the others for good', async () => {
    const aborted = new Gate()
    const slow = activity('slow', { retry: 'none' }, async (_: string, step) => {
      step.signal.addEventListener('abort', () => aborted.open())
      return new Promise<string>(() => {})
    })
    const child = workflow('child', async (ctx) => ctx.wait(stop))
    const racing = workflow('racing', async (ctx) => {
      const won = await ctx.race({
        activity: ctx.run(slow, 'x'),
        child: ctx.child(child),
        signal: ctx.wait(go),
        timer: ctx.sleep('1h'),
      })
      // What was cancelled does not hold up what comes after it.
      const next = await ctx.wait(go)
      return [won, next]
    })
    const engine = await bench.serve({ workflows: [racing, child], activities: [slow] }, { warm: 0 })
    const run = await engine.start(racing)
    await until(
      () => engine.count({ workflow: child, status: 'waiting' }),
      (n) => n === 1,
    )
    await run.signal(go, 'first')
    await aborted.opened
    await until(
      () => engine.count({ workflow: child, status: 'cancelled' }),
      (n) => n === 1,
    )
    await run.signal(go, 'second')
    expect(await run.result()).toEqual([{ winner: 'signal', value: 'first' }, 'second'])
  })

  test('C3 a failing winner is thrown, and function branches have steps of their own', async () => {
    const racing = workflow('racing', async (ctx) => {
      const failed = await ctx
        .race({
          bad: async (own) => {
            await own.run('one', () => 1)
            throw new RangeError('lost')
          },
          good: async (own) => own.sleep('1h'),
        })
        .catch((error: Error) => error.message)
      const first = await ctx.race({
        a: async (own) => own.run('one', () => 'a'),
        b: async (own) => {
          await own.sleep('1h')
          return own.run('one', () => 'b')
        },
      })
      return [failed, first]
    })
    const engine = await bench.serve({ workflows: [racing] }, { warm: 0 })
    const run = await engine.start(racing)
    expect(await run.result()).toEqual(['lost', { winner: 'a', value: 'a' }])
    const steps = (await historyOf(run)).flatMap(({ type, step }) => (type === 'StepStarted' ? [step] : []))
    expect(steps).toEqual(['race#1[bad]/step:one#1', 'race#2[a]/step:one#1'])
  })

  test('C2 ctx.all gives everything by name, or cancels the rest at the first failure', async () => {
    const begun: string[] = []
    const joining = workflow('joining', async (ctx) => {
      const both = await ctx.all({
        a: ctx.run('a', () => 1),
        b: async (own) => own.run('b', () => 'two'),
      })
      const failed = await ctx
        .all({
          bad: ctx.run('bad', { retry: 'none' }, () => {
            throw new Error('no')
          }),
          late: async (own) => {
            await own.sleep('1h')
            begun.push('late')
          },
        })
        .catch((error: Error) => error.message)
      return [both, failed]
    })
    const engine = await bench.serve({ workflows: [joining] }, { warm: 0 })
    expect(await engine.execute(joining)).toEqual([{ a: 1, b: 'two' }, expect.stringContaining('no')])
    expect(begun).toEqual([])
  })

  test('C5 a scope that is cancelled gives CANCELLED, and the code after it goes on', async () => {
    const scoped = workflow('scoped', async (ctx) => {
      const inner = await ctx.scope('work', async (own) => {
        const held = own.run('held', () => 'kept')
        const never = own.sleep('1h')
        await held
        own.cancel('enough')
        return [own.cancelled, await never]
      })
      return [inner === CANCELLED, await ctx.run('after', () => 'went on')]
    })
    const engine = await bench.serve({ workflows: [scoped] }, { warm: 0 })
    expect(await engine.execute(scoped)).toEqual([true, 'went on'])
  })

  test('C5 a scope gives TIMEOUT when its time is over, and its value when it is not', async () => {
    const timed = workflow('timed', async (ctx) => {
      const late = await ctx.scope('late', { timeout: '20ms' }, async (own) => own.wait(go))
      const early = await ctx.scope('early', { timeout: '1h' }, async (own) => own.run('quick', () => 7))
      return [late === TIMEOUT, early]
    })
    const engine = await bench.serve({ workflows: [timed] }, { warm: 0 })
    const run = await engine.start(timed)
    expect(await run.result()).toEqual([true, 7])
    const off = (await historyOf(run)).filter(({ type }) => type === 'CalledOff')
    expect(off).toMatchObject([{ steps: ['scope:late#1/wait:go#1'], met: [] }])
  })

  test('C5 a shield finishes although the run is cancelled, and so does clean-up begun after it', async () => {
    const done: string[] = []
    const careful = workflow('careful', async (ctx) => {
      try {
        await Promise.all([
          ctx.shield(async (own) => {
            await own.wait(go)
            await own.run('shielded', () => done.push('shielded'))
          }),
          ctx.sleep('1h'),
        ])
      } catch (error) {
        await ctx.shield(async (own) => own.run('clean up', () => done.push('clean up')))
        throw error
      }
    })
    const engine = await bench.serve({ workflows: [careful] }, { warm: 0 })
    const run = await engine.start(careful)
    await waitsFor(run, 'signal')
    await run.cancel('over')
    await until(
      () => done,
      (list) => list.length === 1,
    )
    expect(await rejection(run.result())).toMatchObject({ reason: 'over' })
    expect(done).toEqual(['clean up'])
  })

  test('C5 a run that is cancelled waits for a shield it stands in', async () => {
    const careful = workflow('careful', async (ctx) => {
      const paid = await ctx.shield(async (own) => own.wait(go))
      await ctx.sleep('1h').catch((error: unknown) => {
        expect(error).toBeInstanceOf(CancelledError)
      })
      return paid
    })
    const engine = await bench.serve({ workflows: [careful] }, { warm: 0 })
    const run = await engine.start(careful)
    await waitsFor(run, 'signal')
    await run.cancel()
    await run.signal(go, 'paid')
    expect(await run.result()).toBe('paid')
  })

  test('C2 ctx.map runs so many at once, keeps the order, and knows items by their key', async () => {
    let now = 0
    let most = 0
    const mapped = workflow('mapped', async (ctx, items: readonly string[]) =>
      ctx.map(items, { concurrency: 3, key: (item) => item }, async (own, item, index) => {
        const size = await own.run('measure', async () => {
          most = Math.max(most, ++now)
          await new Promise((resolve) => setTimeout(resolve, 2))
          now--
          return item.length
        })
        await own.sleep('1ms')
        return [index, size]
      }),
    )
    const engine = await bench.serve({ workflows: [mapped] }, { warm: 0 })
    const items = ['a', 'bb', 'ccc', 'dd/dd', 'e#e:ee', 'f']
    const run = await engine.start(mapped, items)
    expect(await run.result()).toEqual(items.map((item, index) => [index, item.length]))
    expect(most).toBeLessThanOrEqual(3)
    const keys = (await historyOf(run)).flatMap(({ type, step }) => (type === 'StepStarted' ? [step] : []))
    expect(keys).toContain('map#1[e%23e%3Aee]/step:measure#1')
  })

  test('C2 ctx.map tolerates as many failures as it is told, and no more', async () => {
    const mapped = workflow('mapped', async (ctx, tolerate: number) => {
      const settled = await ctx.map([1, 2, 3, 4], { tolerate }, async (own, item) =>
        own.run('odd', { retry: 'none' }, () => {
          if (item % 2 === 0) throw new RangeError(`${item} is even`)
          return item
        }),
      )
      return settled.map((each) => (each.ok ? each.value : each.failure.type))
    })
    const engine = await bench.serve({ workflows: [mapped] }, { warm: 0 })
    expect(await engine.execute(mapped, 2)).toEqual([1, 'ActivityError', 3, 'ActivityError'])
    expect(await rejection(engine.execute(mapped, 1))).toMatchObject({
      failure: { code: 'TOO_MANY_FAILURES' },
    })
  })

  test('S3 a signal whose wait was cancelled is there for the next', async () => {
    const picky = workflow('picky', async (ctx) => {
      const first = await ctx.race({ wait: ctx.wait(go), quick: ctx.run('quick', () => 'quick') })
      return [first.winner, await ctx.wait(go)]
    })
    const engine = await bench.serve({ workflows: [picky] }, { warm: 0 })
    const run = await engine.start(picky)
    await until(
      () => historyOf(run),
      (entries) => entries.some(({ type }) => type === 'CalledOff'),
    )
    await run.signal(go, 'late')
    const [winner, value] = await run.result()
    expect([winner, value]).toEqual(['quick', 'late'])
  })

  test('C12 a patch is taken by runs that get there first with the new code, and not by those that are past', async () => {
    const open = new Gate()
    const old = workflow('patchy', async (ctx) => {
      await ctx.run('before', () => 1)
      await ctx.run('old', () => open.open())
      await ctx.wait(stop)
      return 'old'
    })
    const patchy = workflow('patchy', async (ctx) => {
      await ctx.run('before', () => 1)
      const isNew = ctx.patched('better')
      if (isNew) await ctx.run('new', () => 2)
      else await ctx.run('old', () => 1)
      await ctx.wait(stop)
      return [isNew, ctx.patched('better')]
    })
    const first = await bench.worker({ workflows: [old], build: 'one' }, { warm: 0 })
    const past = await first.engine.start(old)
    await open.opened
    await waitsFor(past, 'signal')
    await first.worker.drain()
    const engine = await bench.serve({ workflows: [patchy], build: 'two' }, { warm: 0 })
    const fresh = await engine.start(patchy)
    await waitsFor(fresh, 'signal')
    await engine.get(past.runId).signal(stop)
    await fresh.signal(stop)
    expect(await engine.get(patchy, past.runId).result()).toEqual([false, false])
    expect(await fresh.result()).toEqual([true, true])
    const marks = (await historyOf(fresh)).filter(({ type }) => type === 'Patched')
    expect(marks.length).toBe(1)
  })

  test('C3 a patch that is met in the last turn is recorded: a query of the ended run sees the same branch', async () => {
    const branch = query<void, string>('branch')
    const brief = workflow('brief', async (ctx) => {
      const isNew = ctx.patched('better')
      ctx.on(branch, () => (isNew ? 'new' : 'old'))
      ctx.setAttributes({ seen: true })
      return isNew
    })
    const engine = await bench.serve({ workflows: [brief] }, { warm: 0 })
    const run = await engine.start(brief)
    expect(await run.result()).toBe(true)
    expect(await run.query(branch)).toBe('new')
  })
})
