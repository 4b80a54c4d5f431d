// Runs the bucket contract on every bucket. The S3 client is tested on the simulator, on radosgw, and on AWS if
// PAWL_TEST_S3_URL names a bucket there.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { freshBucket, type Radosgw, radosgwStartMsMax, sharedRadosgw } from '../../../test/support/radosgw.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { systemRandom } from '../../core/runtime/random.ts'
import { bucketContract } from '../../testing/bucket-contract.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { type S3Simulator, startS3Simulator } from '../../testing/s3-simulator.ts'
import type { Bucket } from './bucket.ts'
import { DirectoryBucket } from './directory-bucket.ts'
import { probe } from './probe.ts'
import { S3Bucket } from './s3-bucket.ts'
import { parseS3Url } from './s3-url.ts'

type Opened = { readonly bucket: Bucket; readonly close: () => Promise<void> }

function contract(open: () => Promise<Opened>, { far = false } = {}): void {
  for (const each of bucketContract.filter(({ manyRequests }) => !far || !manyRequests)) {
    test(each.name, { timeout: 120_000 }, async () => {
      const { bucket, close } = await open()
      try {
        await each.run(bucket)
      } finally {
        await close()
      }
    })
  }

  test('S3 store, P1: the probe finds nothing to refuse, and leaves nothing behind', async () => {
    const { bucket, close } = await open()
    try {
      await probe(bucket)
      expect(await bucket.list('')).toEqual([])
    } finally {
      await close()
    }
  })
}

/** The cases share one bucket of a server, each with a prefix that has unusual characters. */
async function openS3(url: string, options?: Parameters<typeof S3Bucket.open>[2]): Promise<Opened> {
  const place = parseS3Url(url)
  const prefix = `${place.prefix}case ü+${systemRandom.integer().toString(36)}/`
  const bucket = await S3Bucket.open({ ...place, prefix }, systemClock, options)
  return { bucket, close: () => bucket.close() }
}

describe('bucket contract: memory (simulator)', () => {
  contract(async () => {
    const bucket = new MemoryBucket(new MemoryObjects(systemClock), systemClock)
    return { bucket, close: () => bucket.close() }
  })
})

describe('bucket contract: directory', () => {
  contract(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-directory-'))
    const bucket = await DirectoryBucket.open(`file:${folder}/data`, systemClock)
    const close = async (): Promise<void> => {
      await bucket.close()
      await rm(folder, { recursive: true })
    }
    return { bucket, close }
  })
})

describe('bucket contract: S3 (simulator)', () => {
  let simulator: S3Simulator
  beforeAll(async () => {
    simulator = await startS3Simulator()
  })
  afterAll(() => simulator.stop())
  contract(() => openS3(simulator.url, { credentials: async () => simulator.credentials }))
})

describe('bucket contract: S3 (radosgw)', () => {
  let server: Radosgw
  let url: string
  beforeAll(async () => {
    server = await sharedRadosgw(inject('radosgwDoor'))
    url = await freshBucket(server)
  }, radosgwStartMsMax)
  contract(() => openS3(url, { credentials: async () => server.credentials }))
})

const realUrl = process.env['PAWL_TEST_S3_URL']

describe.skipIf(!realUrl)('bucket contract: S3 (PAWL_TEST_S3_URL)', () => {
  contract(() => openS3(realUrl ?? ''), { far: true })
})
