// Tests whether a bucket does what the store depends on. Some servers accept conditions and ignore them: there, two
// workers would overwrite each other's turns unnoticed. So a new prefix is tested before the store writes to it.
import { PawlError } from '../../core/base/errors.ts'
import { type Random, systemRandom } from '../../core/runtime/random.ts'
import type { Bucket } from './bucket.ts'

const RIVALS = 16

const SUITABLE =
  'Use another bucket. Ceph radosgw is known to work, and so is file: on a local disk; AWS S3, except its directory buckets, documents what is needed'

/** Throws `STORE_UNSUITABLE` if the bucket cannot hold a store. Sends 24 requests, and leaves no objects behind. */
export async function probe(bucket: Bucket, random: Random = systemRandom): Promise<void> {
  const folder = `probe/${random.integer().toString(36)}-${random.integer().toString(36)}/`
  const [contested, second] = [`${folder}a`, `${folder}b`]
  const problem = await problemOf(bucket, folder, contested, second).catch(async (error) => {
    await bucket.delete([contested, second]).catch(() => {})
    throw error
  })
  await bucket.delete([contested, second])
  const stays = !problem && (await bucket.get(contested)) !== undefined
  const what = stays ? 'still returns an object that was deleted' : problem
  if (what) throw new PawlError('STORE_UNSUITABLE', `${bucket.name} ${what}. ${SUITABLE}.`)
}

async function problemOf(
  bucket: Bucket,
  folder: string,
  contested: string,
  second: string,
): Promise<string | undefined> {
  const winners = await race(bucket, contested)
  if (winners.length !== 1) {
    return `let ${winners.length} of ${RIVALS} requests create the same object, so it ignores If-None-Match`
  }
  if ((await bucket.create(contested, 'too late')) !== 'exists') {
    return 'created an object that existed already, so it ignores If-None-Match'
  }
  if ((await bucket.get(contested)) !== winners[0]) {
    return 'does not return what the request that created the object wrote'
  }
  await bucket.put(second, 'second')
  if ((await keysIn(bucket, folder)) !== `${contested} ${second}`) {
    return 'does not list new objects at once and in the order of their keys'
  }
  if ((await keysIn(bucket, folder, contested)) !== second) {
    return 'lists objects before the given key, so it ignores start-after'
  }
  return undefined
}

/** Creates the object many times at once, and returns the bodies of the requests that were told `created`. */
async function race(bucket: Bucket, key: string): Promise<string[]> {
  const bodies = Array.from({ length: RIVALS }, (_, index) => `rival ${index}`)
  const results = await Promise.allSettled(bodies.map((body) => bucket.create(key, body)))
  return bodies.filter((_, index) => {
    const result = results[index]
    if (result?.status === 'rejected') throw result.reason
    return result?.value === 'created'
  })
}

async function keysIn(bucket: Bucket, folder: string, after?: string): Promise<string> {
  const found = await bucket.list(folder, after === undefined ? {} : { after })
  return found.map(({ key }) => key).join(' ')
}
