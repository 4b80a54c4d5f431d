// Another process's write touches the log file. Whose touch it was, only the version of the data knows.
import { type FSWatcher, watch } from 'node:fs'
import type { Clock } from '../../core/runtime/clock.ts'

/** How long after the file was touched another process's write is looked for. */
const LAST_LOOK_MS = 64

export interface Watched {
  readonly file: string
  readonly clock: Clock
  /** Changes with every commit of another connection. */
  readonly version: () => number
  readonly changed: () => void
}

export class LogWatch {
  readonly #watched: Watched
  readonly #watcher: FSWatcher | undefined
  #version: number
  #callOff: (() => void) | undefined
  /** How long after the last look the next one comes. Nothing if none is to come. */
  #waitMs = 0

  constructor(watched: Watched) {
    this.#watched = watched
    this.#version = this.#seen()
    this.#watcher = this.#watch()
  }

  close(): void {
    this.#watcher?.close()
    this.#callOff?.()
  }

  #watch(): FSWatcher | undefined {
    try {
      const log = `${this.#watched.file}-wal`
      const watcher = watch(log, { persistent: false }, () => this.#lookSoon())
      watcher.on('error', () => watcher.close())
      return watcher
    } catch {
      // Whoever looks for work now and then finds it just the same.
      return undefined
    }
  }

  // The touch that counts may be one of many, most of them this process's own: none waits for the looks that another
  // one began, which come ever later.
  #lookSoon(): void {
    if (this.#waitMs !== 1) this.#lookAfter(1)
  }

  // The file is touched before the write is durable and visible, so one look may come too early: a few follow.
  #lookAfter(ms: number): void {
    this.#callOff?.()
    this.#waitMs = ms
    this.#callOff = this.#watched.clock.after(ms, () => {
      this.#waitMs = 0
      const version = this.#seen()
      if (version !== this.#version) {
        this.#version = version
        this.#watched.changed()
      } else if (ms < LAST_LOOK_MS) this.#lookAfter(ms * 2)
    })
  }

  #seen(): number {
    try {
      return this.#watched.version()
    } catch {
      // The file is locked, or gone. Whoever reads or writes next is told.
      return this.#version
    }
  }
}
