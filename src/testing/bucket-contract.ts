// What every bucket must do, as data: any test runner can run the cases on any implementation. Each case needs its own
// empty bucket.
import type { Bucket, ListPage } from '../stores/objects/bucket.ts'
import { holds, only, present, same } from './conformance/check.ts'

export interface BucketCase {
  readonly name: string
  /** Set for cases with too many requests for a remote or slow server. */
  readonly manyRequests?: true
  run(bucket: Bucket): Promise<void>
}

async function keys(bucket: Bucket, prefix: string, page?: ListPage): Promise<string[]> {
  return (await bucket.list(prefix, page)).map(({ key }) => key)
}

const writing: readonly BucketCase[] = [
  {
    name: 'an object is created once, and keeps what it was created with',
    async run(bucket) {
      same(await bucket.create('log/1', 'first'), 'created', 'the first')
      same(await bucket.create('log/1', 'second'), 'exists', 'the second')
      same(await bucket.get('log/1'), 'first', 'the body')
    },
  },
  {
    name: 'of 16 concurrent creations of one object, exactly one succeeds',
    async run(bucket) {
      for (const key of ['race/1', 'race/2', 'race/3']) {
        const bodies = Array.from({ length: 16 }, (_, index) => `rival ${index}`)
        const results = await Promise.all(bodies.map((body) => bucket.create(key, body)))
        const winner = only(
          bodies.filter((_, index) => results[index] === 'created'),
          'winners',
        )
        same(await bucket.get(key), winner, 'the body is the winner’s')
      }
    },
  },
  {
    name: 'an object that was deleted can be created again',
    async run(bucket) {
      await bucket.create('again', 'first')
      await bucket.delete(['again'])
      same(await bucket.create('again', 'second'), 'created', 'the second')
      same(await bucket.get('again'), 'second', 'the body')
    },
  },
  {
    name: 'put replaces an object, and creates a missing one',
    async run(bucket) {
      await bucket.put('state', 'one, and longer than two')
      await bucket.put('state', 'two')
      same(await bucket.get('state'), 'two', 'the body')
      same(await bucket.create('state', 'three'), 'exists', 'created after put')
    },
  },
  {
    name: 'delete removes objects and ignores missing ones',
    async run(bucket) {
      const all = Array.from({ length: 40 }, (_, index) => `some/${index}`)
      await Promise.all(all.map((key) => bucket.put(key, 'x')))
      await bucket.put('other', 'x')
      await bucket.delete([...all, 'never was', 'never/was/either'])
      await bucket.delete([])
      same(await keys(bucket, ''), ['other'], 'what is left')
      same(await bucket.get('some/0'), undefined, 'a deleted one')
    },
  },
]

const TEXTS = [
  '',
  ' \n\t\r\n ',
  'zażółć gęślą jaźń, 日本語, 😀, e\u0301',
  '\ufeffwith a byte order mark',
  'NUL \0 and other controls \u0001\u001f\u007f\u2028',
  '{"json": "<xml>&amp;</xml>"}',
]

const reading: readonly BucketCase[] = [
  {
    name: 'a missing object is undefined, also if other keys begin like its key',
    async run(bucket) {
      await bucket.put('a/b/c', 'x')
      for (const key of ['a', 'a/b', 'a/b/c/d', 'a/b/cc', 'z']) {
        same(await bucket.get(key), undefined, key)
        same(await bucket.get(key, { from: 0, to: 10 }), undefined, `part of ${key}`)
      }
    },
  },
  {
    name: 'any text is returned exactly as it was written',
    async run(bucket) {
      for (const [index, text] of TEXTS.entries()) {
        await bucket.create(`text/${index}`, text)
        same(await bucket.get(`text/${index}`), text, `text ${index}`)
        const [listing] = await bucket.list(`text/${index}`)
        same(present(listing, 'listing').bytes, Buffer.byteLength(text), `bytes of text ${index}`)
      }
    },
  },
  {
    name: 'ranges count bytes, not characters, and end where the object ends',
    async run(bucket) {
      await bucket.put('range', 'aé日😀z')
      const part = (from: number, to: number): Promise<string | undefined> => bucket.get('range', { from, to })
      same(await part(0, 1), 'a', 'one byte')
      same(await part(1, 3), 'é', 'two bytes')
      same(await part(3, 6), '日', 'three bytes')
      same(await part(6, 11), '😀z', 'to the end')
      same(await part(6, 1_000), '😀z', 'beyond the end')
      same(await part(11, 20), '', 'from the end')
      same(await part(500, 600), '', 'from beyond the end')
      same(await part(3, 3), '', 'nothing')
      await bucket.put('empty', '')
      same(await bucket.get('empty', { from: 0, to: 10 }), '', 'part of nothing')
    },
  },
  {
    name: 'an object of 2 MB comes back whole and in part',
    async run(bucket) {
      const line = `${'ü'.repeat(31)}!\n`
      const text = line.repeat(32_768)
      await bucket.create('large', text)
      holds((await bucket.get('large')) === text, 'the whole')
      const from = 64 * 20_000
      holds((await bucket.get('large', { from, to: from + 128 })) === line + line, 'two lines')
    },
  },
]

/** In the order of their bytes, which differs from the order of UTF-16 and from that of a walk through folders. */
const ODD_KEYS = [
  ' ',
  '...',
  "a b/ü+%=&?#~'()*!.json",
  'a',
  'a!',
  'a+b',
  'a-b',
  'a.b/c',
  'a/b',
  'a/b/c',
  'a0',
  'A',
  'control\u0001\n\t',
  'percent%2Fencoded',
  'plus+and space',
  '<quoted "&amp;\'>',
  '^`{|}[]\\:;,@$',
  'é',
  'e\u0301',
  '\uffee',
  '😀',
  'long/'.padEnd(300, 'x'),
  'long/'.padEnd(300, 'ü'),
  'long/'.padEnd(300, 'x').concat('/below'),
].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))

const listing: readonly BucketCase[] = [
  {
    name: 'keys with odd characters are kept apart, and listed in the order of their bytes',
    async run(bucket) {
      for (const key of ODD_KEYS) {
        same(await bucket.create(key, `body of ${key}`), 'created', key)
        same(await bucket.create(key, 'other'), 'exists', key)
      }
      for (const key of ODD_KEYS) same(await bucket.get(key), `body of ${key}`, key)
      same(await keys(bucket, ''), ODD_KEYS, 'all')
      for (const [index, key] of ODD_KEYS.entries()) {
        same(await keys(bucket, '', { after: key }), ODD_KEYS.slice(index + 1), `after ${key}`)
        const alike = ODD_KEYS.filter((each) => each.startsWith(key))
        same(await keys(bucket, key), alike, `with the prefix ${key}`)
      }
      await bucket.delete(ODD_KEYS)
      same(await keys(bucket, ''), [], 'after all were deleted')
    },
  },
  {
    name: 'a list has the keys with the prefix, after the given key, up to the limit',
    async run(bucket) {
      const all = ['log/1', 'log/2', 'log/3', 'log/4', 'logs', 'lo', 'snapshot/1']
      await Promise.all(all.map((key) => bucket.put(key, key)))
      same(await keys(bucket, 'log/'), ['log/1', 'log/2', 'log/3', 'log/4'], 'a folder')
      same(await keys(bucket, 'log'), ['log/1', 'log/2', 'log/3', 'log/4', 'logs'], 'a beginning')
      same(await keys(bucket, 'log/', { after: 'log/2' }), ['log/3', 'log/4'], 'after one')
      same(await keys(bucket, 'log/', { after: 'log/25' }), ['log/3', 'log/4'], 'after none')
      same(await keys(bucket, 'log/', { after: 'log/2', limit: 1 }), ['log/3'], 'only one')
      same(await keys(bucket, 'log/', { after: 'a' }), await keys(bucket, 'log/'), 'before all')
      same(await keys(bucket, 'log/', { after: 'z' }), [], 'behind all')
      same(await keys(bucket, 'none/'), [], 'a prefix of nothing')
    },
  },
  {
    name: 'a list has sizes, and write times by the clock of the bucket',
    async run(bucket) {
      await bucket.put('sized', '12345')
      const found = only(await bucket.list('sized'), 'listings')
      same(found.bytes, 5, 'bytes')
      const agoMs = bucket.now() - found.modifiedAt
      holds(agoMs > -5_000 && agoMs < 60_000, `written ${agoMs} ms ago`)
    },
  },
  {
    name: 'a list shows writes and deletes at once',
    async run(bucket) {
      for (let round = 1; round <= 10; round++) {
        await bucket.create(`now/${round}`, 'x')
        same(await keys(bucket, 'now/'), [`now/${round}`], `after creation ${round}`)
        await bucket.delete([`now/${round}`])
        same(await keys(bucket, 'now/'), [], `after deletion ${round}`)
      }
    },
  },
  {
    name: 'more than a thousand keys are listed by pages, or at once with a higher limit',
    manyRequests: true,
    async run(bucket) {
      const all = Array.from({ length: 1_100 }, (_, index) => `log/${String(index).padStart(8, '0')}`)
      const left = [...all]
      const write = async (): Promise<void> => {
        for (let key = left.pop(); key !== undefined; key = left.pop()) await bucket.create(key, '')
      }
      await Promise.all(Array.from({ length: 16 }, write))
      same(await keys(bucket, 'log/'), all.slice(0, 1_000), 'the first page')
      same(await keys(bucket, 'log/', { after: 'log/00000999' }), all.slice(1_000), 'the second')
      same(await keys(bucket, 'log/', { limit: 5_000 }), all, 'all at once')
      same(await keys(bucket, 'log/', { limit: 1_050 }), all.slice(0, 1_050), 'a page and a half')
      await bucket.delete(all)
      same(await keys(bucket, ''), [], 'after all were deleted')
    },
  },
]

export const bucketContract: readonly BucketCase[] = [...writing, ...reading, ...listing]
