// What a migration can say about the steps of a run, and what becomes of a run that was told something wrong.
import { activity, graph, PawlError, type RunHandle, signal, type Workflow } from 'pawl'
import { beforeEach, describe, expect, test } from 'vitest'
import { Gate, rejection, until, useStore, waitsFor } from '../workflows/each-store.ts'

const go = signal<string>('go')
const name = 'moving'
const log: string[] = []
const noted =
  (step: string) =>
  ({ idempotencyKey }: { idempotencyKey: string }): string => {
    log.push(`${step} ${idempotencyKey.slice(-1)}`)
    return step
  }

/** a → wait → b: a run of it has done `a` and waits. */
const original = graph(name)
  .step('a', noted('a'))
  .wait('pause', { after: ['a'] }, go)
  .step('b', { after: ['pause'] }, noted('b'))

describe.each(['memory', 'sqlite'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  beforeEach(() => {
    log.length = 0
  })

  let serving: Awaited<ReturnType<typeof bench.worker>>

  /** A run that waits, with a worker that has other code. */
  async function moved<Out>(next: Workflow<void, Out>): Promise<RunHandle<Out>> {
    const { engine, worker } = await bench.worker({ workflows: [original] })
    const run = await engine.start(original)
    await waitsFor(run, 'signal')
    await worker.drain()
    serving = await bench.worker({ workflows: [next] }, { warm: 0 })
    return serving.engine.get(next, run.runId)
  }

  test('N4: two steps change places', async () => {
    const next = graph(name)
      .step('b', noted('first'))
      .wait('pause', { after: ['b'] }, go)
      .step('a', { after: ['pause'] }, noted('second'))
    const run = await moved(next)
    await run.migrate({ definitionHash: next.definitionHash, steps: { a: 'b', b: 'a' } })
    await run.signal(go, 'on')
    expect(await run.result()).toEqual({ b: 'a', pause: 'on', a: 'second' })
    // Not under the key that was another step's.
    expect(log).toEqual(['a 1', 'second 2'])
  })

  test('N4: names move up, all at once', async () => {
    const next = graph(name)
      .step('b', noted('first'))
      .wait('pause', { after: ['b'] }, go)
      .step('c', { after: ['pause'] }, noted('second'))
    const run = await moved(next)
    await run.migrate({ definitionHash: next.definitionHash, steps: { a: 'b', b: 'c' } })
    await run.signal(go, 'on')
    expect(await run.result()).toEqual({ b: 'a', pause: 'on', c: 'second' })
    expect(log).toEqual(['a 1', 'second 1'])
  })

  test('N4: the name that a step had is given to a new one, which runs; what was done is not done again', async () => {
    const next = graph(name)
      .step('old', noted('old'))
      .wait('pause', { after: ['old'] }, go)
      .step('b', { after: ['pause'] }, noted('b'))
      .step('a', { after: ['b'] }, noted('new'))
      .wait('more', { after: ['a'] }, go)
    const run = await moved(next)
    await run.migrate({ definitionHash: next.definitionHash, steps: { a: 'old' } })
    await run.signal(go, 'on')
    await until(
      () => log,
      (steps) => steps.length === 3,
    )
    await waitsFor(run, 'signal')
    await run.signal(go, 'and on')
    const all = { old: 'a', pause: 'on', b: 'b', a: 'new', more: 'and on' }
    expect(await run.result()).toEqual(all)
    expect(log).toEqual(['a 1', 'b 1', 'new 2'])
  })

  test('N4: a step is renamed, and renamed back', async () => {
    const next = graph(name)
      .step('x', noted('x'))
      .wait('pause', { after: ['x'] }, go)
      .step('b', { after: ['pause'] }, noted('b'))
    const run = await moved(next)
    await run.migrate({ definitionHash: next.definitionHash, steps: { a: 'x' } })
    await waitsFor(run, 'signal')
    await serving.worker.drain()
    await run.migrate({ definitionHash: original.definitionHash, steps: { x: 'a' } })
    await bench.serve({ workflows: [original] })
    await run.signal(go, 'on')
    expect(await run.result()).toEqual({ a: 'a', pause: 'on', b: 'b' })
    expect(log).toEqual(['a 1', 'b 1'])
  })

  test('N4: two steps cannot become one', async () => {
    const run = await moved(original)
    const definitionHash = original.definitionHash
    const error = await rejection(run.migrate({ definitionHash, steps: { a: 'b' } }))
    expect(error).toBeInstanceOf(PawlError)
    expect(error).toMatchObject({ code: 'INPUT_INVALID' })
    await run.migrate({ definitionHash, steps: { pause: null } })
    await expect(run.result()).resolves.toMatchObject({ a: 'a' })
  })

  test('N4: a wait that is skipped takes no signal from another', async () => {
    const two = graph('two').wait('first', {}, go).wait('second', {}, go)
    const engine = await bench.serve({ workflows: [two] })
    const run = await engine.start(two)
    await waitsFor(run, 'signal')
    await run.migrate({ definitionHash: two.definitionHash, steps: { first: null } })
    await run.signal(go, 'on')
    expect(await run.result()).toMatchObject({ second: 'on' })
  })

  test('N4: a run that was sent to a definition nobody has is sent to another', async () => {
    const give = activity('give', async (value: unknown) => value)
    const documents = [1, 2].map((n) => ({
      name: 'data',
      nodes: [
        { id: 'pause', wait: 'go' },
        { id: `give${n}`, handler: 'give', after: ['pause'], with: { n } },
      ],
    }))
    const [one, two] = documents
    const engine = await bench.engine({ activities: [give] })
    const first = await engine.submit(one ?? '')
    const { definitionHash } = await engine.submit(two ?? '')
    await engine.work({ signals: false }).ready
    const run = await engine.start(first, {})
    await waitsFor(run, 'signal')
    await run.migrate({ definitionHash: 'somewhere else' })
    const { failure } = await until(
      () => run.describe(),
      ({ status }) => status === 'paused',
    )
    expect(failure).toMatchObject({ code: 'WORKFLOW_NOT_FOUND' })
    await run.migrate({ definitionHash, steps: { give1: null } })
    await run.signal(go, 'on')
    expect(await run.result()).toEqual({ pause: 'on', give2: { n: 2 } })
  })

  test('N4: what is running when a migration comes is finished, and counts', async () => {
    const gate = new Gate()
    const began = new Gate()
    const running = graph(name).step('a', { retry: 'none' }, async ({ attempt }) => {
      began.open()
      await gate.opened
      return `attempt ${attempt}`
    })
    const engine = await bench.serve({ workflows: [running] })
    const run = await engine.start(running)
    await began.opened
    await run.migrate({ definitionHash: running.definitionHash })
    gate.open()
    expect(await run.result()).toEqual({ a: 'attempt 1' })
  })

  test('N4: a step that has ended is not done again under a name that nobody has explained', async () => {
    const next = graph(name)
      .step('alpha', noted('alpha'))
      .wait('pause', { after: ['alpha'] }, go)
      .step('b', { after: ['pause'] }, noted('b'))
    const run = await moved(next)
    const paused = (text: string) =>
      until(
        () => run.describe(),
        ({ status, failure }) => status === 'paused' && failure?.message.includes(text) === true,
      )
    const definitionHash = next.definitionHash
    const unknown = await rejection(run.migrate({ definitionHash, steps: { aa: 'alpha' } }))
    expect((unknown as PawlError).message).toContain("no step 'aa'")
    await run.migrate({ definitionHash })
    await paused("step 'a' has ended and was removed, and 'alpha' is new")
    await run.migrate({ definitionHash, steps: { a: 'alhpa' } })
    await paused("'alhpa'")
    await run.migrate({ definitionHash, steps: { alhpa: 'alpha' } })
    await run.signal(go, 'on')
    expect(await run.result()).toEqual({ alpha: 'a', pause: 'on', b: 'b' })
    expect(log).toEqual(['a 1', 'b 1'])
  })

  test('N4: one that is said to be gone makes room for a new one', async () => {
    const next = graph(name)
      .step('alpha', noted('alpha'))
      .wait('pause', { after: ['alpha'] }, go)
      .step('b', { after: ['pause'] }, noted('b'))
    const run = await moved(next)
    await run.migrate({ definitionHash: next.definitionHash, steps: { a: null } })
    await run.signal(go, 'on')
    expect(await run.result()).toMatchObject({ pause: 'on', b: 'b' })
    expect(log).toContain('alpha 1')
  })
})
