// Notes that an attempt at a step leaves for the next attempt: heartbeat details, and results of `runOnce`.
import { limits } from '../base/limits.ts'
import { checkKnownName } from '../base/names.ts'
import { decode, encode } from '../base/value.ts'
import { decodePayload, encodePayload } from '../kernel/codec.ts'
import { STEP_SECRET } from '../kernel/tokens.ts'
import { secret } from '../runtime/random.ts'
import type { Note, Noted } from '../stores/store.ts'
import type { WorkerContext } from './context.ts'
import type { StoreLine } from './store-line.ts'

/** Which step of which run the notes are for. */
export type NotesOf = Pick<Note, 'runId' | 'generation' | 'key'>
export type Notes = Readonly<Record<string, string>>
/** What notes need of their worker. */
export type NotesContext = Pick<WorkerContext, 'clock' | 'random'> & {
  readonly line: Pick<StoreLine, 'send'>
}

const HEARTBEAT = 'heartbeat'

/** The note of a queued step that was cancelled while a worker has its task, and whose end the run waits for. */
export const CANCELLED = 'cancelled'

export async function loadNotes(
  { line }: Pick<NotesContext, 'line'>,
  { runId, generation, key }: NotesOf,
): Promise<Notes> {
  const ask = { type: 'notes', runId, generation, key } as const
  const [loaded] = await line.send((store) => store.load([ask]))
  return loaded?.type === 'notes' ? loaded.notes : {}
}

export class StepNotes {
  readonly #of: NotesOf
  readonly #context: NotesContext
  readonly #found: Notes
  #details: string | undefined
  /** The details that the store has, or that are being written. */
  #written: string | undefined
  #writtenAt = Number.NEGATIVE_INFINITY
  #writing: Promise<unknown> | undefined
  #isClosed = false
  #hasSecret = false
  /** What this attempt does once, by name, as text. */
  #once: Map<string, Promise<string>> | undefined
  /** Called at every heartbeat. */
  onBeat: (() => void) | undefined

  constructor(of: NotesOf, context: NotesContext, found: Notes) {
    this.#of = of
    this.#context = context
    this.#found = found
    this.#written = found[HEARTBEAT]
  }

  /** A heartbeat. Its details are written at most once in a while. */
  beat(details?: unknown): void {
    if (this.#isClosed) return
    this.onBeat?.()
    if (details === undefined) return
    this.#details = encodePayload(encode(details, 'the details of a heartbeat'))
    const now = this.#context.clock.monotonic()
    if (now - this.#writtenAt < limits.heartbeatKeptMs) return
    this.#writtenAt = now
    this.#flush()
  }

  /** The details of the last heartbeat, of this attempt or an earlier one. */
  last(): unknown {
    const text = this.#details ?? this.#found[HEARTBEAT]
    return text === undefined ? undefined : decode(decodePayload(text))
  }

  async once(given: string, fn: () => unknown): Promise<unknown> {
    const name = `once:${checkKnownName(given, 'the key of runOnce')}`
    const known = this.#found[name]
    if (known !== undefined) return decode(decodePayload(known))
    const doing = this.#once?.get(name) ?? this.#do(name, given, fn)
    return decode(decodePayload(await doing))
  }

  /** The secret in the completion token of the step, the same for every attempt. */
  async secret(): Promise<string> {
    const kept = this.#found[STEP_SECRET] ?? this.#once?.get(STEP_SECRET) ?? this.#keepSecret()
    return decode(decodePayload(await kept)) as string
  }

  get hasSecret(): boolean {
    return this.#found[STEP_SECRET] !== undefined || this.#hasSecret
  }

  #keepSecret(): Promise<string> {
    const kept = this.#do(STEP_SECRET, 'the token', () => secret(this.#context.random))
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
      return (await this.#write(name, body, true)).body ?? body
    })()
    this.#once ??= new Map()
    this.#once.set(name, done)
    // What failed may be tried again.
    done.catch(() => this.#once?.delete(name))
    return done
  }

  /**
   * The attempt is over. Later heartbeats of its body are ignored, because they could overtake those of the next
   * attempt. Earlier ones are written, unless the step has ended and needs none.
   */
  close(unsaved: 'keep' | 'drop'): Promise<unknown> | undefined {
    if (!this.#isClosed && unsaved === 'keep') this.#flush()
    this.#isClosed = true
    return this.#writing
  }

  #flush(): void {
    const details = this.#details
    if (details === undefined || details === this.#written) return
    this.#written = details
    this.#writing = (this.#writing ?? Promise.resolve())
      .then(() => this.#write(HEARTBEAT, details))
      .catch(() => {
        this.#written = undefined
      })
  }

  async #write(name: string, body: string, once = false): Promise<Noted> {
    const { runId, generation, key } = this.#of
    const note = { runId, generation, key, name, body, ...(once && { once }) }
    const [noted] = await this.#context.line.send((store) => store.note([note]))
    return noted ?? {}
  }
}
