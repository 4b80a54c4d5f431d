// What a retry and a reset keep, and what they do again: nothing that was recorded runs twice, and no message is lost.
import { activity, type Engine, RunError, type RunHandle, signal, workflow } from 'pawl'
import { beforeEach, describe, expect, test } from 'vitest'
import { Gate, kinds, rejection, until, useStore, waitsFor } from './each-store.ts'

const go = signal<string>('go')
const calls: string[] = []
let isBroken = true
let gate = new Gate()

beforeEach(() => {
  calls.length = 0
  isBroken = true
  gate = new Gate()
})

const note =
  (name: string, fails = false) =>
  (): string => {
    calls.push(name)
    if (fails && isBroken) throw new Error(`${name} is broken`)
    return name
  }
const once = { retry: 'none' } as const

async function failed(engine: Engine, run: RunHandle<unknown>): Promise<void> {
  expect(await rejection(run.result())).toBeInstanceOf(RunError)
  isBroken = false
  expect(engine).toBeDefined()
}

const stopped = async (run: RunHandle<unknown>): Promise<void> => {
  await until(
    () => run.describe(),
    ({ status }) => status === 'paused',
  )
}

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('V9: a failure that was handled stays handled; only what the run failed with is done again', async () => {
    const order = workflow('order', async (ctx) => {
      await ctx.run('optional', once, note('optional', true)).catch(() => {})
      await ctx.run('charge', note('charge'))
      return ctx.run('ship', once, note('ship', true))
    })
    const engine = await bench.serve({ workflows: [order] })
    const run = await engine.start(order)
    await failed(engine, run)
    await run.retry()
    expect(await run.result()).toBe('ship')
    expect(calls).toEqual(['optional', 'charge', 'ship', 'ship'])
  })

  test('V9: a bug of the code itself is tried again with no step at all', async () => {
    const buggy = workflow('buggy', async (ctx) => {
      await ctx.run('optional', once, note('optional', true)).catch(() => {})
      await ctx.run('charge', note('charge'))
      if (isBroken) throw new TypeError('undefined is not a function')
      return 'fixed'
    })
    const engine = await bench.serve({ workflows: [buggy] })
    const run = await engine.start(buggy)
    await failed(engine, run)
    await run.retry()
    expect(await run.result()).toBe('fixed')
    expect(calls).toEqual(['optional', 'charge'])
  })

  test('V9: steps beside the one that failed are kept, whether they ended before it, after it, or not at all', async () => {
    const both = workflow('both', async (ctx) => {
      const long = ctx.run('long', async () => {
        calls.push('long')
        if (isBroken) await gate.opened
        return 'long'
      })
      const results = await Promise.allSettled([
        ctx.run('one', once, note('one', true)),
        ctx.sleep(30).then(() => ctx.run('two', note('two'))),
      ])
      if (results[0].status === 'rejected') throw results[0].reason
      return [results[0].value, await long]
    })
    const engine = await bench.serve({ workflows: [both] })
    const run = await engine.start(both)
    await failed(engine, run)
    gate.open()
    await run.retry()
    expect(await run.result()).toEqual(['one', 'long'])
    expect(calls.toSorted()).toEqual(['long', 'long', 'one', 'one', 'two'])
  })

  test('V9: what the code did about its failure does not stand in the way of its success', async () => {
    const careful = workflow('careful', async (ctx) => {
      try {
        await ctx.run('charge', once, note('charge', true))
      } catch (error) {
        await ctx.run('refund', note('refund'))
        throw error
      }
      return ctx.run('ship', note('ship'))
    })
    const engine = await bench.serve({ workflows: [careful] })
    const run = await engine.start(careful)
    await failed(engine, run)
    await run.retry()
    expect(await run.result()).toBe('ship')
    expect(calls).toEqual(['charge', 'refund', 'charge', 'ship'])
  })

  test('V9: a run that was cancelled goes on where it was, past its clean-up', async () => {
    const tidy = workflow('tidy', async (ctx) => {
      await ctx.run('a', note('a'))
      try {
        await ctx.wait(go)
      } catch (error) {
        await ctx.shield((own) => own.run('clean up', note('clean up')))
        throw error
      }
      return ctx.run('b', note('b'))
    })
    const engine = await bench.serve({ workflows: [tidy] })
    const run = await engine.start(tidy)
    await waitsFor(run, 'signal')
    await run.cancel('changed my mind')
    await rejection(run.result())
    await run.retry()
    await run.signal(go, 'on')
    expect(await run.result()).toBe('b')
    expect(calls).toEqual(['a', 'clean up', 'b'])
  })

  test('V9: signals that came after the step stay with the run, on retry and on reset', async () => {
    const patient = workflow('patient', async (ctx) => {
      const [, word] = await Promise.all([
        ctx.run('check', once, () => gate.opened.then(note('check', true))),
        ctx.wait(go),
      ])
      const second = await ctx.wait(go)
      return `${word} ${second}`
    })
    const engine = await bench.serve({ workflows: [patient] })
    const run = await engine.start(patient)
    await waitsFor(run, 'activity')
    await run.signal(go, 'hello', { messageId: 'm1' })
    await run.signal(go, 'world', { messageId: 'm2' })
    gate.open()
    await failed(engine, run)
    await run.retry()
    await run.signal(go, 'hello', { messageId: 'm1' }).catch(() => {})
    expect(await run.result()).toBe('hello world')
    await run.reset({ step: 'check' })
    expect(await run.result()).toBe('hello world')
  })

  test('V9: a paused run that goes back stops the children it had, and starts others', async () => {
    const child = workflow('child', async (ctx) => ctx.wait(go))
    const parent = workflow('parent', async (ctx) => {
      await ctx.run('first', note('first'))
      return ctx.child(child)
    })
    const engine = await bench.serve({ workflows: [parent, child] })
    const run = await engine.start(parent)
    const { runId: old } = await waitsFor(run, 'child')
    await run.pause()
    await stopped(run)
    await run.reset({ step: 'first' })
    expect(await rejection(engine.get(old).result())).toMatchObject({ name: 'CancelledError' })
    const { runId: young } = await waitsFor(run, 'child')
    expect(young).not.toBe(old)
    await engine.get(young).signal(go, 'done')
    expect(await run.result()).toBe('done')
  })

  test('names of steps are not looked up where objects keep theirs', async () => {
    const odd = activity('constructor', async () => 'fine')
    const names = workflow('names', async (ctx) => {
      const first = await ctx.run(odd)
      await ctx.run('toString', note('toString'))
      return [first, await ctx.run('end', once, note('end', true))]
    })
    const engine = await bench.serve({ workflows: [names], activities: [odd] })
    const run = await engine.start(names)
    await failed(engine, run)
    await run.retry()
    expect(await run.result()).toEqual(['fine', 'end'])
    const fork = await run.fork({ step: 'end', results: { end: 'by hand' } })
    expect(await fork.result()).toEqual(['fine', 'by hand'])
  })
})
