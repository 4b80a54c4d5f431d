// A new store of each kind for a load test, gone afterwards.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { freshDatabase } from '../support/database.ts'

export const storeKinds = ['sqlite', 'postgres'] as const
export type StoreKind = (typeof storeKinds)[number]

export async function withStore<T>(kind: StoreKind, use: (url: string) => Promise<T>): Promise<T> {
  if (kind === 'postgres') {
    const database = await freshDatabase(inject('postgresUrl'))
    try {
      return await use(database.url)
    } finally {
      await database.drop()
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'pawl-load-'))
  try {
    return await use(`sqlite:${join(folder, 'load.db')}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
