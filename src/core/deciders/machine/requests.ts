// The open requests of a machine, by the ids that its handlers know.

import { PawlError } from '../../base/errors.ts'
import { decode, type Payload } from '../../base/value.ts'
import type { ActivityOptions } from '../../definitions/options.ts'
import { escapeKey, unescapeKey } from '../../kernel/ids.ts'

export interface MachineRequest extends RequestKey {
  readonly key: string
  readonly options: ActivityOptions
}

/** A request before it is numbered. */
type NewRequest = Omit<RequestKey, 'n'>

export class Requests {
  readonly #open = new Map<string, MachineRequest>()
  /** Keys of open requests by id, or by name for timers. */
  readonly #keys = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  /** Keys recorded by a move that a rewind dropped. When the move is made again, these requests are not repeated. */
  readonly #ahead = new Set<string>()
  readonly #options = new Map<string, ActivityOptions>()

  get size(): number {
    return this.#open.size
  }

  all(): Iterable<MachineRequest> {
    return this.#open.values()
  }

  get(key: string): MachineRequest | undefined {
    return this.#open.get(key)
  }

  get ahead(): readonly string[] {
    return [...this.#ahead]
  }

  // ── recorded events ──

  /** Options that a recorded move gave its activities, by their keys. */
  addOptions(options: Payload): void {
    for (const [key, each] of Object.entries(decode(options) as Record<string, ActivityOptions>))
      this.#options.set(key, each)
  }

  record(key: string, byKeptMove: boolean): void {
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

  /** Closes all requests, and returns their keys. */
  clear(): readonly string[] {
    const keys = [...this.#open.keys()]
    for (const key of keys) this.forget(key)
    return keys
  }

  forget(key: string): void {
    this.#ahead.delete(key)
    this.settle(key)
  }

  // ── new moves ──

  /** Closes the request and returns it, if it was open. */
  settle(key: string): MachineRequest | undefined {
    const request = this.#open.get(key)
    this.#options.delete(key)
    if (!request) return undefined
    this.#open.delete(key)
    this.#keys.delete(handleOf(request))
    return request
  }

  /** Opens a request. Returns its key, and whether the history has it already. */
  open(given: NewRequest, options: ActivityOptions = {}): { key: string; isRecorded: boolean } {
    const count = countOf(given)
    const n = (this.#counts.get(count) ?? 0) + 1
    const request = { ...given, n }
    const key = requestKey(request)
    if (this.#keys.has(handleOf(request))) throw idInUse(idOf(request))
    this.#counts.set(count, n)
    this.#begin(request, key, options)
    return { key, isRecorded: this.#ahead.delete(key) }
  }

  /** The key of the open activity or child with this id. */
  byId(id: string): string | undefined {
    return this.#keys.get(`id ${id}`)
  }

  timer(name: string): string | undefined {
    return this.#keys.get(`timer ${name}`)
  }

  #begin(request: RequestKey, key: string, options: ActivityOptions): void {
    this.#open.set(key, { ...request, key, options })
    this.#keys.set(handleOf(request), key)
  }
}

// Activities and children are counted together, so that no two of them get the same id.
function countOf({ kind, name, id }: NewRequest): string {
  if (kind === 'timer') return `timer ${name}`
  return id === undefined ? `name ${name}` : `id ${id}`
}

function handleOf(request: RequestKey): string {
  return request.kind === 'timer' ? `timer ${request.name}` : `id ${idOf(request)}`
}

function idInUse(id: string): PawlError {
  return new PawlError(
    'DUPLICATE_STEP_KEY',
    `a request with the id '${id}' is already in progress. Use another id, or cancel the first one: act.cancel('${id}').`,
  )
}

// The keys of requests: `activity:model#1`, `child:report[may]#1`, `timer:deadline#3`. The number counts the uses of the
// name, or of the id if there is one, so that no key occurs twice.

export interface RequestKey {
  readonly kind: 'activity' | 'child' | 'timer'
  /** The machine's own name of an activity or timer, or the name of a child's workflow. */
  readonly name: string
  /** The id that a handler gave the request. */
  readonly id: string | undefined
  readonly n: number
}

const form = /^(activity|child|timer):([^/#:[\]]+)(?:\[([^/#:[\]]+)\])?#(\d+)$/

export function requestKey({ kind, name, id, n }: RequestKey): string {
  const given = id === undefined ? '' : `[${escapeKey(id)}]`
  return `${kind}:${escapeKey(name)}${given}#${n}`
}

export function parseRequestKey(key: string): RequestKey | undefined {
  const [, kind, name, id, n] = form.exec(key) ?? []
  if (kind === undefined || name === undefined) return undefined
  return {
    kind: kind as RequestKey['kind'],
    name: unescapeKey(name),
    id: id === undefined ? undefined : unescapeKey(id),
    n: Number(n),
  }
}

/** The id by which handlers know the request. */
export function idOf({ name, id, n }: RequestKey): string {
  return id ?? `${name}#${n}`
}
