// Whether a bucket keeps what the store relies on. Some servers take conditions and ignore them: on such a one two
// workers would overwrite each other's turns, and nobody would notice. So it is found out before anything is written.
import { PawlError } from '../../core/base/errors.ts'
import { type Random, systemRandom } from '../../core/runtime/random.ts'
import type { Bucket } from './bucket.ts'

const RIVALS = 16

const SUITABLE =
  'Known to work: Ceph radosgw, and file: on a local disk. AWS S3 documents that it does, other than its directory buckets'

/** Throws `STORE_UNSUITABLE` if the bucket cannot hold a store. It takes 24 requests, and leaves nothing behind. */
export async function probe(bucket: Bucket, random: Random = systemRandom): Promise<void> {
  const folder = `probe/${random.integer().toString(36)}-${random.integer().toString(36)}/`
  const [contested, second] = [`${folder}a`, `${folder}b`]
  const problem = await problemOf(bucket, folder, contested, second).catch(async (error) => {
    await bucket.delete([contested, second]).catch(() => {})
    throw error
  })
  await bucket.delete([contested, second])
  const stays = !problem && (await bucket.get(contested)) !== undefined
  const what = stays ? 'still gives back what was deleted' : problem
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
    return `let ${winners.length} of ${RIVALS} create the same object: it ignores If-None-Match`
  }
  if ((await bucket.create(contested, 'too late')) !== 'exists') {
    return 'created an object that was there already: it ignores If-None-Match'
  }
  if ((await bucket.get(contested)) !== winners[0]) {
    return 'does not keep what was written by the one who created the object'
  }
  await bucket.put(second, 'second')
  if ((await keysIn(bucket, folder)) !== `${contested} ${second}`) {
    return 'does not list, at once and in order, what was written'
  }
  if ((await keysIn(bucket, folder, contested)) !== second) {
    return 'does not list from a given key on: it ignores start-after'
  }
  return undefined
}

/** What those wrote who were told that they created the object. */
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
