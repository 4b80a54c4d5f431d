import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { freshDatabase } from '../../test/support/database.ts'
import { systemClock } from '../core/runtime/clock.ts'
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
    for (const url of [`sqlite:${folder}/a.db`, `sqlite://${folder}/b.db`, `SQLite:${folder}/c.db`]) {
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
  await expect(openStore(url as string, systemClock)).rejects.toThrow(/'sqlite:\.\/pawl\.db', 'postgres:/)
})

test.each<[string, RegExp]>([
  ['sqlite:./pawl.db?mode=ro', /a sqlite: URL has no parameter 'mode': it has none/],
  ['file:./pawl?retentoin=30d', /no parameter 'retentoin'; .* Did you mean 'retention'\?/],
  ['file:./pawl?pool=8', /a file: URL has no parameter 'pool'; it has retention, project\.$/],
  ['s3://runs/a?regoin=eu-west-1', /Did you mean 'region'\?/],
  ['s3://runs/a?porject=off', /Did you mean 'project'\?/],
  ['s3://runs/a?region=a&region=b', /'region' of the s3: URL must have one value/],
  ['s3://runs/a?se%9Bcret=hush', /no parameter 'se.cret'/],
  ['file:./pawl?a\u009bb=1', /no parameter 'a\\u009bb'/],
])('stores: the unknown parameter of %j is refused', async (url, message) => {
  const opened = openStore(url, systemClock)
  await expect(opened).rejects.toMatchObject({
    code: 'STORE_URL_INVALID',
    message: expect.stringMatching(message),
  })
  await expect(opened).rejects.not.toThrow(/hush/)
})
