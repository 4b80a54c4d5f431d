// Watches files by their folders, because editors replace files. What counts is what is in a file, not when it was
// written: saving a file unchanged does nothing.
import { type FSWatcher, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { digest } from '../../core/base/digest.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import { MISSING } from '../code/loaded-files.ts'
import type { LoadedFile } from '../code/messages.ts'

/** Editors write several files, and a file in several steps. */
const SETTLE_MS = 50
/** Some file systems report no changes. */
const LOOK_MS = 2_000

export class FileWatch {
  readonly #known = new Map<string, string>()
  readonly #folders = new Map<string, FSWatcher>()
  readonly #changed: (paths: readonly string[]) => void
  #cancelLook: () => void = () => {}
  #isClosed = false

  constructor(changed: (paths: readonly string[]) => void) {
    this.#changed = changed
    this.#lookWithin(LOOK_MS)
  }

  /** Watches these files, too. A file with another content than was loaded has changed already. */
  add(files: readonly LoadedFile[]): void {
    for (const [path, loaded] of files) {
      this.#known.set(path, loaded)
      this.#watch(dirname(path))
    }
    if (files.length > 0) this.#lookWithin(SETTLE_MS)
  }

  close(): void {
    this.#isClosed = true
    this.#cancelLook()
    for (const watcher of this.#folders.values()) watcher.close()
  }

  #watch(folder: string): void {
    if (this.#folders.has(folder) || this.#isClosed) return
    try {
      const watcher = watch(folder, () => this.#lookWithin(SETTLE_MS))
      // A folder that is replaced is found again at the next look.
      const forget = (): void => {
        watcher.close()
        this.#folders.delete(folder)
      }
      watcher.on('error', forget)
      this.#folders.set(folder, watcher)
    } catch {
      // The folder is missing: the looks find it.
    }
  }

  #lookWithin(ms: number): void {
    this.#cancelLook()
    if (!this.#isClosed) this.#cancelLook = systemClock.after(ms, () => void this.#look())
  }

  async #look(): Promise<void> {
    const found = await Promise.all(
      Array.from(this.#known.keys(), async (path) => [path, await digestNow(path)] as const),
    )
    const changed = found.filter(([path, now]) => this.#known.get(path) !== now)
    for (const [path, now] of changed) {
      this.#known.set(path, now)
      this.#watch(dirname(path))
    }
    this.#lookWithin(LOOK_MS)
    if (changed.length > 0 && !this.#isClosed) this.#changed(changed.map(([path]) => path))
  }
}

async function digestNow(path: string): Promise<string> {
  try {
    return digest(await readFile(path, 'latin1'))
  } catch {
    return MISSING
  }
}
