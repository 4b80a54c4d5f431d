// A folder as a bucket, for one machine. An object appears whole under its name, by a hard link or a rename, and is
// flushed to disk before the call returns. It must not be on a network file system: there, a link may be reported as
// failed although it was made, and other processes' writes become visible late.
import { constants } from 'node:fs'
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { PawlError } from '../../core/base/errors.ts'
import { limits } from '../../core/base/limits.ts'
import type { Instant } from '../../core/base/time.ts'
import { unavailable } from '../../core/runtime/availability.ts'
import type { Clock } from '../../core/runtime/clock.ts'
import { type Random, systemRandom } from '../../core/runtime/random.ts'
import { compareKeys } from '../../core/stores/driver.ts'
import type { Bucket, ByteRange, Listing, ListPage } from './bucket.ts'
import { foldersOf, isFolder, keyOf, pathOf, prefixOf } from './file-names.ts'
import { checkKey } from './keys.ts'

export interface DirectoryOptions {
  /** Replaces the machine's clock. */
  readonly now?: () => Instant
  readonly random?: Random
}

/** The folder of objects being written. No object has this path, because no path begins with a full stop. */
const TEMPORARY = '.temporary'

/** A temporary file of this age was left behind by a process that died. */
const ABANDONED_MS = 3_600_000

export class DirectoryBucket implements Bucket {
  readonly name: string
  readonly #folder: string
  readonly #now: () => Instant
  readonly #random: Random

  private constructor(folder: string, clock: Clock, options: DirectoryOptions) {
    this.name = `file:${folder}`
    this.#folder = folder
    this.#now = options.now ?? (() => clock.now())
    this.#random = options.random ?? systemRandom
  }

  /** Opens `file:./pawl-data` or `file:///var/lib/pawl`. Creates the folder if its parent exists. */
  static async open(url: string, clock: Clock, options: DirectoryOptions = {}): Promise<DirectoryBucket> {
    const bucket = new DirectoryBucket(folderOf(url), clock, options)
    await bucket.#explained(() => bucket.#prepare())
    return bucket
  }

  now(): Instant {
    return this.#now()
  }

  async create(key: string, body: string): Promise<'created' | 'exists'> {
    return this.#write(key, body, async (temporary, target) => {
      const result = await link(temporary, target).then(
        () => 'created' as const,
        (error: unknown) => {
          if (codeOf(error) === 'EEXIST') return 'exists' as const
          throw error
        },
      )
      await unlink(temporary)
      return result
    })
  }

  async put(key: string, body: string): Promise<void> {
    await this.#write(key, body, rename)
  }

  async get(key: string, range?: ByteRange): Promise<string | undefined> {
    const file = this.#fileOf(key)
    return this.#explained(() =>
      orUndefined(async () => {
        const bytes = range ? await readPart(file, range) : await readFile(file)
        return bytes.toString('utf8')
      }),
    )
  }

  async list(
    prefix: string,
    { after = '', limit = limits.objectListPage }: ListPage = {},
  ): Promise<readonly Listing[]> {
    return this.#explained(async () => {
      const wanted = (key: string): boolean => key.startsWith(prefix) && compareKeys(key, after) > 0
      const keys: string[] = []
      await this.#collect(foldersOf(prefix), { prefix, after, wanted }, keys)
      keys.sort(compareKeys)
      const found: Listing[] = []
      while (found.length < limit && keys.length > 0) {
        const some = keys.splice(0, Math.min(limit - found.length, limits.objectListPage))
        // An object deleted meanwhile is left out, and the page is filled with later ones.
        found.push(...(await Promise.all(some.map((key) => this.#listing(key)))).flat())
      }
      return found
    })
  }

  async delete(keys: readonly string[]): Promise<void> {
    return this.#explained(async () => {
      for (const key of keys) await orUndefined(() => unlink(this.#fileOf(key)))
    })
  }

  async close(): Promise<void> {}

  #fileOf(key: string): string {
    checkKey(key)
    return join(this.#folder, ...pathOf(key))
  }

  /** Flushes the text to a temporary file, lets `publish` move it to its name, and flushes the folder. */
  async #write<T>(key: string, body: string, publish: (temporary: string, target: string) => Promise<T>): Promise<T> {
    const target = this.#fileOf(key)
    return this.#explained(async () => {
      const temporary = await this.#writeTemporary(body)
      try {
        const result = await publish(temporary, target).catch(async (error: unknown) => {
          if (codeOf(error) !== 'ENOENT') throw error
          await makeFolders(this.#folder, dirname(target))
          return publish(temporary, target)
        })
        // Also after `exists`: the other process may not have flushed its object yet, and this call reports it.
        await syncFolder(dirname(target))
        return result
      } catch (error) {
        await unlink(temporary).catch(() => {})
        throw error
      }
    })
  }

  async #writeTemporary(body: string): Promise<string> {
    const name = `${this.#random.integer().toString(36)}-${this.#random.integer().toString(36)}`
    const file = join(this.#folder, TEMPORARY, name)
    const handle = await open(file, 'wx')
    try {
      await handle.writeFile(body)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    return file
  }

  async #listing(key: string): Promise<Listing[]> {
    const file = await orUndefined(() => stat(this.#fileOf(key)))
    return file?.isFile() ? [{ key, bytes: file.size, modifiedAt: Math.floor(file.mtimeMs) }] : []
  }

  async #collect(folders: readonly string[], search: Search, keys: string[]): Promise<void> {
    const path = join(this.#folder, ...folders)
    for (const name of (await orUndefined(() => readdir(path))) ?? []) {
      const names = [...folders, name]
      if (isFolder(name)) {
        if (mayHold(prefixOf(names), search)) await this.#collect(names, search, keys)
        continue
      }
      const key = keyOf(names)
      if (key !== undefined && search.wanted(key)) keys.push(key)
    }
  }

  async #prepare(): Promise<void> {
    await mkdir(this.#folder).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error
    })
    await syncFolder(dirname(this.#folder))
    await makeFolders(this.#folder, join(this.#folder, TEMPORARY))
    await this.#removeAbandoned()
  }

  /** Deletes abandoned temporary files. Their age is measured by the clock of the file system, which may differ. */
  async #removeAbandoned(): Promise<void> {
    const own = await this.#writeTemporary('')
    const { mtimeMs } = await stat(own)
    await unlink(own)
    const folder = join(this.#folder, TEMPORARY)
    for (const name of await readdir(folder)) {
      const file = await orUndefined(() => stat(join(folder, name)))
      if (!file || mtimeMs - file.mtimeMs < ABANDONED_MS) continue
      await orUndefined(() => unlink(join(folder, name)))
    }
  }

  async #explained<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      throw explain(error, this.#folder)
    }
  }
}

interface Search {
  readonly prefix: string
  readonly after: string
  readonly wanted: (key: string) => boolean
}

/** True if a key that begins with `folder` may match the search. */
function mayHold(folder: string, { prefix, after }: Search): boolean {
  if (!folder.startsWith(prefix) && !prefix.startsWith(folder)) return false
  return after.startsWith(folder) || compareKeys(folder, after) > 0
}

function folderOf(url: string): string {
  const [, host = '', path = ''] = /^file:(?:\/\/([^/?#]*)(?=\/))?([^?#]*)$/i.exec(url) ?? []
  if (/^\/*$/.test(path) || (host !== '' && host !== 'localhost')) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `'${url}' does not name a folder on this machine. Write 'file:./pawl-data' or 'file:///var/lib/pawl'.`,
    )
  }
  try {
    return resolve(decodeURIComponent(path))
  } catch (error) {
    throw new PawlError(
      'STORE_URL_INVALID',
      `'${url}' has a % that is not followed by two hexadecimal digits. Write %25 for a %.`,
      { cause: error },
    )
  }
}

/** Creates the folders below `root`, and flushes each before the next. */
async function makeFolders(root: string, folder: string): Promise<void> {
  if (folder === root) return
  await makeFolders(root, dirname(folder))
  await mkdir(folder).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })
  await syncFolder(dirname(folder))
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function readPart(file: string, { from, to }: ByteRange): Promise<Buffer> {
  const handle = await open(file)
  try {
    return await readBetween(handle, from, to)
  } finally {
    await handle.close()
  }
}

async function readBetween(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const { size } = await handle.stat()
  const bytes = Buffer.alloc(Math.max(0, Math.min(to, size) - from))
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, from)
  return bytes.subarray(0, bytesRead)
}

/** Returns `undefined` if there is no such file. */
async function orUndefined<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    throw error
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code
}

/** Turns an error of the file system into one that says what to do. */
function explain(error: unknown, folder: string): unknown {
  if (error instanceof PawlError) return error
  const because = (error as Error).message
  const refuse = (code: PawlError['code'], advice: string): PawlError =>
    new PawlError(code, `${because}. ${advice}`, { cause: error })
  switch (codeOf(error)) {
    case 'EACCES':
    case 'EROFS':
      return refuse('STORE_READ_ONLY', `Make ${folder} and everything in it writable for this user.`)
    case 'EPERM':
    case 'ENOTSUP':
    case 'ENOSYS':
      return refuse('STORE_UNSUITABLE', 'The file system must support hard links: use a local disk.')
    case 'ENOENT':
    case 'ENOTDIR':
      return refuse('STORE_URL_INVALID', `Create the parent folder of ${folder}.`)
    case 'ENAMETOOLONG':
      return refuse('INPUT_INVALID', 'Use a folder with a shorter path.')
    default:
      return unavailable(`folder ${folder}`, error)
  }
}
