// Streams, from the step or workflow that writes them to the reader, on one store with real workers.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import {
  activity,
  type Engine,
  graph,
  open,
  type RunHandle,
  type StreamItem,
  signal,
  stream,
  workflow,
} from '../../src/index.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-streams-'))
})
afterAll(() => rm(folder, { recursive: true }))

let files = 0
async function engineOf(
  options: Parameters<typeof open>[1],
  url = `sqlite:${join(folder, `${++files}.db`)}`,
): Promise<Engine> {
  const engine = await open(url, { logger: { log: () => {} }, ...options })
  onTestFinished(() => engine.close())
  engine.work({ lease: '5s' })
  return engine
}

const tokens = stream<string>('tokens')
const go = signal('go')

async function all<Chunk>(items: AsyncIterable<StreamItem<Chunk>>): Promise<StreamItem<Chunk>[]> {
  const found: StreamItem<Chunk>[] = []
  for await (const item of items) found.push(item)
  return found
}

async function chunks(run: RunHandle<unknown>, from = 0): Promise<string[]> {
  return (await all(run.stream(tokens, { from }))).map(({ chunk }) => chunk)
}

describe('a step', () => {
  test('writes items that are read from any offset, until the run ends', async () => {
    const flow = workflow('flow', (ctx) =>
      ctx.run('write', async (step) => {
        const out = step.stream(tokens)
        for (const word of ['to', 'be', 'or', 'not']) await out.write(word)
        return 4
      }),
    )
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    const items = await all(run.stream(tokens))
    expect(items.map(({ offset, chunk }) => [offset, chunk])).toEqual([
      [0, 'to'],
      [1, 'be'],
      [2, 'or'],
      [3, 'not'],
    ])
    expect(items[0]?.part).toEqual({ number: 0, step: 'step:write#1', chapter: 1, generation: 1, attempt: 1, keep: 0 })
    expect(await chunks(run, 2)).toEqual(['or', 'not'])
    expect(await run.streamed(tokens)).toEqual(['to', 'be', 'or', 'not'])
    expect(await run.streams()).toMatchObject([{ name: 'tokens', items: 4, parts: 1, closed: true }])
    expect(await run.result()).toBe(4)
  })

  test('is read while it runs, before it has written everything', async () => {
    const gate = Promise.withResolvers<void>()
    const flow = workflow('flow', (ctx) =>
      ctx.run('write', async (step) => {
        const out = step.stream(tokens)
        await out.write('first')
        await gate.promise
        await out.write('second')
      }),
    )
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    const seen: string[] = []
    for await (const { chunk } of run.stream(tokens)) {
      seen.push(chunk)
      gate.resolve()
    }
    expect(seen).toEqual(['first', 'second'])
  })

  test('that fails begins a part of its own, and what it wrote before is void', async () => {
    const flow = workflow('flow', (ctx) =>
      ctx.run('write', { retry: { initial: '1ms', maxAttempts: 3 } }, async (step) => {
        const out = step.stream(tokens)
        await out.write(`a${step.attempt}`)
        await out.write(`b${step.attempt}`)
        if (step.attempt < 3) throw new Error('not yet')
      }),
    )
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    const items = await all(run.stream(tokens))
    expect(items.map(({ chunk, part }) => [chunk, part.number, part.attempt, part.keep])).toEqual([
      ...[
        ['a1', 0, 1, 0],
        ['b1', 0, 1, 0],
      ],
      ...[
        ['a2', 1, 2, 0],
        ['b2', 1, 2, 0],
      ],
      ...[
        ['a3', 2, 3, 0],
        ['b3', 2, 3, 0],
      ],
    ])
    expect(await run.streamed(tokens)).toEqual(['a3', 'b3'])
  })

  test('continues behind what earlier attempts wrote with `resume`', async () => {
    const flow = workflow('flow', (ctx) =>
      ctx.run('write', { retry: { initial: '1ms', maxAttempts: 4 } }, async (step) => {
        const out = step.stream(tokens, { resume: true })
        const words = ['to', 'be', 'or', 'not']
        for (const word of words.slice(await out.kept())) {
          await out.write(word)
          if (step.attempt < 4) throw new Error('not yet')
        }
      }),
    )
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    expect(await chunks(run)).toEqual(['to', 'be', 'or', 'not'])
    expect(await run.streamed(tokens)).toEqual(['to', 'be', 'or', 'not'])
    expect((await run.streams())[0]?.parts).toBe(4)
  })

  test('that writes nothing in its last attempt leaves nothing valid', async () => {
    const flow = workflow('flow', (ctx) =>
      ctx.run('write', { retry: { initial: '1ms' } }, async (step) => {
        const out = step.stream(tokens)
        if (step.attempt > 1) return
        await out.write('void')
        throw new Error('not yet')
      }),
    )
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    await run.result()
    expect(await run.streamed(tokens)).toEqual([])
    expect(await chunks(run)).toEqual(['void'])
  })

  test('closes its stream when it completes, and not when it fails; the run goes on', async () => {
    const flow = workflow('flow', async (ctx) => {
      await ctx.run('write', { retry: { initial: '1ms' } }, async (step) => {
        const out = step.stream(tokens)
        await out.write(`${step.attempt}`)
        out.close()
        await expect(out.write('late')).rejects.toMatchObject({ code: 'STREAM_CLOSED' })
        if (step.attempt === 1) throw new Error('not yet')
      })
      await ctx.wait(go)
    })
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    expect(await chunks(run)).toEqual(['1', '2'])
    expect((await run.describe()).status).not.toBe('completed')
    expect(await run.streams()).toMatchObject([{ name: 'tokens', closed: true }])
    await run.signal(go)
    await run.result()
  })

  test('fails at once if it writes to a stream that an earlier step has closed', async () => {
    const flow = workflow('flow', async (ctx) => {
      await ctx.run('close', async (step) => step.stream(tokens).close())
      await ctx.run('write', async (step) => {
        await step.stream(tokens).write('late')
      })
    })
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    await expect(run.result()).rejects.toMatchObject({ cause: { cause: { code: 'STREAM_CLOSED' } } })
  })

  test('in the task queue writes under the lease of its task; a graph step has a stream, too', async () => {
    const write = activity('write', { queue: 'others' }, async (word: string, ctx) => {
      const out = ctx.stream(tokens)
      await out.write(word)
      out.close()
    })
    const flow = graph('flow')
      .step('first', async (ctx) => {
        await ctx.stream(tokens).write('from the graph')
      })
      .run('second', { after: ['first'] }, write, () => 'from the queue')
    const engine = await engineOf({ workflows: [flow], activities: [write] })
    engine.work({ queues: ['others'], lease: '5s' })
    const run = await engine.start(flow)
    expect(await chunks(run)).toEqual(['from the graph', 'from the queue'])
  })

  test('gets a typed error for an item that is too large, or no item', async () => {
    const flow = workflow('flow', (ctx) =>
      ctx.run('write', async (step) => {
        await step.stream(tokens).write('x'.repeat(limits.streamItemBytesMax))
      }),
    )
    const other = workflow('other', (ctx) => ctx.run('write', (step) => step.stream('tokens' as never).write('x')))
    const engine = await engineOf({ workflows: [flow, other] })
    const failed = (await engine.start(flow)).result()
    await expect(failed).rejects.toMatchObject({ cause: { cause: { code: 'PAYLOAD_TOO_LARGE' } } })
    await expect((await engine.start(other)).result()).rejects.toMatchObject({
      cause: { cause: { code: 'INPUT_INVALID' } },
    })
  })

  test('waits for room when it writes faster than the store takes it, and loses nothing', async () => {
    const count = 3_000
    const flow = workflow('flow', (ctx) =>
      ctx.run('write', async (step) => {
        const out = step.stream(tokens)
        for (let n = 0; n < count; n++) await out.write(`${n}`.padStart(500))
        await out.flush()
      }),
    )
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    const items = await all(run.stream(tokens))
    expect(items.map(({ chunk }) => Number(chunk))).toEqual(Array.from({ length: count }, (_, n) => n))
  })
})

describe('the code of a run', () => {
  test('writes with its turns, once, however often it is replayed', async () => {
    const flow = workflow('flow', async (ctx) => {
      const out = ctx.stream(tokens)
      out.write('begin')
      await ctx.run('a', () => 1)
      out.write('middle')
      await ctx.wait(go)
      out.write('end')
      out.close()
      expect(() => out.write('late')).toThrow(/closed/)
    })
    const url = `sqlite:${join(folder, `${++files}.db`)}`
    const first = await engineOf({ workflows: [flow] }, url)
    const { runId } = await first.start(flow)
    await expect.poll(async () => first.get(flow, runId).streamed(tokens)).toEqual(['begin', 'middle'])
    await first.close()
    const engine = await engineOf({ workflows: [flow] }, url)
    const run = engine.get(flow, runId)
    await run.signal(go)
    expect(await chunks(run)).toEqual(['begin', 'middle', 'end'])
    await run.result()
    const written: (number | undefined)[] = []
    for await (const event of run.history()) if (event.type === 'StreamWritten') written.push(event.bytes)
    expect(written).toEqual([16, 17, 14, undefined])
  })

  test('goes on with the offsets when it continues as new', async () => {
    const flow = workflow('flow', async (ctx, round: number) => {
      ctx.stream(tokens).write(`round ${round}`)
      await ctx.run('write', (step) => step.stream(tokens).write(`step ${round}`))
      if (round < 3) ctx.continueAsNew(round + 1)
    })
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow, 1)
    const items = await all(run.stream(tokens))
    const expected = [1, 2, 3].flatMap((round) => [`round ${round}`, `step ${round}`])
    expect(items.map(({ chunk }) => chunk)).toEqual(expected)
    expect(items.map(({ part }) => part.chapter)).toEqual([1, 1, 2, 2, 3, 3])
    expect(await run.streamed(tokens)).toEqual(expected)
  })

  test('that is reset keeps what the kept history wrote, and voids the rest', async () => {
    let times = 0
    const flow = workflow('flow', async (ctx) => {
      const out = ctx.stream(tokens)
      out.write('kept')
      await ctx.run('a', () => 1)
      out.write('also kept')
      await ctx.run('b', async (step) => {
        await step.stream(tokens).write(`b${++times}`)
      })
      out.write(`after ${times}`)
    })
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    await run.result()
    await run.reset({ step: 'step:b#1' })
    await run.result()
    expect(await run.streamed(tokens)).toEqual(['kept', 'also kept', 'b2', 'after 2'])
    expect(await chunks(run)).toEqual(['kept', 'also kept', 'b1', 'after 1', 'b2', 'after 2'])
  })

  test('of a fork begins with empty streams', async () => {
    const flow = workflow('flow', async (ctx) => {
      ctx.stream(tokens).write('before')
      await ctx.run('a', () => 1)
      ctx.stream(tokens).write('after')
    })
    const engine = await engineOf({ workflows: [flow] })
    const run = await engine.start(flow)
    await run.result()
    const fork = await run.fork({ step: 'step:a#1' })
    await fork.result()
    expect(await fork.streamed(tokens)).toEqual(['after'])
    expect(await run.streamed(tokens)).toEqual(['before', 'after'])
  })
})

describe('a reader', () => {
  test('of a run that does not exist gets RUN_NOT_FOUND; its signal ends the reading', async () => {
    const flow = workflow('flow', (ctx) => ctx.wait(go))
    const engine = await engineOf({ workflows: [flow] })
    const ghost = engine.get('00000000-0000-7000-8000-000000000000')
    await expect(chunks(ghost)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    await expect(ghost.streamed(tokens)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' })
    const run = await engine.start(flow)
    const stop = new AbortController()
    const reading = all(run.stream(tokens, { signal: stop.signal }))
    await expect.poll(() => run.streams()).toEqual([])
    stop.abort()
    expect(await reading).toEqual([])
    await run.signal(go)
  })

  test('in another process hears of new items without being told', async () => {
    const flow = workflow('flow', (ctx) => ctx.run('write', (step) => step.stream(tokens).write('hello')))
    const url = `sqlite:${join(folder, `${++files}.db`)}`
    const reader = await open(url, { logger: { log: () => {} } })
    onTestFinished(() => reader.close())
    const { runId } = await reader.start(flow)
    const reading = chunks(reader.get(runId))
    await engineOf({ workflows: [flow] }, url)
    expect(await reading).toEqual(['hello'])
  })
})
