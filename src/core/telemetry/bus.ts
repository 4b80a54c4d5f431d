// Hands announcements to whoever listens. Nothing is built when nobody does.
import type { Announcement, Listener } from './announcement.ts'

export class Bus {
  readonly #listeners: Set<Listener>

  constructor(listeners: readonly Listener[] = []) {
    this.#listeners = new Set(listeners)
  }

  get heard(): boolean {
    return this.#listeners.size > 0
  }

  /** `make` is called only if somebody listens. */
  announce(make: () => Announcement): void {
    if (!this.heard) return
    const announcement = make()
    for (const listener of this.#listeners) {
      try {
        listener(announcement)
      } catch {
        // A listener is a guest; what it breaks is its own.
      }
    }
  }

  add(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
