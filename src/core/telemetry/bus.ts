// Passes announcements to listeners. Without listeners, no announcement is built.
import type { Announcement, Listener } from './announcement.ts'

export class Bus {
  readonly #listeners: Set<Listener>

  constructor(listeners: readonly Listener[] = []) {
    this.#listeners = new Set(listeners)
  }

  get heard(): boolean {
    return this.#listeners.size > 0
  }

  /** Calls `make` only if there is a listener. */
  announce(make: () => Announcement): void {
    if (!this.heard) return
    const announcement = make()
    for (const listener of this.#listeners) {
      try {
        listener(announcement)
      } catch {
        // An error of a listener must not affect the engine.
      }
    }
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
