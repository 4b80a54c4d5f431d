// SIMULATOR of a bucket that is a round trip away, on virtual time, and counts what it is asked for.
import { type Clock, sleep } from '../../src/runtime/clock.ts'
import type { Bucket } from '../../src/stores/objects/bucket.ts'

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

export function farBucket(inner: Bucket, clock: Clock, requests: Requests): Bucket {
  const send = async <T>(count: () => void, call: () => Promise<T>): Promise<T> => {
    count()
    await sleep(clock, ROUND_TRIP_MS / 2)
    const out = await call()
    await sleep(clock, ROUND_TRIP_MS / 2)
    return out
  }
  return {
    name: inner.name,
    now: () => inner.now(),
    create: (key, body) =>
      send(
        () => requests.put++,
        () => inner.create(key, body),
      ),
    put: (key, body) =>
      send(
        () => requests.put++,
        () => inner.put(key, body),
      ),
    get: (key, range) =>
      send(
        () => requests.get++,
        () => inner.get(key, range),
      ),
    list: (prefix, page) =>
      send(
        () => requests.list++,
        () => inner.list(prefix, page),
      ),
    delete: (keys) =>
      send(
        () => (requests.delete += keys.length),
        () => inner.delete(keys),
      ),
    close: () => inner.close(),
  }
}
