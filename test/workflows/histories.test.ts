// Histories that leave the store: exported, replayed in a test, and code that is killed at every await.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { activity, signal, workflow } from 'pawl'
import { crashAtEveryAwait, readHistory, replay, testEngine } from 'pawl/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kinds, rejection, useStore, waitsFor } from './each-store.ts'

const go = signal<string>('go')
const charge = activity('charge', async (cents: number) => `charged ${cents}`)

const pay = workflow('pay', async (ctx, cents: number) => {
  const receipt = await ctx.run(charge, cents)
  const word = await ctx.wait(go)
  return `${receipt} ${word}`
})
/** The same workflow with a change that breaks it. */
const broken = workflow('pay', async (ctx, cents: number) => {
  await ctx.run('check', () => true)
  const receipt = await ctx.run(charge, cents)
  const word = await ctx.wait(go)
  return `${receipt} ${word}`
})

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-histories-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.each(kinds)('on %s', (kind) => {
  const bench = useStore(kind)

  test('a history after an event has every later one, also those of the same turn', async () => {
    const steps = workflow('steps', async (ctx) => {
      for (let each = 0; each < 5; each++) await ctx.run('step', () => each)
    })
    const engine = await bench.serve({ workflows: [steps] })
    const run = await engine.start(steps)
    await run.result()
    const read = async (after?: number): Promise<number[]> => {
      const found: number[] = []
      for await (const { seq } of run.history(after === undefined ? {} : { after })) found.push(seq)
      return found
    }
    const all = await read()
    expect(all.length).toBeGreaterThan(10)
    for (const after of all) expect(await read(after)).toEqual(all.filter((seq) => seq > after))
  })

  test('exported histories are replayed with today’s code, which is told where it parts from them', async () => {
    const engine = await bench.serve({ workflows: [pay], activities: [charge] })
    const runs = await Promise.all([1, 2, 3].map((cents) => engine.start(pay, cents)))
    for (const run of runs) await waitsFor(run, 'signal')
    await runs[0]?.signal(go, 'now')
    await runs[0]?.result()
    const lines: string[] = []
    for await (const line of engine.export({ workflow: 'pay' })) lines.push(line)
    expect(lines).toHaveLength(3)
    const file = join(folder, `${kind}.jsonl`)
    await writeFile(file, `${lines.join('\n')}\n`)
    await replay([pay, charge], readHistory(file))
    const error = await rejection(replay([broken, charge], readHistory(file)))
    expect(error).toMatchObject({
      code: 'DETERMINISM',
      message: expect.stringContaining('step:check#1'),
    })
    expect(await rejection(replay([], readHistory(file)))).toMatchObject({ code: 'NO_CODE_HERE' })
    await writeFile(file, 'not a run\n')
    expect(await rejection(readHistory(file))).toMatchObject({ code: 'INPUT_INVALID' })
  })
})

test('a workflow that is killed at every await comes out the same', async () => {
  const steps: string[] = []
  const order = workflow('order', async (ctx, items: number) => {
    const paid = await ctx.run(charge, items)
    await ctx.sleep('1h')
    const all = await ctx.map(
      Array.from({ length: items }, (_, n) => n),
      async (own, n) =>
        own.run('pack', () => {
          steps.push(`pack ${n}`)
          return n * 2
        }),
    )
    return { paid, all }
  })
  const engine = await testEngine({ workflows: [order], activities: [charge] })
  const { crashes, output } = await crashAtEveryAwait(engine, order, 3)
  expect(output).toEqual({ paid: 'charged 3', all: [0, 2, 4] })
  expect(crashes).toBeGreaterThan(5)
  await engine.close()
})

test('a workflow whose outcome depends on how often it was run is found out', async () => {
  let runs = 0
  const forgetful = workflow('forgetful', async (ctx) => {
    runs++
    await ctx.sleep('1s')
    return runs > 3 ? 'odd' : 'fine'
  })
  const engine = await testEngine({ workflows: [forgetful], alwaysReplay: false })
  expect(await rejection(crashAtEveryAwait(engine, forgetful, undefined))).toMatchObject({
    code: 'DETERMINISM',
  })
  await engine.close()
})
