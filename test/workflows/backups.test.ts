// A store that was restored to an older point: what was recorded since is done again under the same idempotency keys, a
// start that is repeated is the same run, and a lease from before fits nothing that was granted since.
import { cp, rm } from 'node:fs/promises'
import { backup, DatabaseSync } from 'node:sqlite'
import { activity, type OpenOptions, open, signal, workflow } from 'pawl'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { type Bench, rejection, useStore, waitsFor } from './each-store.ts'

const go = signal<string>('go')

interface Effect {
  readonly step: string
  readonly key: string
}

function definitionsOf(effects: Effect[]) {
  const charge = activity('charge', async (step: string, ctx) => {
    effects.push({ step, key: ctx.idempotencyKey })
  })
  const order = workflow('order', async (ctx) => {
    await ctx.run(charge, 'first', { key: 'first' })
    const said = await ctx.wait(go)
    await ctx.run(charge, 'second', { key: 'second' })
    await ctx.wait(go)
    return said
  })
  const options: OpenOptions = { workflows: [order], activities: [charge] }
  return { order, options }
}

/** Copies the store while it is open, if it can be, and returns the URL of the copy. */
async function copyOf({ kind, url }: Bench): Promise<string> {
  if (kind === 'sqlite') {
    const [file, copy] = [url.slice('sqlite:'.length), `${url.slice('sqlite:'.length)}.copy`]
    const database = new DatabaseSync(file)
    await backup(database, copy)
    database.close()
    return `sqlite:${copy}`
  }
  if (kind === 'file') {
    await cp(url.slice('file:'.length), `${url.slice('file:'.length)}-copy`, { recursive: true })
    return `${url}-copy`
  }
  const place = new URL(url)
  const name = place.pathname.slice(1)
  place.pathname = '/postgres'
  place.search = ''
  const client = new pg.Client({ connectionString: place.href })
  await client.connect()
  await client.query(`create database ${name}_copy template ${name}`)
  await client.end()
  return url.replace(`/${name}`, `/${name}_copy`)
}

async function removed({ kind }: Bench, copy: string): Promise<void> {
  if (kind !== 'postgres') return rm(copy.replace(/^\w+:/, ''), { recursive: true, force: true })
  const place = new URL(copy)
  const name = place.pathname.slice(1)
  place.pathname = '/postgres'
  place.search = ''
  const client = new pg.Client({ connectionString: place.href })
  await client.connect()
  await client.query(`drop database ${name} with (force)`)
  await client.end()
}

describe.each(['sqlite', 'postgres', 'file'] as const)('on %s', (kind) => {
  const bench = useStore(kind)

  test('a restored store goes on from its point: recorded steps since run again with their keys', async () => {
    const effects: Effect[] = []
    const { order, options } = definitionsOf(effects)
    const before = await bench.serve(options)
    const run = await before.start(order, undefined, { workflowId: 'order-1' })
    await waitsFor(run, 'signal')
    await bench.closeEngines()
    const copy = await copyOf(bench)

    const after = await bench.serve(options)
    const again = after.get({ workflowId: 'order-1' })
    await again.signal(go, 'now', { messageId: 'm1' })
    await waitsFor(again, 'signal')
    const late = await after.start(order, undefined, { idempotencyKey: 'late' })
    await waitsFor(late, 'signal')
    await bench.closeEngines()

    const restored = await open(copy as `sqlite:${string}`, { ...options, logger: { log() {} } })
    try {
      await restored.work({ signals: false }).ready
      expect(await rejection(restored.get(late.runId).describe())).toMatchObject({ code: 'RUN_NOT_FOUND' })
      const repeated = await restored.start(order, undefined, { idempotencyKey: 'late' })
      expect(repeated.runId).toBe(late.runId)
      const old = restored.get({ workflowId: 'order-1' })
      await waitsFor(old, 'signal')
      for (const messageId of ['m1', 'm1', 'm2']) await old.signal(go, 'now', { messageId })
      expect(await old.result()).toBe('now')
      const keysOf = (step: string): string[] => effects.filter((each) => each.step === step).map(({ key }) => key)
      const seconds = keysOf('second')
      expect([seconds.length, new Set(seconds).size]).toEqual([2, 1])
      // The step of the run that was lost with the end of the old store, and was started again.
      expect([keysOf('first').length, new Set(keysOf('first')).size]).toEqual([3, 2])
    } finally {
      await restored.close()
      await removed(bench, copy)
    }
  }, 60_000)
})
