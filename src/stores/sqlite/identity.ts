// A SQLite file that is deleted, moved or replaced under a connection stays open without its name, and what is written
// to it is lost with the process. So the store checks that the names of the file, its log and its shared memory still
// lead to the files that are open. It checks at intervals and not at each commit, which would make commits a tenth
// slower and no safer: writes acknowledged just before the file was removed are lost in any case. Of the log it checks
// only the existence, because asking for its times makes Linux flush new ones with the next commit.
import { existsSync, statSync } from 'node:fs'
import { PawlError } from '../../core/base/errors.ts'
import type { Clock } from '../../core/runtime/clock.ts'

/** How long a successful check is valid. */
export const LOOK_MS = 100

export class FileIdentity {
  readonly #clock: Clock
  readonly #file: string
  readonly #known: readonly (readonly [path: string, id: string | undefined])[]
  #lookedAt: number
  #isGone = false

  /** Call it while a connection is open that has read from the file: then all three files exist. */
  constructor(file: string, clock: Clock) {
    this.#clock = clock
    this.#file = file
    this.#known = [file, `${file}-shm`].map((path) => [path, idOf(path)] as const)
    this.#lookedAt = clock.monotonic()
  }

  /** Throws if one of the files no longer exists. */
  check(): void {
    this.#lookedAt = this.#clock.monotonic()
    this.#isGone = true
    const log = `${this.#file}-wal`
    if (!existsSync(log)) throw removed(log, this.#file, true)
    for (const [path, id] of this.#known) {
      const found = idOf(path)
      if (found !== id) throw removed(path, this.#file, found === undefined)
    }
    this.#isGone = false
  }

  /** The same, but only at intervals, unless a file was missing the last time. */
  checkNowAndThen(): void {
    if (this.#isGone || this.#clock.monotonic() - this.#lookedAt >= LOOK_MS) this.check()
  }
}

function idOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

function removed(path: string, file: string, isMissing: boolean): PawlError {
  const what = isMissing ? 'was deleted or moved away' : 'was replaced by another file'
  return new PawlError(
    'STORE_UNAVAILABLE',
    `SQLite file ${file}: ${path} ${what} while it was open, so nothing more is written. If it was moved, move it ` +
      'back; if not, stop every process that uses it, restore the file from a backup, and start them again.',
  )
}
