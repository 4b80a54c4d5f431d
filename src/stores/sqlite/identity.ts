// A SQLite file that is deleted, moved or replaced under a connection stays open without its name: what is written to
// it is gone with the process. So the name must still lead to the file that is open, and so must those of its log and
// of the memory its writers share. This is looked at now and then and not at each commit, which would be a tenth slower
// by it and no safer: what was acknowledged just before the file went is lost with it just the same. Of the log it is
// only asked whether it is there: to ask for its times makes Linux flush new ones with the next commit.
import { existsSync, statSync } from 'node:fs'
import { PawlError } from '../../core/base/errors.ts'
import type { Clock } from '../../core/runtime/clock.ts'

/** For how long what was found right is taken to be so. */
export const LOOK_MS = 100

export class FileIdentity {
  readonly #clock: Clock
  readonly #file: string
  readonly #known: readonly (readonly [path: string, id: string | undefined])[]
  #lookedAt: number
  #isGone = false

  /** To be made while a connection is open that has read from the file: then all three are there. */
  constructor(file: string, clock: Clock) {
    this.#clock = clock
    this.#file = file
    this.#known = [file, `${file}-shm`].map((path) => [path, idOf(path)] as const)
    this.#lookedAt = clock.monotonic()
  }

  /** Throws if one of the files is not there any more. */
  check(): void {
    this.#lookedAt = this.#clock.monotonic()
    this.#isGone = true
    const log = `${this.#file}-wal`
    if (!existsSync(log)) throw gone(log, this.#file, true)
    for (const [path, id] of this.#known) {
      const found = idOf(path)
      if (found !== id) throw gone(path, this.#file, found === undefined)
    }
    this.#isGone = false
  }

  /** The same, but looks only now and then, unless one was gone the last time. */
  checkNowAndThen(): void {
    if (this.#isGone || this.#clock.monotonic() - this.#lookedAt >= LOOK_MS) this.check()
  }
}

function idOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

function gone(path: string, file: string, isMissing: boolean): PawlError {
  const what = isMissing ? 'was deleted or moved away' : 'was replaced by another file'
  return new PawlError(
    'STORE_UNAVAILABLE',
    `SQLite file ${file}: ${path} ${what} while it was open, so nothing more is written. If it was moved, move it back; if not, stop every process that uses it, restore the file from a backup, and start them again.`,
  )
}
