// Runs the conformance cases on every bucket: in memory, in a folder, on a simulated S3 server over HTTP, on radosgw,
// and on a real bucket if PAWL_TEST_S3_URL names one.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { freshBucket, radosgwStartMsMax, sharedRadosgw } from '../../../test/support/radosgw.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { systemRandom, uuidV7 } from '../../core/runtime/random.ts'
import { conformance, type OpenFixture, runCase } from '../../testing/conformance/index.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { type S3Simulator, startS3Simulator } from '../../testing/s3-simulator.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { Bucket } from './bucket.ts'
import { DirectoryBucket } from './directory-bucket.ts'
import { S3Bucket, type S3Options } from './s3-bucket.ts'
import { parseS3Url } from './s3-url.ts'
import { ObjectStore } from './store.ts'

/** An empty bucket that can be opened several times. */
interface Place {
  open(clock: VirtualClock): Promise<Bucket>
  close?(): Promise<void>
}

// Compacts at every turn, so that the cases meet archived runs and snapshots as well.
const restless = {
  snapshotEvery: 2,
  archiveAt: 1,
  graceMs: 40,
  snapshotBytes: 500,
  partBytes: 1_000,
}

async function fixtureOn(place: Place, settings = {}): Promise<OpenFixture> {
  const clock = new VirtualClock()
  const stores: ObjectStore[] = []
  const open = async (): Promise<ObjectStore> => {
    const store = new ObjectStore({ bucket: await place.open(clock), clock, settings })
    stores.push(store)
    return store
  }
  const close = async (): Promise<void> => {
    for (const store of stores) await store.close()
    await place.close?.()
  }
  return { store: await open(), clock, other: open, close }
}

function inMemory(): Place {
  const spaces = new Map<VirtualClock, MemoryObjects>()
  return {
    open: async (clock) => {
      const space = spaces.get(clock) ?? new MemoryObjects(clock)
      spaces.set(clock, space)
      return new MemoryBucket(space, clock)
    },
  }
}

async function inFolder(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-objects-'))
  return {
    open: (clock) => DirectoryBucket.open(`file:${folder}/data`, clock, { now: () => clock.now() }),
    close: () => rm(folder, { recursive: true }),
  }
}

/** Each case gets its own prefix in one bucket. */
function behind(url: string, options: S3Options = {}): Place {
  const [base = '', query = ''] = url.split('?')
  const own = `${base.replace(/\/$/, '')}/${uuidV7(systemClock, systemRandom)}?${query}`
  return {
    open: (clock) => S3Bucket.open(parseS3Url(own), systemClock, { ...options, now: () => clock.now() }),
  }
}

describe('object store in memory', () => {
  for (const each of conformance) test(each.name, () => runCase(each, () => fixtureOn(inMemory())))
})

describe('object store in memory, compacting all the time', () => {
  for (const each of conformance) {
    test(each.name, () => runCase(each, () => fixtureOn(inMemory(), restless)))
  }
})

describe('object store in a folder', () => {
  for (const each of conformance) {
    test(each.name, () => runCase(each, async () => fixtureOn(await inFolder())))
  }
})

describe('object store on the S3 simulator', () => {
  let simulator: S3Simulator
  beforeAll(async () => {
    simulator = await startS3Simulator()
  })
  afterAll(() => simulator.stop())
  for (const each of conformance) {
    test(each.name, () => {
      const credentials = async () => simulator.credentials
      return runCase(each, () => fixtureOn(behind(simulator.url, { credentials })))
    })
  }
})

describe('object store on radosgw', () => {
  let url: string
  let options: S3Options
  beforeAll(async () => {
    const server = await sharedRadosgw(inject('radosgwDoor'))
    url = await freshBucket(server)
    options = { credentials: async () => server.credentials }
  }, radosgwStartMsMax)
  for (const each of conformance) {
    test(each.name, { timeout: 60_000 }, () => runCase(each, () => fixtureOn(behind(url, options))))
  }
})

const real = process.env['PAWL_TEST_S3_URL']
describe.skipIf(!real)('object store on a real bucket', () => {
  for (const each of conformance) {
    test(each.name, { timeout: 120_000 }, () => runCase(each, () => fixtureOn(behind(real ?? ''))))
  }
})
