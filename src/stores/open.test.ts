import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { freshDatabase } from '../../test/support/database.ts'
import { systemClock } from '../runtime/clock.ts'
import { openStore } from './open.ts'

test('the scheme of a URL says which store it is, in any case', async () => {
  for (const url of ['memory:', 'MEMORY:anything']) {
    const store = await openStore(url, systemClock)
    expect(store.traits).toMatchObject({ name: 'memory', durability: 'none' })
    await store.close()
  }
})

test('a SQLite file is opened by path, relative or absolute, or as a URL', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-open-'))
  try {
    for (const url of [
      `sqlite:${folder}/a.db`,
      `sqlite://${folder}/b.db`,
      `SQLite:${folder}/c.db`,
    ]) {
      const store = await openStore(url, systemClock)
      expect(store.traits).toMatchObject({ name: 'sqlite', durability: 'fsync' })
      await store.close()
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('postgres: and postgresql: are the same', async () => {
  const database = await freshDatabase(inject('postgresUrl'))
  try {
    for (const url of [database.url, database.url.replace(/^postgres(ql)?:/, 'postgresql:')]) {
      const store = await openStore(url, systemClock)
      expect(store.traits).toMatchObject({ name: 'postgres', durability: 'fsync' })
      await store.close()
    }
  } finally {
    await database.drop()
  }
})

test.each<[unknown, RegExp]>([
  ['redis://x', /there is no store for 'redis:'/],
  ['./pawl.db', /no scheme/],
  ['', /no scheme/],
  [undefined, /no scheme/],
  [{ url: 'memory:' }, /no scheme/],
])('%j is refused, and examples are given', async (url, message) => {
  await expect(openStore(url as string, systemClock)).rejects.toMatchObject({
    code: 'STORE_URL_INVALID',
    message: expect.stringMatching(message),
  })
  await expect(openStore(url as string, systemClock)).rejects.toThrow(
    /'sqlite:\.\/pawl\.db', 'postgres:/,
  )
})
