// Hints between processes. Those of this process are sent by NOTIFY on a connection of their own, outside the
// transactions that matter, and collected while one is in progress; those of others arrive by LISTEN.

import type pg from 'pg'
import type { Clock } from '../../core/runtime/clock.ts'
import type { Hint } from '../../core/stores/driver.ts'

const ENDED_AFTER_MS = 2
const RECONNECT_MS = 1_000
const RIDE_AFTER_QUIET_MS = 10
const LATER_MS = 100
const PING_MS = 60_000
const PING_MS_MAX = 5_000
// No promise depends on it, so it does not wait for the disk.
const TELL = "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)"

/** No process has this number, so all processes listen to a hint from it. */
const NOBODY = -1

export interface HintPorts {
  /** For NOTIFY. */
  readonly connect: () => pg.Client
  /** For LISTEN, if that is possible: a pooler in transaction mode forwards no notifications. */
  readonly connectEar: (() => pg.Client) | undefined
  /** Behind a pooler, the next connection may not know a prepared statement. */
  readonly isPooled: boolean
  readonly channel: string
  readonly clock: Clock
  /** Distinguishes this process from the others on the channel. */
  readonly self: number
}

export class Hints {
  readonly #ports: HintPorts
  readonly #listeners = new Set<(hint: Hint) => void>()
  #speaker: pg.Client | undefined
  #ear: pg.Client | undefined
  #toldAt = Number.NEGATIVE_INFINITY
  #news = new News()
  #mutedUntil = Number.NEGATIVE_INFINITY
  readonly #later: Hint[] = []
  readonly #prepared: { readonly name?: string }
  /** Cancels the next ping, or the next attempt to connect. */
  #stopTimer = (): void => {}
  #speaking = false
  #spoken: Promise<void> = Promise.resolve()
  #soon = false
  #closed = false

  constructor(ports: HintPorts) {
    this.#ports = ports
    this.#prepared = ports.isPooled ? {} : { name: 'hint' }
  }

  listen(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    const { connectEar } = this.#ports
    if (!this.#ear && connectEar) void this.#openEar(connectEar)
    return () => this.#listeners.delete(listener)
  }

  get channel(): string {
    return this.#ports.channel
  }

  /**
   * A hint that a write may carry, which saves a round trip. Only while writes are rare: a notification inside a
   * transaction holds a lock until the transaction is flushed, and many would wait for each other.
   */
  rider(hint: Extract<Hint, { type: 'ready' }>): string | undefined {
    return this.#isQuiet() ? JSON.stringify({ from: this.#ports.self, [hint.type]: true }) : undefined
  }

  /**
   * The same for a transaction of a caller, whose end is unknown: what it does not carry is sent a moment later, when
   * most such transactions have ended.
   */
  passenger(hints: readonly Hint[]): string | undefined {
    if (this.#isQuiet()) {
      const news = new News()
      for (const hint of hints) news.add(hint)
      return JSON.stringify(news.take(NOBODY))
    }
    if (this.#later.length === 0) this.#ports.clock.after(LATER_MS, () => this.#tellLater())
    this.#later.push(...hints)
    return undefined
  }

  #isQuiet(): boolean {
    const now = this.#ports.clock.monotonic()
    const quiet = now - this.#toldAt > RIDE_AFTER_QUIET_MS
    this.#toldAt = now
    return quiet
  }

  #tellLater(): void {
    const hints = this.#later.splice(0)
    if (!this.#closed) this.tell(hints)
  }

  /** Tells this process at once, and the others soon, unless a write carried the hint. */
  tell(hints: readonly Hint[], othersKnow = false): void {
    const isMuted = this.#closed || this.#ports.clock.monotonic() < this.#mutedUntil
    for (const hint of hints) {
      for (const listener of this.#listeners) listener(hint)
      if (!othersKnow && !isMuted) this.#news.add(hint)
    }
    if (this.#news.isUrgent) this.#speak()
    else if (!this.#news.isEmpty) this.#speakSoon()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stopTimer()
    // A connection that is still being opened would keep the process from ending.
    await this.#spoken
    await Promise.allSettled([this.#ear?.end(), this.#speaker?.end()])
  }

  // Ended runs are sent a moment later: many fit into one notification, and only callers that wait for them care.
  #speakSoon(): void {
    if (this.#soon || this.#speaking) return
    this.#soon = true
    this.#ports.clock.after(ENDED_AFTER_MS, () => {
      this.#soon = false
      if (!this.#closed) this.#speak()
    })
  }

  #speak(): void {
    if (this.#speaking || this.#closed || this.#ports.clock.monotonic() < this.#mutedUntil) return
    this.#speaking = true
    this.#spoken = this.#tellAll().finally(() => {
      this.#speaking = false
    })
  }

  async #tellAll(): Promise<void> {
    try {
      this.#speaker ??= await this.#openSpeaker()
      while (!this.#news.isEmpty) {
        const values = [this.#ports.channel, JSON.stringify(this.#news.take(this.#ports.self))]
        await this.#speaker.query({ ...this.#prepared, text: TELL, values })
      }
    } catch {
      // Hints may be lost. A later one gets a new connection.
      this.#speaker?.end().catch(() => {})
      this.#speaker = undefined
      this.#news = new News()
      this.#mutedUntil = this.#ports.clock.monotonic() + RECONNECT_MS
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

  async #openEar(connect: () => pg.Client): Promise<void> {
    const ear = connect()
    this.#ear = ear
    let lost = false
    const again = (): void => {
      if (lost || this.#closed) return
      lost = true
      this.#stopTimer()
      ear.end().catch(() => {})
      this.#stopTimer = this.#ports.clock.after(RECONNECT_MS, () => void this.#openEar(connect))
    }
    ear.on('error', again)
    ear.on('end', again)
    ear.on('notification', ({ payload }) => this.#hear(payload))
    try {
      await ear.connect()
      if (this.#closed) return await ear.end()
      await ear.query(`listen "${this.#ports.channel}"`)
      // Closed meanwhile. Another ping would keep the process from ending.
      if (this.#closed) return
      // Hints may have been missed while no connection listened.
      for (const listener of this.#listeners) listener({ type: 'changed' })
      this.#ping(ear, again)
    } catch {
      again()
    }
  }

  // A connection that only listens does not notice that a router or firewall has dropped it.
  #ping(ear: pg.Client, lost: () => void): void {
    this.#stopTimer = this.#ports.clock.after(PING_MS, () => {
      const ping = { text: 'select 1', query_timeout: PING_MS_MAX } as pg.QueryConfig
      ear.query(ping).then(() => this.#closed || this.#ping(ear, lost), lost)
    })
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

// Hints that one notification carries. Postgres takes less than 8,000 bytes; what does not fit goes into the next.

export interface Bulletin {
  readonly from: number
  readonly ready?: true
  readonly sessions?: readonly number[]
  readonly ended?: readonly string[]
}

/** Bytes for hints: all without the names of the fields and the number of the sender. */
const BYTES_MAX = 7_800

/** Hints that wait to be sent. */
export class News {
  #ready = false
  readonly #sessions = new Set<number>()
  readonly #ended = new Set<string>()

  /** True if there are hints beside ended runs, which only callers that wait for them need. */
  get isUrgent(): boolean {
    return this.#ready || this.#sessions.size > 0
  }

  get isEmpty(): boolean {
    return !this.isUrgent && this.#ended.size === 0
  }

  add(hint: Hint): void {
    if (hint.type === 'ready') this.#ready = true
    else if (hint.type === 'news') this.#sessions.add(hint.session)
    else if (hint.type === 'ended') this.#ended.add(hint.runId)
  }

  /** As many hints as fit into one notification. */
  take(from: number): Bulletin {
    const room = { bytes: BYTES_MAX }
    const sessions = takeFrom(this.#sessions, room)
    const ended = takeFrom(this.#ended, room)
    const ready = this.#ready
    this.#ready = false
    return {
      from,
      ...(ready && { ready }),
      ...(sessions.length > 0 && { sessions }),
      ...(ended.length > 0 && { ended }),
    }
  }
}

function takeFrom<T extends number | string>(all: Set<T>, room: { bytes: number }): T[] {
  const taken: T[] = []
  for (const each of all) {
    // With quotes and a comma.
    const bytes = Buffer.byteLength(String(each)) + 3
    if (bytes > room.bytes) break
    room.bytes -= bytes
    taken.push(each)
  }
  for (const each of taken) all.delete(each)
  return taken
}
