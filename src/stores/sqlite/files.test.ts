// What can be wrong with the file itself: gone under a running process, changed by another program, or no file at all.
import { copyFileSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../core/runtime/clock.ts'
import { ALICE, newRun, openSession, take, turn } from '../../testing/conformance/builders.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import { fileOf, openConnection } from './connection.ts'
import { LOOK_MS } from './identity.ts'
import { SqliteStore } from './index.ts'

let folder: string
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-files-'))
})
afterAll(() => rm(folder, { recursive: true }))

const newFile = (): string => join(folder, `${files++}.db`)
const A = '01900000-0000-7000-8000-000000000001'
const B = '01900000-0000-7000-8000-000000000002'
const step = { runId: A, generation: 1, key: 's' }

async function opened(clock: Clock = systemClock): Promise<{ store: SqliteStore; file: string }> {
  const file = newFile()
  const store = await SqliteStore.open(`sqlite:${file}`, clock)
  await openSession(store, ALICE)
  await store.create([newRun(A)])
  return { store, file }
}

describe('faults 4.3: a SQLite file that is gone while it is open', () => {
  const harms: Record<string, (file: string) => void> = {
    'all three files are deleted': (file) => {
      for (const end of ['', '-wal', '-shm']) rmSync(file + end)
    },
    'the file is deleted': (file) => rmSync(file),
    'its log is deleted': (file) => rmSync(`${file}-wal`),
    'what its writers share is deleted': (file) => rmSync(`${file}-shm`),
    'the file is moved': (file) => renameSync(file, `${file}.moved`),
    'the file is replaced by a copy': (file) => {
      copyFileSync(file, `${file}.copy`)
      renameSync(`${file}.copy`, file)
    },
  }

  test.each(Object.entries(harms))('%s: no write is acknowledged', async (_what, harm) => {
    const clock = new VirtualClock()
    const { store, file } = await opened(clock)
    const held = await take(store, A)
    harm(file)
    await clock.advance(LOOK_MS)
    const gone = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining(file) }
    await expect(store.commit([turn(held)])).rejects.toMatchObject(gone)
    await expect(store.create([newRun(B)])).rejects.toMatchObject(gone)
    await expect(openSession(store, ALICE)).rejects.toMatchObject(gone)
    await expect(store.transact(step, async () => 'x')).rejects.toMatchObject(gone)
    await expect(store.list({ limit: 1 })).rejects.toMatchObject(gone)
    await store.close()
  })

  test('a process that only reads is told, too', async () => {
    const clock = new VirtualClock()
    const { store, file } = await opened(clock)
    rmSync(file)
    await clock.advance(LOOK_MS)
    await expect(store.list({ limit: 1 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await store.close()
  })

  test("no step's transaction begins on a file that is gone, and none is made in its place", async () => {
    const { store, file } = await opened()
    renameSync(file, `${file}.moved`)
    let begun = false
    const body = async (): Promise<string> => {
      begun = true
      return 'x'
    }
    await expect(store.transact(step, body)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(begun).toBe(false)
    renameSync(`${file}.moved`, file)
    await store.close()
  })

  test('a file that is moved back goes on', async () => {
    const clock = new VirtualClock()
    const { store, file } = await opened(clock)
    renameSync(file, `${file}.moved`)
    await clock.advance(LOOK_MS)
    await expect(store.create([newRun(B)])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    renameSync(`${file}.moved`, file)
    expect(await store.create([newRun(B)])).toMatchObject([{ outcome: 'created' }])
    await store.close()
  })
})

describe('faults 4.9: files that are not what they should be', () => {
  test('a table that is dropped under a running process is named by a typed error', async () => {
    const { store, file } = await opened()
    const other = new DatabaseSync(file)
    other.exec('drop table pawl_inbox')
    other.close()
    const dropped = {
      code: 'STORE_UNSUITABLE',
      message: expect.stringMatching(/pawl_inbox .*missing or changed.*Restore/),
    }
    await expect(store.post([{ runId: A, message: { id: 'm', body: '1' } }])).rejects.toMatchObject(dropped)
    await expect(store.load([{ type: 'run', runId: A }])).rejects.toMatchObject(dropped)
    await store.close()
    await expect(SqliteStore.open(`sqlite:${file}`, systemClock)).rejects.toMatchObject(dropped)
  })

  test.each(['/dev/zero', '/dev/null', '/dev/full'])('%s is refused as a device', async (path) => {
    await expect(SqliteStore.open(`sqlite:${path}`, systemClock)).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringMatching(/is a device, and not a file\. Give/),
    })
  })

  test('a folder is refused as one', async () => {
    const path = newFile()
    mkdirSync(path)
    await expect(SqliteStore.open(`sqlite:${path}`, systemClock)).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringContaining('is a folder'),
    })
  })
})

test('stores D13: what is flushed reaches the disk on macOS, too', () => {
  const database = openConnection(fileOf(`sqlite:${newFile()}`))
  const pragma = (name: string): unknown => Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0]
  expect(['synchronous', 'fullfsync', 'checkpoint_fullfsync'].map(pragma)).toEqual([2, 1, 1])
  database.close()
})
