// What a step leaves behind for its next attempt: how far it got, and what of it is done once and for all.
import { decodePayload, encodePayload } from '../kernel/codec.ts'
import { limits } from '../kernel/limits.ts'
import { checkName } from '../kernel/names.ts'
import { decode, encode } from '../kernel/value.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Note, Noted } from '../stores/store.ts'

/** Which step of which run the notes are for. */
export type NotesOf = Pick<Note, 'runId' | 'generation' | 'key'>

export interface NotePorts {
  readonly clock: Clock
  loadNotes(of: NotesOf): Promise<Readonly<Record<string, string>>>
  keepNote(note: Note): Promise<Noted>
}

const HEARTBEAT = 'heartbeat'

export class StepNotes {
  readonly #of: NotesOf
  readonly #ports: NotePorts
  readonly #found: Readonly<Record<string, string>>
  #details: string | undefined
  #keptAt = Number.NEGATIVE_INFINITY
  #keeping: Promise<unknown> = Promise.resolve()
  /** Called at every sign of life. */
  onBeat: () => void = () => {}

  constructor(of: NotesOf, ports: NotePorts, found: Readonly<Record<string, string>>) {
    this.#of = of
    this.#ports = ports
    this.#found = found
  }

  /** A sign of life. Its details are kept, if not every single time. */
  beat(details?: unknown): void {
    this.onBeat()
    if (details === undefined) return
    this.#details = encodePayload(encode(details, 'the details of a heartbeat'))
    const now = this.#ports.clock.monotonic()
    if (now - this.#keptAt < limits.heartbeatKeptMs) return
    this.#keptAt = now
    void this.flush()
  }

  /** The details of the last sign of life, of this attempt or an earlier one. */
  last(): unknown {
    const text = this.#details ?? this.#found[HEARTBEAT]
    return text === undefined ? undefined : decode(decodePayload(text))
  }

  async once(given: string, fn: () => unknown): Promise<unknown> {
    const name = `once:${checkName(given, 'the key of runOnce')}`
    const known = this.#found[name]
    if (known !== undefined) return decode(decodePayload(known))
    const body = encodePayload(encode(await fn(), `the result of runOnce('${given}')`))
    const { body: kept = body } = await this.#keep(name, body, true)
    return decode(decodePayload(kept))
  }

  /** Writes down what has not been. A step that is over for good needs none of it. */
  flush(): Promise<unknown> {
    const details = this.#details
    if (details === undefined || details === this.#found[HEARTBEAT]) return this.#keeping
    this.#keeping = this.#keeping.then(() => this.#keep(HEARTBEAT, details)).catch(() => {})
    return this.#keeping
  }

  #keep(name: string, body: string, once = false): Promise<Noted> {
    return this.#ports.keepNote({ ...this.#of, name, body, ...(once && { once: true }) })
  }
}
