// faults 2.2: an acknowledged operation takes effect. Clients pause, resume, cancel, terminate, retry, reset, trigger
// and signal a run in every order while workers work, die, or are not there yet. PAWL_SEEDS raises the number of
// seeds, PAWL_SEED_FIRST says where they begin.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { openStore } from '../../src/stores/open.ts'
import { startS3Simulator } from '../../src/testing/s3-simulator.ts'
import { type SharedWorld, sharedMemory, sharedObjects } from '../../src/testing/shared-store.ts'
import { type FreshDatabase, freshDatabase } from '../support/database.ts'
import { tellReal } from './real-world.ts'
import { type Told, workers } from './story.ts'
import { tellVirtual } from './virtual-world.ts'

const first = Number(process.env['PAWL_SEED_FIRST'] ?? 1)
const times = Number(process.env['PAWL_SEEDS'] ?? 1_000) / 1_000

const virtual = {
  memory: { seeds: 2_000, store: (world: SharedWorld) => sharedMemory(world, 'atomic') },
  'memory with late delivery': {
    seeds: 500,
    store: (world: SharedWorld) => sharedMemory(world, 'deferred'),
  },
  objects: {
    seeds: 500,
    store: (world: SharedWorld) => sharedObjects(world, { snapshotEvery: 16, archiveAt: 1_000, graceMs: 4_000 }),
  },
} as const

const folder = mkdtempSync(join(tmpdir(), 'pawl-operations-'))
let database: FreshDatabase | undefined
let simulator: Awaited<ReturnType<typeof startS3Simulator>> | undefined

beforeAll(async () => {
  database = await freshDatabase(inject('postgresUrl'))
  simulator = await startS3Simulator()
})
afterAll(async () => {
  await database?.drop()
  await simulator?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const real: Record<string, (seed: number) => string> = {
  sqlite: (seed) => `sqlite:${join(folder, String(seed))}.db`,
  file: (seed) => `file:${join(folder, String(seed))}`,
  postgres: (seed) => `${database?.url}?schema=operations_${seed}`,
  s3: (seed) => simulator?.url.replace('/?', `/operations-${seed}?`) ?? '',
}

function expectRight(told: Told, seed: number): void {
  expect(told.violations, `seed ${seed}\n${told.lines.join('\n')}`).toEqual([])
}

function workersOf(seed: number) {
  return workers[seed % workers.length] ?? 'working'
}

describe.each(Object.entries(virtual))('on %s, virtual time', (_, { store, seeds }) => {
  test('faults 2.2: an acknowledged operation takes effect in every order', {
    timeout: 600_000,
  }, async () => {
    const rests = new Set<string>()
    for (let seed = first; seed < first + seeds * times; seed++) {
      const told = await tellVirtual(store, seed, workersOf(seed))
      expectRight(told, seed)
      rests.add(told.rest)
    }
    // A test in which some end never comes up proves nothing about it.
    for (const rest of ['completed', 'failed', 'cancelled', 'terminated', 'paused', 'waiting'])
      expect(rests).toContain(rest)
  })
})

const realSeeds = 8
const atOnce = 4

describe.concurrent.each(Object.entries(real))('on %s', (_, place) => {
  test('faults 2.2: an acknowledged operation takes effect in every order', {
    timeout: 120_000,
  }, async () => {
    const credentials = simulator && { credentials: async () => simulator?.credentials ?? nobody }
    const seeds = Array.from({ length: realSeeds }, (_, n) => first + n)
    const tell = async (): Promise<void> => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
        const url = place(seed)
        const open = () => openStore(url, systemClock, credentials)
        expectRight(await tellReal(open, seed, workersOf(seed)), seed)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, tell))
  })
})

const nobody = { accessKeyId: '', secretAccessKey: '' }
