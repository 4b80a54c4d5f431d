import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../core/runtime/clock.ts'
import { compareKeys } from '../../core/stores/values.ts'
import { DirectoryBucket } from './directory-bucket.ts'
import { keyOf, pathOf } from './file-names.ts'
import { checkKey } from './keys.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-directory-'))
})

afterEach(() => rm(folder, { recursive: true }))

const open = (): Promise<DirectoryBucket> => DirectoryBucket.open(`file://${folder}/data`, systemClock)

test.each([
  '',
  '.',
  '..',
  '../outside',
  'a/../../outside',
  'a/..',
  '/etc/passwd',
  'a//b',
  'a/',
  'nul\0',
  'half \ud83d',
  'x'.repeat(1_025),
])('directory, P15: the key %j is refused', async (key) => {
  const bucket = await open()
  const refused = { code: 'INPUT_INVALID' }
  await expect(bucket.create(key, 'x')).rejects.toMatchObject(refused)
  await expect(bucket.put(key, 'x')).rejects.toMatchObject(refused)
  await expect(bucket.get(key)).rejects.toMatchObject(refused)
  await expect(bucket.delete([key])).rejects.toMatchObject(refused)
  expect(await readdir(folder)).toEqual(['data'])
})

function isKey(text: string): boolean {
  try {
    checkKey(text)
    return true
  } catch {
    return false
  }
}

const keys = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 400 }),
    fc.string({ unit: fc.constantFrom('a', '/', '+', ',', '%', '.', '2', 'F', 'ü', '\\', ':') }),
    fc.string({ unit: fc.constantFrom('a', 'ü', '/'), minLength: 190, maxLength: 500 }),
  )
  .filter(isKey)

test('directory, P15: every key has a path of its own inside the folder, and the path gives it back', () => {
  fc.assert(
    fc.property(keys, (key) => {
      const names = pathOf(key)
      expect(keyOf(names)).toBe(key)
      for (const name of names) {
        expect(name).toMatch(/^[A-Za-z0-9_=@%-][A-Za-z0-9_=@%.-]*[+,]?$|^[+,]$/)
        expect(name.length).toBeLessThanOrEqual(255)
      }
    }),
    { numRuns: 2_000 },
  )
})

test('keys are ordered by their bytes', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '/', 'é', '\ud7ff', '\uffee', '😀', '\u{10ffff}'),
  })
  fc.assert(
    fc.property(text, text, (a, b) => {
      const expected = Buffer.compare(Buffer.from(a), Buffer.from(b))
      expect(Math.sign(compareKeys(a, b))).toBe(expected)
    }),
    { numRuns: 2_000 },
  )
})

test('directory: a listing is what sorting all keys gives', async () => {
  const short = fc.string({
    unit: fc.constantFrom('a', 'b', '/', '!', '0', 'ü'),
    minLength: 1,
    maxLength: 5,
  })
  const key = short.filter(isKey)
  const any = fc.oneof(short, fc.constant(''))
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(key, { maxLength: 12 }), any, any, async (all, prefix, after) => {
      const bucket = await DirectoryBucket.open(`file:${folder}/${round++}`, systemClock)
      for (const each of all) await bucket.put(each, 'x')
      const expected = all.filter((each) => each.startsWith(prefix) && compareKeys(each, after) > 0).sort(compareKeys)
      const found = await bucket.list(prefix, { after, limit: 5 })
      expect(found.map((each) => each.key)).toEqual(expected.slice(0, 5))
    }),
    { numRuns: 60 },
  )
})

test('directory, P1: what a killed process left half written is not listed, and goes when it is old', async () => {
  const bucket = await open()
  await bucket.create('log/1', 'x')
  const temporary = join(folder, 'data', '.temporary')
  expect(await readdir(temporary)).toEqual([])
  await writeFile(join(temporary, 'young'), 'half')
  await writeFile(join(temporary, 'old'), 'half')
  const yesterday = new Date(Date.now() - 86_400_000)
  await utimes(join(temporary, 'old'), yesterday, yesterday)
  expect((await bucket.list('')).map(({ key }) => key)).toEqual(['log/1'])
  await open()
  expect(await readdir(temporary)).toEqual(['young'])
})

test('directory: files that are not ours are left out', async () => {
  const bucket = await open()
  await bucket.put('mine', 'x')
  await writeFile(join(folder, 'data', '.DS_Store'), '')
  await writeFile(join(folder, 'data', 'with space'), '')
  await writeFile(join(folder, 'data', '%6Dine'), '')
  await mkdir(join(folder, 'data', 'plain'))
  await mkdir(join(folder, 'data', '%zz+'))
  await writeFile(join(folder, 'data', '%zz+', 'x'), '')
  expect((await bucket.list('')).map(({ key }) => key)).toEqual(['mine'])
})

test('directory: two processes on one folder see each other’s objects', async () => {
  const [one, two] = [await open(), await open()]
  expect(await one.create('log/1', 'one')).toBe('created')
  expect(await two.create('log/1', 'two')).toBe('exists')
  expect(await two.get('log/1')).toBe('one')
})

test('directory: the URL is read, or refused with what to write', async () => {
  const url = `file://${folder}/with%20space`
  expect((await DirectoryBucket.open(url, systemClock)).name).toBe(`file:${folder}/with space`)
  const bad = ['file:', 'file:/', 'file://', 'file:///', 'file://host/share', `file:${folder}/x?pool=3`, 'file:./%zz']
  for (const each of [...bad, `file:${folder}/missing/below`]) {
    await expect(DirectoryBucket.open(each, systemClock), each).rejects.toMatchObject({
      code: 'STORE_URL_INVALID',
    })
  }
  await writeFile(join(folder, 'file'), '')
  await expect(DirectoryBucket.open(`file:${folder}/file`, systemClock)).rejects.toMatchObject({
    code: 'STORE_URL_INVALID',
  })
  await mkdir(join(folder, 'real'))
  await symlink(join(folder, 'real'), join(folder, 'linked'))
  const linked = await DirectoryBucket.open(`file:${folder}/linked`, systemClock)
  expect(await linked.create('a', 'x')).toBe('created')
})
