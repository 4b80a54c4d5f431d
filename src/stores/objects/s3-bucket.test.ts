import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { freshBucket, type Radosgw, radosgwStartMsMax, sharedRadosgw } from '../../../test/support/radosgw.ts'
import { limits } from '../../core/base/limits.ts'
import { type Clock, systemClock } from '../../core/runtime/clock.ts'
import { type S3Simulator, startS3Simulator } from '../../testing/s3-simulator.ts'
import { probe } from './probe.ts'
import { S3Bucket, type S3Options } from './s3-bucket.ts'
import { parseS3Url } from './s3-url.ts'

const SECRET = 'hush/hush+hush'

let simulator: S3Simulator
const opened: S3Bucket[] = []

beforeEach(async () => {
  simulator = await startS3Simulator()
})

afterEach(async () => {
  for (const bucket of opened.splice(0)) await bucket.close()
  await simulator.stop()
})

async function openAt(url: string, options: S3Options = {}, clock = systemClock): Promise<S3Bucket> {
  const credentials = async () => simulator.credentials
  const bucket = await S3Bucket.open(parseS3Url(url), clock, { credentials, ...options })
  opened.push(bucket)
  return bucket
}

const unavailable = { code: 'STORE_UNAVAILABLE' }

test('S3 store, P1: a create that meets another one in progress (409) is sent again until its outcome is known', async () => {
  const bucket = await openAt(simulator.url)
  simulator.faults.conflict = 0.7
  const keys = Array.from({ length: 20 }, (_, index) => `log/${index}`)
  for (const key of keys) {
    const results = await Promise.allSettled([bucket.create(key, 'a'), bucket.create(key, 'b')])
    const created = results.filter((each) => each.status === 'fulfilled' && each.value === 'created')
    expect(created.length).toBeLessThanOrEqual(1)
  }
  expect(simulator.requests.put).toBeGreaterThan(60)
})

test('S3 store, P1: a create that always meets 409 gives up as unavailable, after a bounded number of requests', async () => {
  const bucket = await openAt(simulator.url)
  simulator.faults.conflict = 1
  await expect(bucket.create('log/1', 'x')).rejects.toMatchObject(unavailable)
  expect(simulator.requests.put).toBe(limits.objectConflictRetries + 1)
  expect(simulator.space.read('log/1')).toBeUndefined()
})

test('S3 store, P1: a create whose answer is lost throws, is not sent again, and has happened', async () => {
  const bucket = await openAt(simulator.url)
  simulator.faults.lostAnswer = 1
  await expect(bucket.create('log/1', 'mine')).rejects.toMatchObject(unavailable)
  expect(simulator.requests.put).toBe(1)
  simulator.faults.lostAnswer = 0
  expect(await bucket.get('log/1')).toBe('mine')
  expect(await bucket.create('log/1', 'mine')).toBe('exists')
})

test('S3 store: a server that answers 5xx is unavailable to every method', async () => {
  const bucket = await openAt(simulator.url)
  simulator.faults.failure = 1
  await expect(bucket.create('a', 'x')).rejects.toMatchObject(unavailable)
  await expect(bucket.put('a', 'x')).rejects.toMatchObject(unavailable)
  await expect(bucket.get('a')).rejects.toMatchObject(unavailable)
  await expect(bucket.list('a')).rejects.toMatchObject(unavailable)
  await expect(bucket.delete(['a'])).rejects.toMatchObject(unavailable)
  expect(simulator.requests).toEqual({ put: 2, get: 1, head: 0, list: 1, delete: 1, refused: 0 })
})

test('S3 store: no answer in time is unavailable, and the timer is gone with the request', async () => {
  let fireAtOnce = true
  const timers = new Set<() => void>()
  const clock: Clock = {
    ...systemClock,
    after(ms, fire) {
      if (ms === limits.objectRequestMsMax && fireAtOnce) return systemClock.after(20, fire)
      timers.add(fire)
      return () => timers.delete(fire)
    },
  }
  const bucket = await openAt(simulator.url, {}, clock)
  simulator.faults.latencyMs = 300
  await expect(bucket.put('a', 'x')).rejects.toMatchObject({
    ...unavailable,
    message: expect.stringContaining('no response in'),
  })
  simulator.faults.latencyMs = 0
  fireAtOnce = false
  await bucket.put('a', 'x')
  expect(timers.size).toBe(0)
})

test('S3 store: a server that is not there, and a bucket that was closed, are unavailable', async () => {
  const bucket = await openAt(simulator.url)
  simulator.faults.latencyMs = 5_000
  const waiting = bucket.put('a', 'x')
  waiting.catch(() => {})
  await bucket.close()
  await expect(waiting).rejects.toMatchObject(unavailable)
  const other = await openAt(simulator.url)
  await simulator.stop()
  const error: unknown = await other.put('a', 'x').catch((reason: unknown) => reason)
  expect(error).toMatchObject(unavailable)
  expect(String(error)).toContain('ECONNREFUSED')
})

test('S3 store: a clock that is hours wrong signs by the server’s', async () => {
  const clock = { ...systemClock, now: () => systemClock.now() + 7 * 3_600_000 }
  const bucket = await openAt(simulator.url, {}, clock)
  expect(await bucket.create('a', 'x')).toBe('created')
  expect(simulator.requests.put).toBe(2)
  expect(await bucket.create('b', 'x')).toBe('created')
  expect(simulator.requests.put).toBe(3)
  expect(Math.abs(bucket.now() - systemClock.now())).toBeLessThan(1_500)
})

test('S3 store: an option gives another clock than the server’s', async () => {
  const bucket = await openAt(simulator.url, { now: () => 42 })
  await bucket.put('a', 'x')
  expect(bucket.now()).toBe(42)
})

test('S3 store, P1: a server that ignores conditions is refused by the probe', async () => {
  simulator.faults.ignoresConditions = true
  const bucket = await openAt(simulator.url)
  await expect(probe(bucket)).rejects.toMatchObject({
    code: 'STORE_UNSUITABLE',
    message: expect.stringMatching(/s3:\/\/simulated\/ .*If-None-Match.*Use another bucket.*known to work/),
  })
  expect(simulator.space.list('')).toEqual([])
})

test('S3 store: the probe takes few requests', async () => {
  await probe(await openAt(simulator.url))
  expect(simulator.requests).toEqual({ put: 18, get: 2, head: 0, list: 2, delete: 2, refused: 0 })
})

test('S3 store: a probe that cannot reach the server has found nothing out', async () => {
  simulator.faults.failure = 1
  await expect(probe(await openAt(simulator.url))).rejects.toMatchObject(unavailable)
})

/** The errors for common mistakes, on the simulator and on the real server. */
function mistakes(server: () => Promise<{ url: string } & Pick<Radosgw, 'credentials'>>): void {
  test('S3 store: a wrong secret is refused with what to do, and not shown', async () => {
    const { url, credentials } = await server()
    const wrong = { accessKeyId: credentials.accessKeyId, secretAccessKey: SECRET }
    const bucket = await openAt(url, { credentials: async () => wrong })
    const calls = [() => bucket.get('a'), () => bucket.put('a', 'x'), () => bucket.list(''), () => probe(bucket)]
    for (const call of calls) {
      const error: unknown = await call().catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'STORE_URL_INVALID' })
      expect(String(error)).toContain('Check the access key')
      expect(JSON.stringify(error) + String(error) + (error as Error).stack).not.toContain('hush')
    }
  })

  test('S3 store: an unknown access key is refused with what to do', async () => {
    const { url } = await server()
    const unknown = { accessKeyId: 'UNKNOWN', secretAccessKey: SECRET }
    const bucket = await openAt(url, { credentials: async () => unknown })
    await expect(bucket.get('a')).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
      message: expect.stringContaining('InvalidAccessKeyId'),
    })
  })

  test('S3 store: a missing bucket is not a missing object', async () => {
    const { url, credentials } = await server()
    const missing = url.replace(/^s3:\/\/[^/]+/, 's3://pawl-is-not-there')
    const bucket = await openAt(missing, { credentials: async () => credentials })
    const calls = [
      () => bucket.get('a'),
      () => bucket.create('a', 'x'),
      () => bucket.list(''),
      () => bucket.delete(['a']),
    ]
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({
        code: 'STORE_URL_INVALID',
        message: expect.stringContaining('Create the bucket first'),
      })
    }
  })
}

describe('mistakes (simulator)', () => {
  mistakes(async () => simulator)
})

describe('mistakes (radosgw)', { timeout: radosgwStartMsMax }, () => {
  mistakes(async () => {
    const server = await sharedRadosgw(inject('radosgwDoor'))
    return { url: await freshBucket(server), credentials: server.credentials }
  })
})
