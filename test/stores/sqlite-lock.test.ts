// What a SQLite store does while another program has the file locked.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../../src/core/base/limits.ts'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { SqliteStore } from '../../src/stores/sqlite/index.ts'
import { migrations } from '../../src/stores/sqlite/schema.ts'
import { newRun } from '../../src/testing/conformance/builders.ts'
import { VirtualClock } from '../../src/testing/virtual-clock.ts'

let folder: string
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-lock-'))
})
afterAll(() => rm(folder, { recursive: true }))

const newFile = (): string => join(folder, `${files++}.db`)
const create = (store: SqliteStore): Promise<unknown> => store.create([newRun(randomUUID())])

/** Locks the file as another process does, until the answer is called. */
function locked(file: string): () => void {
  const other = new DatabaseSync(file)
  other.exec('begin immediate')
  return () => {
    other.exec('rollback')
    other.close()
  }
}

/** How much of the time the process is busy while `work` waits for a lock that goes away after a while. */
async function busyDuring(work: () => Promise<unknown>, unlock: () => void): Promise<number> {
  const before = performance.eventLoopUtilization()
  const done = work()
  setTimeout(unlock, 500)
  await done
  return performance.eventLoopUtilization(before).utilization
}

/** If the wait blocked the process, it would be busy nearly all the time. */
const SHARE = 0.5

describe('stores D13: a locked SQLite file', () => {
  test('a write waits for it without blocking the process', async () => {
    const file = newFile()
    const store = await SqliteStore.open(`sqlite:${file}`, systemClock)
    expect(await busyDuring(() => create(store), locked(file))).toBeLessThan(SHARE)
    await store.close()
  })

  test('opening waits for it without blocking the process, also to bring the tables up to date', async () => {
    const file = newFile()
    const old = new DatabaseSync(file)
    old.exec('pragma journal_mode = wal')
    for (const migration of migrations.slice(0, -1)) old.exec(migration)
    old.exec(`pragma user_version = ${migrations.length - 1}`)
    old.close()
    let store: SqliteStore | undefined
    const open = async (): Promise<void> => {
      store = await SqliteStore.open(`sqlite:${file}`, systemClock)
    }
    expect(await busyDuring(open, locked(file))).toBeLessThan(SHARE)
    await store?.close()
  })

  test("a step's transaction waits for it without blocking the process", async () => {
    const file = newFile()
    const store = await SqliteStore.open(`sqlite:${file}`, systemClock)
    const run = newRun(randomUUID())
    await store.create([run])
    const step = { runId: run.runId, generation: 1, key: 's' }
    const work = (): Promise<unknown> => store.transact(step, async () => 'x')
    expect(await busyDuring(work, locked(file))).toBeLessThan(SHARE)
    await store.close()
  })

  test('a wait ends with a typed unavailability, for writing and for opening', async () => {
    const file = newFile()
    const clock = new VirtualClock()
    const store = await SqliteStore.open(`sqlite:${file}`, clock)
    const unlock = locked(file)
    const written = expect(create(store)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('another process has kept the file locked'),
    })
    await clock.advance(limits.sqliteBusyMsMax + limits.sqlitePauseMsMax * 2)
    await written
    unlock()
    expect(await create(store)).toMatchObject([{ outcome: 'created' }])
    await store.close()

    const fresh = newFile()
    const unlockFresh = locked(fresh)
    const opened = expect(SqliteStore.open(`sqlite:${fresh}`, clock)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    await clock.advance(limits.sqliteBusyMsMax + limits.sqlitePauseMsMax * 2)
    await opened
    unlockFresh()
  })

  test('of three processes that write as often as they can, none is left behind', async () => {
    const url = `sqlite:${newFile()}`
    const children = Array.from({ length: 3 }, () => writer(url))
    await Promise.all(children.map((child) => lineOf(child)))
    const lines = children.map((child) => lineOf(child))
    for (const child of children) child.stdin.write('go\n')
    const found = (await Promise.all(lines)).map((line) => JSON.parse(line) as Found)
    const writes = found.map((each) => each.writes)
    expect(Math.min(...writes)).toBeGreaterThan(Math.max(...writes) / 20)
    for (const { slowest } of found) expect(slowest).toBeLessThan(limits.sqliteBusyMsMax / 2)
  })
})

interface Found {
  readonly writes: number
  readonly slowest: number
}

function writer(url: string): ChildProcessWithoutNullStreams {
  const program = join(import.meta.dirname, 'sqlite-writer.ts')
  const child = spawn(process.execPath, [program, url, '2000'])
  child.stderr.pipe(process.stderr)
  return child
}

async function lineOf(child: ChildProcessWithoutNullStreams): Promise<string> {
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return String(line)
}
