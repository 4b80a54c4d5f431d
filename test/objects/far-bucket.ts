// SIMULATOR of a remote bucket in virtual time, which counts its requests.
import { type Clock, sleep } from '../../src/core/runtime/clock.ts'
import type { Bucket } from '../../src/stores/objects/bucket.ts'
import type { VirtualClock } from '../../src/testing/virtual-clock.ts'

export const ROUND_TRIP_MS = 20

export class Requests {
  put = 0
  get = 0
  list = 0
  delete = 0

  get all(): number {
    return this.put + this.get + this.list + this.delete
  }

  since(before: Requests): Requests {
    const difference = new Requests()
    for (const kind of ['put', 'get', 'list', 'delete'] as const) {
      difference[kind] = this[kind] - before[kind]
    }
    return difference
  }

  copy(): Requests {
    return this.since(new Requests())
  }
}

type Kind = 'put' | 'get' | 'list' | 'delete'

/** `halfMs` is the latency of a request, and again that of its answer. */
export function farBucket(
  inner: Bucket,
  clock: Clock,
  requests: Requests,
  halfMs: (kind: Kind) => number = () => ROUND_TRIP_MS / 2,
): Bucket {
  const send = async <T>(kind: Kind, count: number, call: () => Promise<T>): Promise<T> => {
    requests[kind] += count
    await sleep(clock, halfMs(kind))
    const out = await call()
    await sleep(clock, halfMs(kind))
    return out
  }
  return {
    name: inner.name,
    now: () => inner.now(),
    create: (key, body) => send('put', 1, () => inner.create(key, body)),
    put: (key, body) => send('put', 1, () => inner.put(key, body)),
    get: (key, range) => send('get', 1, () => inner.get(key, range)),
    list: (prefix, page) => send('list', 1, () => inner.list(prefix, page)),
    delete: (keys) => send('delete', keys.length, () => inner.delete(keys)),
    close: () => inner.close(),
  }
}

/** Lets time pass until the promise settles, and returns how long that took; throws after `msMax`. */
export async function during<T>(
  clock: VirtualClock,
  promise: Promise<T>,
  msMax = Number.POSITIVE_INFINITY,
): Promise<{ value: T; ms: number }> {
  const begun = clock.now()
  let isSettled = false
  const done = promise.finally(() => {
    isSettled = true
  })
  done.catch(() => {})
  await clock.advance(0)
  while (!isSettled) {
    const next = clock.next()
    if (next === undefined) throw new Error('nothing can happen any more')
    if (next - begun > msMax) throw new Error(`no answer in ${msMax} ms`)
    await clock.advance(Math.max(0, next - clock.now()))
  }
  return { value: await done, ms: clock.now() - begun }
}
