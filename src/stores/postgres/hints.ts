// Hints between processes. What happens here is told to others by NOTIFY from a connection of its own, outside the
// transactions that matter and gathered while one is under way; what others tell comes in by LISTEN.
import type pg from 'pg'
import type { Clock } from '../../runtime/clock.ts'
import type { Hint } from '../store.ts'

/** What one notification carries. It is bounded: run ids that do not fit are left to be found by polling. */
interface Bulletin {
  readonly from: number
  readonly ready?: true
  readonly sessions?: readonly number[]
  readonly ended?: readonly string[]
}

const ENDED_PER_BULLETIN = 150
const ENDED_AFTER_MS = 2
const RECONNECT_MS = 1_000
const RIDE_AFTER_QUIET_MS = 10

/** No process: what it says is news to all of them. */
const NOBODY = -1

/** What a transaction tells when it commits, to this process as well. */
export function bulletinOf(hints: readonly Hint[]): string {
  const sessions = hints.flatMap((hint) => (hint.type === 'news' ? [hint.session] : []))
  const bulletin: Bulletin = {
    from: NOBODY,
    ready: true,
    sessions: [...new Set(sessions)].slice(0, ENDED_PER_BULLETIN),
  }
  return JSON.stringify(bulletin)
}

export interface HintPorts {
  readonly connect: () => pg.Client
  readonly channel: string
  readonly clock: Clock
  /** Tells this process from the others on the channel. */
  readonly self: number
}

export class Hints {
  readonly #ports: HintPorts
  readonly #listeners = new Set<(hint: Hint) => void>()
  #speaker: pg.Client | undefined
  #ear: pg.Client | undefined
  #toldAt = Number.NEGATIVE_INFINITY
  #ready = false
  #sessions = new Set<number>()
  #ended: string[] = []
  #speaking = false
  #soon = false
  #closed = false

  constructor(ports: HintPorts) {
    this.#ports = ports
  }

  listen(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    if (!this.#ear) void this.#openEar()
    return () => this.#listeners.delete(listener)
  }

  get channel(): string {
    return this.#ports.channel
  }

  /**
   * A hint for a write to carry along, which spares a round trip. Only where writes are rare: a notification inside a
   * transaction holds a lock until that is flushed, and many would wait for each other.
   */
  rider(hint: Extract<Hint, { type: 'ready' }>): string | undefined {
    const now = this.#ports.clock.monotonic()
    const quiet = now - this.#toldAt > RIDE_AFTER_QUIET_MS
    this.#toldAt = now
    return quiet ? JSON.stringify({ from: this.#ports.self, [hint.type]: true }) : undefined
  }

  /** Tells this process at once, and the others soon, unless they have been told. */
  tell(hints: readonly Hint[], othersKnow = false): void {
    for (const hint of hints) {
      for (const listener of this.#listeners) listener(hint)
      if (othersKnow) continue
      if (hint.type === 'ready') this.#ready = true
      else if (hint.type === 'news') this.#sessions.add(hint.session)
      else if (hint.type === 'ended') this.#ended.push(hint.runId)
    }
    if (this.#ready || this.#sessions.size > 0) void this.#speak()
    else if (this.#ended.length > 0) this.#speakSoon()
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.allSettled([this.#ear?.end(), this.#speaker?.end()])
  }

  // Ends are told a moment later: many of them fit into one notification, and only those who wait for them care.
  #speakSoon(): void {
    if (this.#soon || this.#speaking) return
    this.#soon = true
    this.#ports.clock.after(ENDED_AFTER_MS, () => {
      this.#soon = false
      if (!this.#closed) void this.#speak()
    })
  }

  async #speak(): Promise<void> {
    if (this.#speaking) return
    this.#speaking = true
    try {
      this.#speaker ??= await this.#openSpeaker()
      while (this.#ready || this.#sessions.size > 0 || this.#ended.length > 0) {
        const payload = JSON.stringify(this.#bulletin())
        const values = [this.#ports.channel, payload]
        await this.#speaker.query({ name: 'hint', text: 'select pg_notify($1, $2)', values })
      }
    } catch {
      // Hints may be lost. The next one gets a new connection.
      this.#speaker?.end().catch(() => {})
      this.#speaker = undefined
    } finally {
      this.#speaking = false
    }
  }

  #bulletin(): Bulletin {
    const sessions = [...this.#sessions].slice(0, ENDED_PER_BULLETIN)
    const ended = this.#ended.splice(0, ENDED_PER_BULLETIN)
    const ready = this.#ready
    this.#ready = false
    for (const session of sessions) this.#sessions.delete(session)
    return {
      from: this.#ports.self,
      ...(ready && { ready }),
      ...(sessions.length > 0 && { sessions }),
      ...(ended.length > 0 && { ended }),
    }
  }

  async #openSpeaker(): Promise<pg.Client> {
    const speaker = this.#ports.connect()
    speaker.on('error', () => {
      if (this.#speaker === speaker) this.#speaker = undefined
    })
    await speaker.connect()
    return speaker
  }

  async #openEar(): Promise<void> {
    const ear = this.#ports.connect()
    this.#ear = ear
    let lost = false
    const again = (): void => {
      if (lost || this.#closed) return
      lost = true
      ear.end().catch(() => {})
      this.#ports.clock.after(RECONNECT_MS, () => void this.#openEar())
    }
    ear.on('error', again)
    ear.on('end', again)
    ear.on('notification', ({ payload }) => this.#hear(payload))
    try {
      await ear.connect()
      if (this.#closed) return await ear.end()
      await ear.query(`listen "${this.#ports.channel}"`)
      // Whatever was said while nobody listened.
      for (const listener of this.#listeners) listener({ type: 'changed' })
    } catch {
      again()
    }
  }

  #hear(payload: string | undefined): void {
    const bulletin = parse(payload)
    if (!bulletin || bulletin.from === this.#ports.self) return
    const hints: Hint[] = []
    if (bulletin.ready) hints.push({ type: 'ready' })
    for (const session of bulletin.sessions ?? []) hints.push({ type: 'news', session })
    for (const runId of bulletin.ended ?? []) hints.push({ type: 'ended', runId })
    for (const hint of hints) for (const listener of this.#listeners) listener(hint)
  }
}

function parse(payload: string | undefined): Bulletin | undefined {
  try {
    return JSON.parse(payload ?? '') as Bulletin
  } catch {
    return undefined
  }
}
