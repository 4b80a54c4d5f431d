// Runs whose code cannot go on: what is kept, who may go on with them, and how they are got rid of.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type AnyWorkflow, CancelledError, type Engine, open, signal, workflow } from '../../src/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-pauses-'))
const engines: Engine[] = []
let files = 0

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()))
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
})

const quiet = { log() {} }

async function start(url: string, build: string, ...workflows: AnyWorkflow[]): Promise<Engine> {
  const engine = await open(url, { workflows, build, logger: quiet })
  engines.push(engine)
  engine.work({ signals: false })
  return engine
}

const freshUrl = async (): Promise<string> => {
  const { mkdir } = await import('node:fs/promises')
  await mkdir(folder, { recursive: true })
  return `sqlite:${join(folder, `${++files}.db`)}`
}

const paused = (engine: Engine): Promise<void> =>
  new Promise((resolve) => {
    const off = engine.on('run.paused', () => {
      off()
      resolve()
    })
  })

const outside = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

test('INV2: a result that came with the turn that pauses a run is kept', async () => {
  let charged = 0
  const charge = (): number => ++charged
  const broken = workflow('pay', async (ctx) => {
    const receipt = await ctx.run('charge', { retry: 'none' }, charge)
    await outside()
    return receipt
  })
  const fixed = workflow('pay', async (ctx) => ctx.run('charge', { retry: 'none' }, charge))
  const url = await freshUrl()
  const first = await start(url, 'one', broken)
  const seen = paused(first)
  const run = await first.start(broken)
  await seen
  expect(await run.why()).toMatchObject({
    reason: 'paused',
    failure: { code: 'NON_DURABLE_AWAIT' },
  })
  await first.close()
  const second = await start(url, 'two', fixed)
  expect(await second.get(run.runId).result()).toBe(1)
  expect(charged).toBe(1)
})

test('R24: a paused run can be cancelled, and its children with it', async () => {
  const never = signal('never')
  const child = workflow('child', async (ctx) => ctx.wait(never))
  const parent = workflow('parent', async (ctx) => {
    const waiting = ctx.child(child)
    await ctx.sleep(1)
    await outside()
    await ctx.run('more', () => 1)
    return waiting
  })
  const engine = await start(await freshUrl(), 'one', parent, child)
  const seen = paused(engine)
  const run = await engine.start(parent)
  await seen
  await run.cancel('not worth fixing')
  await expect(run.result()).rejects.toThrow(CancelledError)
  const [only] = (await engine.list({ workflow: child })).items
  await expect(engine.get(only?.runId ?? '').result()).rejects.toThrow(CancelledError)
})

test('R24: code that catches its cancellation for ever is ended all the same', async () => {
  const stubborn = workflow('stubborn', async (ctx) => {
    for (;;) {
      try {
        await ctx.sleep('1h')
      } catch {
        // Goes on as if nothing had been said.
      }
    }
  })
  const engine = await start(await freshUrl(), 'one', stubborn)
  const run = await engine.start(stubborn)
  await run.cancel('stop')
  await expect(run.result()).rejects.toThrow(CancelledError)
})

test('a logger that throws harms nothing', async () => {
  const chatty = workflow('chatty', async (ctx) => {
    ctx.log.info('begins', { cents: 10n })
    return ctx.run('work', () => 'done')
  })
  const engine = await open('memory:', {
    workflows: [chatty],
    logger: {
      log() {
        throw new Error('the disk is full')
      },
    },
  })
  engines.push(engine)
  engine.work({ signals: false })
  expect(await engine.execute(chatty)).toBe('done')
})
