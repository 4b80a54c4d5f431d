// Hears of writes by other processes: they touch the log file, and the version of the data tells whose write it was.
import { type FSWatcher, watch } from 'node:fs'
import type { Clock } from '../../core/runtime/clock.ts'

/** How long after a touch of the file a write of another process is looked for. */
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
  #cancel: (() => void) | undefined
  /** How long after the last look the next one follows; 0 if none does. */
  #waitMs = 0

  constructor(watched: Watched) {
    this.#watched = watched
    this.#version = this.#seen()
    this.#watcher = this.#watch()
  }

  close(): void {
    this.#watcher?.close()
    this.#cancel?.()
  }

  #watch(): FSWatcher | undefined {
    try {
      const log = `${this.#watched.file}-wal`
      const watcher = watch(log, { persistent: false }, () => this.#lookSoon())
      watcher.on('error', () => watcher.close())
      return watcher
    } catch {
      // Workers that poll find the work in any case.
      return undefined
    }
  }

  // Most touches are this process's own, and the looks after a touch come ever later. So every touch starts its own
  // looks, or one that matters would wait for the late looks of another.
  #lookSoon(): void {
    if (this.#waitMs !== 1) this.#lookAfter(1)
  }

  // The file is touched before the write is durable and visible, so one look may come too early, and a few follow.
  #lookAfter(ms: number): void {
    this.#cancel?.()
    this.#waitMs = ms
    this.#cancel = this.#watched.clock.after(ms, () => {
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
      // The file is locked, or was removed. The next read or write reports it.
      return this.#version
    }
  }
}
