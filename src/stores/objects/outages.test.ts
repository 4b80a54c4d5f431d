// A server that refuses every request for a while, because of credentials, rights, names or clocks. An open store
// waits, and continues when the outage is over.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isUnavailable } from '../../core/runtime/availability.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { Store } from '../../core/stores/store.ts'
import { beat, ended, hold, newRun, request, turn } from '../../testing/conformance/builders.ts'
import { idFor } from '../../testing/conformance/labels.ts'
import { MemoryBucket, MemoryObjects } from '../../testing/memory-bucket.ts'
import { type S3Refusal, type S3Simulator, startS3Simulator } from '../../testing/s3-simulator.ts'
import { VirtualClock } from '../../testing/virtual-clock.ts'
import type { Credentials } from './credentials.ts'
import { ENDED } from './layout.ts'
import { S3Bucket } from './s3-bucket.ts'
import { parseS3Url } from './s3-url.ts'
import { ObjectStore } from './store.ts'

const refusals: readonly (S3Refusal & { readonly advice: string })[] = [
  { status: 403, code: 'AccessDenied', advice: 'Allow these credentials s3:' },
  { status: 403, code: 'InvalidAccessKeyId', advice: 'Check the access key' },
  { status: 403, code: 'SignatureDoesNotMatch', advice: 'Check the access key' },
  { status: 400, code: 'InvalidToken', advice: 'Check the access key' },
  { status: 403, code: 'RequestTimeTooSkewed', advice: 'Correct the clock of this machine' },
  { status: 404, code: 'NoSuchBucket', advice: 'Create the bucket' },
  {
    status: 301,
    code: 'PermanentRedirect',
    headers: { 'x-amz-bucket-region': 'eu-west-1' },
    advice: 'region=eu-west-1',
  },
  { status: 405, code: 'MethodNotAllowed', advice: 'does not answer like S3' },
  { status: 501, code: 'NotImplemented', advice: 'does not support a request that pawl needs' },
]

/** An id with another time than those of the segments, so that no segment can have it. */
const NEW = '01890000-0000-7000-8000-000000000001'
const OLD = idFor('old')
const SESSION = 77

let simulator: S3Simulator
beforeEach(async () => {
  simulator = await startS3Simulator()
})
afterEach(() => simulator.stop())

async function openStore(credentials = async (): Promise<Credentials> => simulator.credentials) {
  const bucket = await S3Bucket.open(parseS3Url(simulator.url), systemClock, { credentials })
  const settings = { snapshotEvery: 1_000, archiveAt: 1 }
  const store = new ObjectStore({ bucket, clock: systemClock, settings, projects: false })
  await store.open()
  return store
}

/** Refuses every request until two were refused, then none. */
async function refuse(refusal: S3Refusal, during: () => Promise<unknown>): Promise<void> {
  simulator.faults.refusal = refusal
  const before = simulator.requests.refused
  const done = during()
  done.catch(() => {})
  while (simulator.requests.refused < before + 2) await systemClock.breathe()
  simulator.faults.refusal = undefined
  await done
}

/** Retries a call, as clients and workers do. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isUnavailable(error)) throw error
      await systemClock.breathe()
    }
  }
}

describe.each(refusals)('stores D1: $status $code', (refusal) => {
  test('whatever is asked meanwhile is unavailable, says why and what to do, and is done afterwards', async () => {
    const store = await openStore()
    await store.renew(beat(SESSION))
    const calls: readonly ((on: Store) => Promise<unknown>)[] = [
      (on) => on.create([newRun(NEW)]),
      (on) => on.renew(beat(SESSION)),
      (on) => on.claim(request(SESSION, { reconcile: true })),
      (on) => on.post([{ runId: NEW, message: { id: 'm', body: '{}' } }]),
      (on) => on.records([{ type: 'put', space: 's', key: 'k', version: 0, body: '1', writeId: 1 }]),
      (on) => on.load([{ type: 'run', runId: NEW }]),
      (on) => on.list({ limit: 1 }),
    ]
    for (const call of calls) await refuse(refusal, () => insist(() => call(store)))
    simulator.faults.refusal = refusal
    const error: unknown = await store.load([{ type: 'sessions' }]).catch((reason: unknown) => reason)
    simulator.faults.refusal = undefined
    expect(isUnavailable(error)).toBe(true)
    expect(String(error)).toContain(refusal.code)
    expect(String(error)).toContain(refusal.advice)
    const [loaded] = await store.load([{ type: 'run', runId: NEW }])
    expect(loaded).toMatchObject({ run: { status: 'running', unread: 1 } })
    await store.close()
  })

  test('a process that starts meanwhile is told, and one that tries again afterwards is not', async () => {
    simulator.faults.refusal = refusal
    const bucket = await S3Bucket.open(parseS3Url(simulator.url), systemClock, {
      credentials: async () => simulator.credentials,
    })
    const store = new ObjectStore({ bucket, clock: systemClock, projects: false })
    await expect(store.open()).rejects.toSatisfy(isUnavailable)
    simulator.faults.refusal = undefined
    await store.open()
    expect(await store.create([newRun(NEW)])).toMatchObject([{ outcome: 'created' }])
    await store.close()
  })
})

test('stores D1: archived runs that could not be read are read afterwards', async () => {
  const store = await openStore()
  await endedRun(store)
  await store.compactor.archive()
  const second = await openStore()
  const load = () => second.load([{ type: 'run', runId: OLD }])
  await refuse({ status: 403, code: 'AccessDenied' }, () => insist(load))
  expect(await load()).toMatchObject([{ run: { status: 'completed' } }])
  await Promise.all([store.close(), second.close()])
})

test('stores D1: keys that were withdrawn are asked for again, though nothing said when they expire', async () => {
  const good = simulator.credentials
  let current: Credentials = good
  let asked = 0
  const store = await openStore(async () => {
    asked++
    return current
  })
  for (const wrong of [
    { ...good, accessKeyId: 'WITHDRAWN' },
    { ...good, secretAccessKey: 'other' },
  ]) {
    current = wrong
    // The server refuses requests signed with the old credentials.
    simulator.faults.refusal = { status: 403, code: 'InvalidAccessKeyId' }
    await expect(store.load([{ type: 'sessions' }])).rejects.toSatisfy(isUnavailable)
    simulator.faults.refusal = undefined
    await expect(store.load([{ type: 'sessions' }])).rejects.toSatisfy(isUnavailable)
    current = good
    await insist(() => store.load([{ type: 'sessions' }]))
  }
  expect(asked).toBeGreaterThanOrEqual(5)
  await store.close()
})

async function endedRun(store: Store): Promise<void> {
  await store.renew(beat(SESSION))
  const run = await hold(store, OLD, {}, SESSION)
  expect(await store.commit([turn(run, { next: ended })])).toEqual([{ outcome: 'applied' }])
}

test('stores D1: a segment that is lost fails what needs it, and nothing that travels with it', async () => {
  const clock = new VirtualClock()
  const space = new MemoryObjects(clock)
  const settings = { snapshotEvery: 1_000, archiveAt: 1 }
  const bucket = new MemoryBucket(space, clock)
  const writer = new ObjectStore({ bucket, clock, settings, projects: false })
  await endedRun(writer)
  await writer.compactor.archive()
  const [segment] = space.list(ENDED)
  const body = String(space.read(segment?.key ?? '')?.body)
  space.remove(segment?.key ?? '')
  const store = new ObjectStore({ bucket, clock, settings, projects: false })
  const message = { id: 'm', body: '{}' }
  const [lost, created] = await Promise.allSettled([store.post([{ runId: OLD, message }]), store.create([newRun(NEW)])])
  expect(lost).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNSUITABLE' } })
  expect(String((lost as PromiseRejectedResult).reason)).toContain(segment?.key)
  expect(created).toMatchObject({ status: 'fulfilled', value: [{ outcome: 'created' }] })
  space.write(segment?.key ?? '', body)
  const posted = await store.post([{ runId: OLD, message }])
  expect(posted).toEqual([{ outcome: 'closed' }])
  await Promise.all([writer.close(), store.close()])
})
