// What a machine has asked for and not been told of yet, by the ids its handlers know.

import { PawlError } from '../../base/errors.ts'
import { decode, type Payload } from '../../base/value.ts'
import type { ActivityOptions } from '../../definitions/options.ts'
import { idOf, parseRequestKey, type RequestKey, requestKey } from './keys.ts'

export interface OpenRequest extends RequestKey {
  readonly key: string
  readonly options: ActivityOptions
}

type Asked = Omit<RequestKey, 'n'>

export class Requests {
  readonly #open = new Map<string, OpenRequest>()
  /** Keys by id, or by name for timers. */
  readonly #known = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  /** Recorded by a move that was taken back. If it is made again, these are not asked for a second time. */
  readonly #ahead = new Set<string>()
  readonly #options = new Map<string, ActivityOptions>()

  get size(): number {
    return this.#open.size
  }

  all(): Iterable<OpenRequest> {
    return this.#open.values()
  }

  get(key: string): OpenRequest | undefined {
    return this.#open.get(key)
  }

  get ahead(): readonly string[] {
    return [...this.#ahead]
  }

  // ── what was recorded ──

  /** What moves said about how activities are to be done. */
  learn(options: Payload): void {
    for (const [key, each] of Object.entries(decode(options) as Record<string, ActivityOptions>))
      this.#options.set(key, each)
  }

  recorded(key: string, byKeptMove: boolean): void {
    const parsed = parseRequestKey(key)
    if (!parsed) return
    if (!byKeptMove) {
      this.#ahead.add(key)
      return
    }
    const count = countOf(parsed)
    this.#counts.set(count, Math.max(parsed.n, this.#counts.get(count) ?? 0))
    this.#begin(parsed, key, this.#options.get(key) ?? {})
  }

  /** Forgets all that is open, and answers with their keys. */
  clear(): readonly string[] {
    const keys = [...this.#open.keys()]
    for (const key of keys) this.forget(key)
    return keys
  }

  forget(key: string): void {
    this.#ahead.delete(key)
    this.settle(key)
  }

  // ── what happens ──

  /** It is nobody's business any more. Answers with what it was, if it was open. */
  settle(key: string): OpenRequest | undefined {
    const request = this.#open.get(key)
    this.#options.delete(key)
    if (!request) return undefined
    this.#open.delete(key)
    this.#known.delete(handleOf(request))
    return request
  }

  /** Answers with its key, and whether history has it already. */
  ask(asked: Asked, options: ActivityOptions = {}): { key: string; isRecorded: boolean } {
    const count = countOf(asked)
    const n = (this.#counts.get(count) ?? 0) + 1
    const request = { ...asked, n }
    const key = requestKey(request)
    if (this.#known.has(handleOf(request))) throw inUse(idOf(request))
    this.#counts.set(count, n)
    this.#begin(request, key, options)
    return { key, isRecorded: this.#ahead.delete(key) }
  }

  /** The key under which something of this id is open. */
  byId(id: string): string | undefined {
    return this.#known.get(`id ${id}`)
  }

  timer(name: string): string | undefined {
    return this.#known.get(`timer ${name}`)
  }

  #begin(request: RequestKey, key: string, options: ActivityOptions): void {
    this.#open.set(key, { ...request, key, options })
    this.#known.set(handleOf(request), key)
  }
}

// Names of activities and of children are counted together, so that no two of them get the same id.
function countOf({ kind, name, id }: Asked): string {
  if (kind === 'timer') return `timer ${name}`
  return id === undefined ? `name ${name}` : `id ${id}`
}

function handleOf(request: RequestKey): string {
  return request.kind === 'timer' ? `timer ${request.name}` : `id ${idOf(request)}`
}

function inUse(id: string): PawlError {
  return new PawlError(
    'DUPLICATE_STEP_KEY',
    `something of the id '${id}' is under way already. Give it another id, or cancel the first: act.cancel('${id}').`,
  )
}
