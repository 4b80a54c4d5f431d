// What a worker costs that has nothing to do: memory alone, then processor and queries beside 10,000 sleeping runs.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { open, workflow } from '../../src/index.ts'
import { LoadProcess } from './processes.ts'
import { type StoreKind, storeKinds, withStore } from './stores.ts'

const megabytesMax = 90
const sleepers = 10_000
const cpuShareMax = 0.02
const queriesPerSecondMax = 2
const windowSeconds = 12
const day = 86_400_000

const source = new URL('../../src/index.ts', import.meta.url)
const built = new URL('../../dist/index.js', import.meta.url)

describe.each(storeKinds)('an idle worker on %s', (kind) => {
  // Users run the built package. From source Node also keeps the compiler that strips the types: some 35 MB.
  test(`uses less than ${megabytesMax} MB`, { timeout: 60_000 }, async () => {
    expect(existsSync(built), 'run `npm run build` first: the built package is measured').toBe(true)
    const folder = mkdtempSync(join(tmpdir(), 'pawl-idle-'))
    const plain = join(folder, 'idle-worker.mjs')
    const script = readFileSync(join(import.meta.dirname, 'idle-worker.ts'), 'utf8')
    writeFileSync(plain, stripTypeScriptTypes(script))
    try {
      const megabytes = await idleMemory(kind, plain, built)
      console.log(`${kind}: idle memory ${megabytes.toFixed(1)} MB`)
      expect(megabytes).toBeLessThan(megabytesMax)
      const uncompiled = await idleMemory(kind, 'idle-worker.ts', source)
      console.log(`${kind}: from source, compiler included, ${uncompiled.toFixed(1)} MB`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test(`beside ${sleepers} sleeping runs: under 2 % of a core, at most 2 queries a second`, {
    timeout: 120_000,
  }, async () => {
    await withStore(kind, async (url) => {
      await putToSleep(url)
      const worker = await LoadProcess.start('idle-worker.ts', [url, source.href])
      try {
        // Starting up is not idling.
        await sleep(3_000)
        await expectIdle(kind, url, worker)
      } finally {
        await worker.kill()
      }
    })
  })
})

function idleMemory(kind: StoreKind, file: string, entry: URL): Promise<number> {
  return withStore(kind, async (url) => {
    const worker = await LoadProcess.start(file, [url, entry.href])
    try {
      return await worker.idleMemory()
    } finally {
      await worker.kill()
    }
  })
}

async function putToSleep(url: string): Promise<void> {
  const sleeper = workflow('sleeper', async (ctx, ms: number) => {
    await ctx.sleep(ms)
    return ms
  })
  const engine = await open(url, { workflows: [sleeper], build: 'load' })
  try {
    engine.work({ signals: false })
    for (let n = 0; n < sleepers; n += 500) {
      await engine.startMany(
        sleeper,
        Array.from({ length: 500 }, () => ({ input: day })),
      )
    }
    while ((await engine.count({ status: 'waiting' })) < sleepers) await sleep(100)
  } finally {
    await engine.close()
  }
}

async function expectIdle(kind: StoreKind, url: string, worker: LoadProcess): Promise<void> {
  const calls = await callsOf(worker)
  const server = kind === 'postgres' ? await transactions(url) : 0
  const cpu = worker.cpu()
  const begun = performance.now()
  await sleep(windowSeconds * 1_000)
  const seconds = (performance.now() - begun) / 1_000
  const share = (worker.cpu() - cpu) / seconds
  const perSecond = ((await callsOf(worker)) - calls) / seconds
  worker.check()
  console.log(
    `${kind}: ${(share * 100).toFixed(2)} % of a core, ${perSecond.toFixed(2)} store calls/s, ${worker.memory().toFixed(1)} MB`,
  )
  expect(share).toBeLessThan(cpuShareMax)
  expect(perSecond).toBeLessThanOrEqual(queriesPerSecondMax)
  if (kind !== 'postgres') return
  // Between the two looks, the second look itself is the only one that is not the worker's.
  const queries = ((await transactions(url)) - server) / ((performance.now() - begun) / 1_000)
  console.log(`${kind}: ${queries.toFixed(2)} transactions/s seen by the server`)
  expect(queries).toBeLessThanOrEqual(queriesPerSecondMax)
}

async function callsOf(worker: LoadProcess): Promise<number> {
  const calls = (await worker.ask('calls')) as Record<string, number>
  return Object.values(calls).reduce((sum, count) => sum + count, 0)
}

/** Transactions of this database so far. Counts reach this view when a connection falls idle, a second late. */
async function transactions(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ count: string }>(
      'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
    )
    return Number(rows[0]?.count)
  } finally {
    await client.end()
  }
}
