// Machines whose worker dies, whose code changes or is wrong, and what their schemas let pass.
import { activity, type CheckedRun, machine, RetryableError, type Schema, typed, workflow } from 'pawl'
import { crashAtEveryAwait, testEngine } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { Gate, historyOf, kinds, rejection, useStore, waitsFor } from './each-store.ts'
import { amountSchema, orderSchema, slow } from './fake-schemas.ts'
import { model, shape, tool, turn } from './machine-turn.ts'

const nothing = { input: typed<void>(), output: typed<string>() }

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('A3 N7: new code fits if there is a handler for every request in progress; otherwise the run is paused', async () => {
    const gate = new Gate()
    const held = activity('model', async (prompt: string) => {
      await gate.opened
      return { say: prompt, tool: null }
    })
    const first = await bench.worker({ workflows: [turn], activities: [held, tool], build: 'one' })
    const run = await first.engine.start(turn, { prompt: 'hello' })
    await waitsFor(run, 'activity')
    await first.worker.drain(1)
    // The model was renamed, and the deadline is gone.
    const renamed = machine('turn', { ...shape, activities: { llm: model }, timers: [] }).on({
      start: ({ prompt }, act) => [{ at: 'thinking', calls: 1 }, act.run('llm', prompt)],
      activityCompleted: { llm: (now) => [now] },
      signal: { stop: (now) => [now] },
    })
    const other = await bench.engine({ workflows: [renamed], build: 'two' })
    const verdicts: CheckedRun[] = []
    for await (const each of other.check()) verdicts.push(each)
    expect(verdicts).toMatchObject([
      {
        verdict: 'differs',
        failure: {
          type: 'VersionMismatch',
          code: 'VERSION_MISMATCH',
          details: { steps: [{ step: 'model' }, { step: 'deadline' }] },
        },
      },
    ])
    const second = await bench.worker({ workflows: [renamed], activities: [model], build: 'two' })
    await waitsFor(run, 'paused')
    await second.worker.drain()
    gate.open()
    // What is new fits: nobody waits for it yet.
    const grown = machine('turn', { ...shape, activities: { model, tool, extra: tool } }).on({
      start: () => [{ at: 'thinking', calls: 0 }],
      activityCompleted: {
        model: (now, { result }, act) => [now, act.complete({ answer: result.say, calls: now.calls })],
        tool: (now) => [now],
        extra: (now) => [now],
      },
      timerFired: { deadline: (now) => [now] },
      signal: { stop: (now) => [now] },
    })
    await bench.serve({ workflows: [grown], activities: [held, tool], build: 'three' })
    expect(await run.result()).toEqual({ answer: 'hello', calls: 1 })
    const hashes = (await historyOf(run)).filter(({ type }) => type === 'DefinitionTaken')
    expect(hashes).toHaveLength(2)
  })

  test('A3: code that throws fails the run; when it is tried again, mended code takes that event once more', async () => {
    const made = (mended: boolean) =>
      machine('fragile', { ...nothing, state: typed<string[]>(), activities: { tool } }).on({
        start: (_, act) => [[], act.run('tool', { name: 'one' })],
        activityCompleted: {
          tool: (seen, { result: [name = ''] }, act) => {
            if (seen.length === 0) return [[name], act.run('tool', { name: 'two' })]
            if (!mended) throw new TypeError('a bug')
            return [[...seen, name], act.complete([...seen, name].join(' '))]
          },
        },
      })
    let calls = 0
    const counted = activity('tool', async ({ name }: { name: string }) => {
      calls++
      return [name]
    })
    const first = await bench.worker({ workflows: [made(false)], activities: [counted] })
    const run = await first.engine.start(made(false))
    expect(await rejection(run.result())).toMatchObject({ failure: { type: 'TypeError' } })
    await first.worker.drain()
    const second = await bench.serve({ workflows: [made(true)], activities: [counted] })
    const again = second.get(made(true), run.runId)
    await again.retry()
    expect(await again.result()).toBe('one two')
    expect(calls).toBe(2)
    await again.reset({ step: 'activity:tool#2' })
    expect(await again.result()).toBe('one two')
    expect(calls).toBe(3)
    // What a result became of is decided anew if it is another.
    const step = 'activity:tool#2'
    const early = await again.fork({ step, results: { 'activity:tool#1': ['eins'] } })
    const late = await again.fork({ step, results: { [step]: ['zwei'] } })
    expect([await early.result(), await late.result()]).toEqual(['eins two', 'one zwei'])
    expect(calls).toBe(4)
  })
})

describe('in virtual time', () => {
  test('A3: killed before and after every turn, and opened anew before every one, it comes out the same', async () => {
    for (const alwaysReplay of [true, false]) {
      const engine = await testEngine({
        workflows: [turn],
        activities: [model, tool],
        alwaysReplay,
      })
      const { output, crashes } = await crashAtEveryAwait(engine, turn, { prompt: 'a' })
      expect(output).toEqual({ answer: 'said a!!!', calls: 4 })
      expect(crashes).toBeGreaterThan(8)
      await engine.close()
    }
  })

  test('A4: a deadline that is met by nobody fails the run', async () => {
    const engine = await testEngine({ workflows: [turn], activities: [model, tool] })
    engine.stub(model, () => {
      throw new RetryableError('busy', { after: '1h' })
    })
    const run = await engine.start(turn, { prompt: 'a' })
    await engine.clock.advance('4m')
    expect((await run.describe()).endedAt).toBeUndefined()
    await engine.clock.advance('1m')
    expect(await rejection(run.result())).toMatchObject({ failure: { message: 'too slow' } })
    await engine.close()
  })

  test('A4: an activity of which a move says that it must not run twice does not, whichever worker dies', async () => {
    let calls = 0
    const once = activity('once', async () => {
      calls++
      return calls
    })
    const careful = machine('careful', {
      ...nothing,
      state: typed<number>(),
      activities: { once },
    }).on({
      start: (_, act) => [0, act.run('once', undefined, { retry: 'none' })],
      activityCompleted: { once: (n, _, act) => [n, act.complete('done')] },
      activityFailed: (n, { failure }, act) => [n, act.complete(failure.type)],
    })
    const engine = await testEngine({ workflows: [careful], activities: [once] })
    engine.crashAtTurn(2, 'before')
    const run = await engine.start(careful)
    expect([await run.result(), calls]).toEqual(['WorkerDied', 1])
    await engine.close()
  })

  test('A3: schemas: the start gets what the input became, and the caller what the output became', async () => {
    const order = machine('order', {
      ...{ input: orderSchema, state: typed<string>(), output: amountSchema },
      activities: { tool },
    }).on({
      start: ({ id, cents }, act) => [`${id}`, act.run('tool', { name: `${cents}` })],
      activityCompleted: {
        tool: (id, { result }, act) => [id, act.complete(Number(result[0]) + 0.5)],
      },
    })
    const parent = workflow('parent', async (ctx) => ctx.child(order, { id: ' A ', cents: 5 }))
    const engine = await testEngine({ workflows: [order, parent], activities: [tool] })
    expect(await engine.execute(order, { id: ' A ', cents: 7 })).toBe(7)
    // Nobody has parsed it before: then the run does, in a step of its own.
    expect(await engine.execute(parent)).toBe(5)
    expect(await rejection(engine.execute(order, { cents: -1 }))).toMatchObject({
      code: 'INPUT_INVALID',
    })
    await engine.close()
  })

  test('A3: an output that its schema refuses, or has to wait for, fails the run', async () => {
    const made = (output: Schema<number>) =>
      machine('sums', {
        ...{ input: typed<number>(), state: typed<null>(), output },
        activities: {},
      }).on({
        start: (n, act) => [null, act.complete(n)],
        activityCompleted: {},
      })
    for (const [output, failure] of [
      [amountSchema, { type: 'InvalidOutput', code: 'OUTPUT_INVALID' }],
      [slow(amountSchema), { code: 'NOT_SUPPORTED' }],
    ] as const) {
      const engine = await testEngine({ workflows: [made(output)] })
      expect(await rejection(engine.execute(made(output), -1))).toMatchObject({ failure })
      await engine.close()
    }
  })
})
