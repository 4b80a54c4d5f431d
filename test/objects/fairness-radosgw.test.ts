// Several stores write to one log on a real server, and one more renews its session meanwhile.
import { expect, inject, test } from 'vitest'
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom, uuidV7 } from '../../src/core/runtime/random.ts'
import { S3Bucket } from '../../src/stores/objects/s3-bucket.ts'
import { parseS3Url } from '../../src/stores/objects/s3-url.ts'
import { ObjectStore } from '../../src/stores/objects/store.ts'
import { freshBucket, radosgwStartMsMax, sharedRadosgw } from '../support/radosgw.ts'

const WRITERS = 4
const RENEWALS = 10

function newRun() {
  const runId = uuidV7(systemClock, systemRandom)
  const rest = { name: 'a', queue: 'default', priority: 0, input: '1', digest: 'd' }
  return { runId, workflowId: runId, reuse: 'allow' as const, delayMs: 3_600_000, ...rest }
}

test('stores D4: busy writers on radosgw starve neither each other nor a renewal', {
  timeout: radosgwStartMsMax,
}, async () => {
  const server = await sharedRadosgw(inject('radosgwDoor'))
  const place = parseS3Url(await freshBucket(server))
  const open = async (): Promise<ObjectStore> => {
    const bucket = await S3Bucket.open(place, systemClock, {
      credentials: async () => server.credentials,
    })
    return new ObjectStore({ bucket, clock: systemClock, projects: false })
  }
  const writers = await Promise.all(Array.from({ length: WRITERS }, open))
  const renewer = await open()
  // The first request to a new bucket is very slow.
  for (const store of writers) await store.create([newRun()])
  let isOver = false
  const created = writers.map(() => 0)
  const loops = writers.map(async (store, index) => {
    while (!isOver) {
      await store.create([newRun()])
      created[index] = (created[index] ?? 0) + 1
    }
  })
  for (let beat = 1; beat <= RENEWALS; beat++) {
    const about = { session: 5, worker: 'w', ttlMs: 600_000, tasks: [], about: '' }
    expect(await renewer.renew({ beat, ...about })).toMatchObject({ alive: true })
    await renewer.load([{ type: 'sessions' }])
  }
  // A process that starves would never finish.
  while (Math.min(...created) < RENEWALS) await systemClock.breathe()
  isOver = true
  await Promise.all(loops)
  const fair = created.reduce((sum, count) => sum + count, 0) / WRITERS
  expect(Math.min(...created), String(created)).toBeGreaterThan(fair / 10)
  await Promise.all([...writers, renewer].map((store) => store.close()))
})
