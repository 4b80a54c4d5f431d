import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startS3Simulator } from '../../testing/s3-simulator.ts'
import type { Codec } from './codec.ts'
import { compress, encrypt, offload } from './index.ts'

const text = Buffer.from(JSON.stringify({ json: 'many words, '.repeat(500) }))

async function roundTrip(codec: Codec, bytes: Uint8Array): Promise<Buffer> {
  return Buffer.from(await codec.decode(await codec.encode(bytes)))
}

function refusal(code: string, message: RegExp): unknown {
  return expect.objectContaining({ code, message: expect.stringMatching(message) })
}

describe('compress', () => {
  test('P12: bodies get smaller, and come back as they were', async () => {
    const codec = compress()
    expect((await codec.encode(text)).byteLength).toBeLessThan(text.byteLength / 10)
    expect(await roundTrip(codec, text)).toEqual(text)
  })

  test('P12: small bodies, and those that get no smaller, are left alone', async () => {
    const small = Buffer.from('{"json":1}')
    expect(await compress().encode(small)).toBe(small)
    const noise = randomBytes(5_000)
    expect(await compress().encode(noise)).toBe(noise)
    const repeated = Buffer.from('a'.repeat(100))
    expect(await compress({ above: 99 }).encode(repeated)).not.toBe(repeated)
  })

  test('P12: what is damaged, or compressed in another way, is refused', async () => {
    const squeezed = await compress().encode(text)
    await expect(compress().decode(squeezed.subarray(0, 20))).rejects.toThrow()
    await expect(compress().decode(Buffer.of(9, 1, 2))).rejects.toEqual(refusal('CODEC_FAILED', /Upgrade pawl/))
  })

  test('P12: a size that cannot be is refused', () => {
    for (const above of [-1, 0.5, Number.NaN])
      expect(() => compress({ above })).toThrow(refusal('INPUT_INVALID', /`above` of compress/))
  })
})

describe('encrypt', () => {
  const [one, two] = [randomBytes(32), randomBytes(32)]
  const first = encrypt({ keys: { k1: one }, current: 'k1' })

  test('P12: nothing can be read without the key, and no two bodies are alike', async () => {
    const sealed = Buffer.from(await first.encode(text))
    expect(sealed.includes('many words')).toBe(false)
    expect(sealed).not.toEqual(Buffer.from(await first.encode(text)))
    expect(await roundTrip(first, text)).toEqual(text)
    expect(await roundTrip(first, Buffer.of())).toEqual(Buffer.of())
  })

  test('P12: a key is 32 bytes, as they are, as base64 or as hexadecimal digits', async () => {
    const sealed = await first.encode(text)
    const forms = [one, one.toString('base64'), one.toString('base64url'), one.toString('hex')]
    for (const k1 of forms) {
      const codec = encrypt({ keys: { k1 }, current: 'k1' })
      expect(Buffer.from(await codec.decode(sealed))).toEqual(text)
      expect(codec.fingerprint).toBe(first.fingerprint)
    }
  })

  test('P12: rotation: what older keys have encrypted is read, and new bodies take the current one', async () => {
    const old = await first.encode(text)
    const both = encrypt({ keys: { k1: one, k2: two }, current: 'k2' })
    expect([first.id, both.id]).toEqual(['encrypt:k1', 'encrypt:k2'])
    expect(Buffer.from(await both.decode(old))).toEqual(text)
    const fresh = await both.encode(text)
    const later = encrypt({ keys: { k2: two }, current: 'k2' })
    expect(Buffer.from(await later.decode(fresh))).toEqual(text)
    await expect(later.decode(old)).rejects.toEqual(refusal('CODEC_MISSING', /key 'k1'.*the keys are: k2.*Add it/))
    expect(new Set([first.fingerprint, both.fingerprint, later.fingerprint]).size).toBe(3)
  })

  test('P12: another key under the same id does not open it', async () => {
    const other = encrypt({ keys: { k1: two }, current: 'k1' })
    await expect(other.decode(await first.encode(text))).rejects.toEqual(
      refusal('CODEC_FAILED', /key 'k1'.*the key was replaced, or the body was changed/),
    )
    expect(other.fingerprint).not.toBe(first.fingerprint)
  })

  test('P12: a body that was changed anywhere is refused', async () => {
    const sealed = Buffer.from(await first.encode(Buffer.from('{"json":1}')))
    for (let at = 0; at < sealed.byteLength; at++) {
      const changed = Buffer.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      const error: unknown = await first.decode(changed).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ code: expect.stringMatching(/^CODEC_(?:FAILED|MISSING)$/) })
      const cut = first.decode(sealed.subarray(0, at))
      await expect(cut).rejects.toEqual(refusal('CODEC_FAILED', /./))
    }
  })

  test('P12: the id of the key cannot be exchanged for another one, even with the same key', async () => {
    const codec = encrypt({ keys: { k1: one, k2: one }, current: 'k1' })
    const sealed = Buffer.from(await codec.encode(text))
    sealed.write('k2', 2)
    await expect(codec.decode(sealed)).rejects.toEqual(refusal('CODEC_FAILED', /key 'k2'/))
  })

  test('P12: keys that cannot be are refused, and never quoted', () => {
    const short = 'c2hvcnQtc2VjcmV0'
    const refused = (keys: Record<string, Uint8Array | string>, current: string): string => {
      try {
        encrypt({ keys, current })
      } catch (error) {
        expect(error).toMatchObject({ code: 'INPUT_INVALID' })
        return (error as Error).message
      }
      throw new Error('it was taken')
    }
    expect(refused({ k1: short }, 'k1')).toMatch(/key 'k1' is 12 bytes long/)
    expect(refused({ k1: 'not at all!' }, 'k1')).toMatch(/neither base64 nor hexadecimal/)
    expect(refused({ k1: one }, 'k2')).toMatch(/current is 'k2', which is not the id of a key; expected one of: k1/)
    expect(refused({}, 'k1')).toMatch(/expected one of: none/)
    expect(refused({ 'a b': one }, 'a b')).toMatch(/is not a key id/)
    for (const empty of ['', ' ', new Uint8Array()])
      expect(refused({ k1: empty }, 'k1')).toMatch(/key 'k1' is empty; is the environment variable set\?/)
    expect(refused({ k1: short }, 'k1')).not.toContain(short)
  })
})

describe('offload', () => {
  let folder: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-offload-'))
  })
  afterEach(() => rm(folder, { recursive: true }))

  const objects = async (): Promise<string[]> =>
    existsSync(join(folder, 'payloads'))
      ? (await readdir(join(folder, 'payloads'), { recursive: true }))
          .filter((name) => name.endsWith('.txt'))
          .map((name) => join(folder, 'payloads', name))
      : []

  test('P12: large bodies are put into objects named by their digest, and small ones stay', async () => {
    const codec = offload({ to: folder, above: 100 })
    const small = Buffer.alloc(100)
    expect(await codec.encode(small)).toBe(small)
    expect(await objects()).toEqual([])
    const reference = Buffer.from(await codec.encode(text)).toString()
    expect(reference).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect(await codec.encode(text)).toEqual(Buffer.from(reference))
    const [object, another] = await objects()
    expect(another).toBeUndefined()
    expect(object).toContain(reference.slice('sha256:'.length))
    // Another process has nothing in memory.
    const elsewhere = offload({ to: folder })
    expect(Buffer.from(await elsewhere.decode(Buffer.from(reference)))).toEqual(text)
  })

  test('P12: an object that is referred to again is young again', async () => {
    const codec = offload({ to: folder, above: 0 })
    await codec.encode(text)
    const [object = ''] = await objects()
    await utimes(object, 1, 1)
    await codec.encode(text)
    expect((await stat(object)).mtimeMs).toBeGreaterThan(1_000_000)
  })

  test('P12: an object that is gone or was changed is refused, and so is what is no reference', async () => {
    const reference = await offload({ to: folder, above: 0 }).encode(text)
    const [object = ''] = await objects()
    const body = await readFile(object, 'utf8')
    await writeFile(object, Buffer.from('something else').toString('base64'))
    const read = () => offload({ to: folder }).decode(reference)
    await expect(read()).rejects.toEqual(refusal('CODEC_FAILED', /payloads\/.* was changed/))
    await unlink(object)
    await expect(read()).rejects.toEqual(refusal('CODEC_FAILED', /does not exist.*resume the run/))
    await writeFile(object, body)
    expect(Buffer.from(await read())).toEqual(text)
    for (const bad of ['', 'sha256:../../etc/passwd', 'sha256:abc'])
      await expect(offload({ to: folder }).decode(Buffer.from(bad))).rejects.toEqual(
        refusal('CODEC_FAILED', /not a reference/),
      )
  })

  test('P12: storage that does not work is waited for', async () => {
    const codec = offload({ to: join(folder, 'not', 'there'), above: 0 })
    await expect(codec.encode(text)).rejects.toEqual(refusal('STORE_UNAVAILABLE', /Create the parent folder/))
  })

  test('P12: a place on object storage will do', async () => {
    const server = await startS3Simulator()
    try {
      const to = server.url.replace('/?', '/bodies?')
      const credentials = async () => server.credentials
      const reference = await offload({ to, above: 0, credentials }).encode(text)
      const elsewhere = offload({ to, credentials })
      expect(Buffer.from(await elsewhere.decode(reference))).toEqual(text)
    } finally {
      await server.stop()
    }
  })

  test('P12: a folder may have any name; a place that cannot be is refused at once', async () => {
    const odd = join(folder, '50% of? #1')
    const codec = offload({ to: odd, above: 0 })
    expect(await roundTrip(codec, text)).toEqual(text)
    expect(existsSync(join(odd, 'payloads'))).toBe(true)
    for (const to of ['', 'https://example.com/x', 's3:nothing'])
      expect(() => offload({ to })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/INPUT_INVALID|STORE_URL_INVALID/) }),
      )
  })
})
