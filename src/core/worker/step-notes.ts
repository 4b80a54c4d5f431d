// What a step leaves behind for its next attempt: how far it got, and what of it is done once and for all.

import { limits } from '../base/limits.ts'
import { checkKnownName } from '../base/names.ts'
import { decode, encode } from '../base/value.ts'
import { decodePayload, encodePayload } from '../kernel/codec.ts'
import { STEP_SECRET } from '../kernel/webhook.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Note, Noted } from '../stores/store.ts'

/** Which step of which run the notes are for. */
export type NotesOf = Pick<Note, 'runId' | 'generation' | 'key'>

export interface NotePorts {
  readonly clock: Clock
  loadNotes(of: NotesOf): Promise<Readonly<Record<string, string>>>
  keepNote(note: Note): Promise<Noted>
  /** Something nobody can guess. */
  newSecret(): string
}

const HEARTBEAT = 'heartbeat'

/** The note of a step that was cancelled while a worker has its task, and whose end is waited for. */
export const CANCELLED = 'cancelled'

export class StepNotes {
  readonly #of: NotesOf
  readonly #ports: NotePorts
  readonly #found: Readonly<Record<string, string>>
  #details: string | undefined
  /** The details that the store has, or is being told. */
  #written: string | undefined
  #keptAt = Number.NEGATIVE_INFINITY
  #keeping: Promise<unknown> = Promise.resolve()
  #isOver = false
  #hasSecret = false
  /** What this attempt does once, by name, as text. */
  readonly #once = new Map<string, Promise<string>>()
  /** Called at every sign of life. */
  onBeat: () => void = () => {}

  constructor(of: NotesOf, ports: NotePorts, found: Readonly<Record<string, string>>) {
    this.#of = of
    this.#ports = ports
    this.#found = found
    this.#written = found[HEARTBEAT]
  }

  /** A sign of life. Its details are kept, if not every single time. */
  beat(details?: unknown): void {
    if (this.#isOver) return
    this.onBeat()
    if (details === undefined) return
    this.#details = encodePayload(encode(details, 'the details of a heartbeat'))
    const now = this.#ports.clock.monotonic()
    if (now - this.#keptAt < limits.heartbeatKeptMs) return
    this.#keptAt = now
    this.#flush()
  }

  /** The details of the last sign of life, of this attempt or an earlier one. */
  last(): unknown {
    const text = this.#details ?? this.#found[HEARTBEAT]
    return text === undefined ? undefined : decode(decodePayload(text))
  }

  async once(given: string, fn: () => unknown): Promise<unknown> {
    const name = `once:${checkKnownName(given, 'the key of runOnce')}`
    const known = this.#found[name]
    if (known !== undefined) return decode(decodePayload(known))
    const doing = this.#once.get(name) ?? this.#do(name, given, fn)
    return decode(decodePayload(await doing))
  }

  /** What the token of the step consists of, the same for every attempt. */
  async secret(): Promise<string> {
    const kept = this.#found[STEP_SECRET] ?? this.#once.get(STEP_SECRET) ?? this.#keepSecret()
    return decode(decodePayload(await kept)) as string
  }

  get hasSecret(): boolean {
    return this.#found[STEP_SECRET] !== undefined || this.#hasSecret
  }

  #keepSecret(): Promise<string> {
    const kept = this.#do(STEP_SECRET, 'the token', () => this.#ports.newSecret())
    void kept.then(
      () => {
        this.#hasSecret = true
      },
      () => {},
    )
    return kept
  }

  #do(name: string, given: string, fn: () => unknown): Promise<string> {
    const done = (async () => {
      const body = encodePayload(encode(await fn(), `the result of runOnce('${given}')`))
      return (await this.#keep(name, body, true)).body ?? body
    })()
    this.#once.set(name, done)
    // What failed may be tried again.
    done.catch(() => this.#once.delete(name))
    return done
  }

  /**
   * The attempt is over: what its body says from now on could come after what the next one says. What it said before is
   * written down, unless the step is over for good and needs none of it.
   */
  close(unsaved: 'keep' | 'drop'): Promise<unknown> {
    if (!this.#isOver && unsaved === 'keep') this.#flush()
    this.#isOver = true
    return this.#keeping
  }

  #flush(): void {
    const details = this.#details
    if (details === undefined || details === this.#written) return
    this.#written = details
    this.#keeping = this.#keeping
      .then(() => this.#keep(HEARTBEAT, details))
      .catch(() => {
        this.#written = undefined
      })
  }

  #keep(name: string, body: string, once = false): Promise<Noted> {
    return this.#ports.keepNote({ ...this.#of, name, body, ...(once && { once: true }) })
  }
}
