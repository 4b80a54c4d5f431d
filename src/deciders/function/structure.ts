// Several things at once: races, joins, maps, and scopes that can be cancelled as a whole. Whoever loses is called off, and
// what comes of it later is dropped.
import { CANCELLED, type Cancelled, TIMEOUT, type Timeout } from '../../definitions/context.ts'
import { CancelledError, PawlError } from '../../kernel/errors.ts'
import { failureOf } from '../../kernel/failure.ts'
import type { FunctionExecution } from './execution.ts'
import type { Scope } from './scope.ts'

/** A branch that was begun, and how to stop it. */
export interface Branch {
  readonly name: string
  readonly promise: Promise<unknown>
  stop(error: CancelledError): void
}

/** A scope, and what the function in it gives. */
export interface OpenedScope {
  readonly scope: Scope
  readonly promise: Promise<unknown>
}

export class Structure {
  readonly #execution: FunctionExecution
  /** Promises that stand for several others. */
  static readonly #composites = new WeakMap<Promise<unknown>, (error: CancelledError) => void>()

  constructor(execution: FunctionExecution) {
    this.#execution = execution
  }

  race(branches: readonly Branch[]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    let isOver = false
    const end = (winner: string, settle: () => void): void => {
      if (isOver) return
      isOver = true
      stopAll(branches, new CancelledError(`'${winner}' won the race`), winner)
      settle()
    }
    for (const { name, promise: branch } of branches) {
      branch.then(
        (value) => end(name, () => resolve({ winner: name, value })),
        (error: unknown) => end(name, () => reject(error)),
      )
    }
    return this.#composite(promise, (error) => stopAll(branches, error))
  }

  all(branches: readonly Branch[]): Promise<unknown> {
    const values: Record<string, unknown> = {}
    const joined = branches.map(async ({ name, promise }) => {
      values[name] = await promise
    })
    const promise = Promise.all(joined).then(
      () => Object.fromEntries(branches.map(({ name }) => [name, values[name]])),
      (error: unknown) => {
        stopAll(branches, new CancelledError('another branch failed'))
        throw error
      },
    )
    return this.#composite(promise, (error) => stopAll(branches, error))
  }

  /** Items in order, so many at once; with `tolerated`, so many may fail. */
  map(
    items: readonly { readonly name: string; readonly begin: () => OpenedScope }[],
    atOnce: number,
    tolerated: number | undefined,
    surrounding: Scope,
  ): Promise<unknown> {
    const begun: OpenedScope[] = []
    const results: unknown[] = new Array(items.length)
    let next = 0
    let failed = 0
    const stop = (error: CancelledError): void => {
      next = items.length
      for (const { scope } of begun) this.#execution.cancel(scope, error)
    }
    const lane = async (): Promise<void> => {
      while (next < items.length) {
        const index = next++
        const opened = items[index]?.begin()
        if (!opened) return
        begun.push(opened)
        const settled = await settledOf(opened.promise)
        if (settled.ok) results[index] = tolerated === undefined ? settled.value : settled
        else {
          // A cancellation from outside is nobody's failure, and not to be tolerated.
          if (tolerated === undefined || surrounding.cancelled) throw settled.error
          if (++failed > tolerated) throw tooMany(failed, items.length, settled.error)
          results[index] = { ok: false, failure: failureOf(settled.error) }
        }
      }
    }
    const lanes = Array.from({ length: Math.min(atOnce, items.length) }, lane)
    const promise = Promise.all(lanes).then(
      () => results,
      (error: unknown) => {
        stop(new CancelledError('another item failed'))
        throw error
      },
    )
    return this.#composite(promise, stop)
  }

  /** A scope that ends by itself, by its own `cancel`, or when its time is over. */
  scope(
    opened: OpenedScope,
    control: ScopeControl,
    timer: Promise<unknown> | undefined,
  ): Promise<unknown> {
    timer?.then(
      () => control.end(TIMEOUT),
      () => {},
    )
    const over = new CancelledError('the scope ended')
    const promise = opened.promise.then(
      (value) => {
        control.isOver = true
        if (timer) this.#execution.callOff(timer, over)
        return value
      },
      (error: unknown) => {
        control.isOver = true
        if (timer) this.#execution.callOff(timer, over)
        if (control.ended && error === control.error) return control.ended
        throw error
      },
    )
    return this.#composite(promise, (error) => {
      this.#execution.cancel(opened.scope, error)
      if (timer) this.#execution.callOff(timer, error)
    })
  }

  /** Nothing outside can stop it. */
  shield(promise: Promise<unknown>): Promise<unknown> {
    return this.#composite(promise, () => {})
  }

  /** What stops the promise of a durable call, or of several. */
  stopper(promise: Promise<unknown>): (error: CancelledError) => void {
    const composite = Structure.#composites.get(promise)
    return composite ?? ((error) => this.#execution.callOff(promise, error))
  }

  #composite(promise: Promise<unknown>, stop: (error: CancelledError) => void): Promise<unknown> {
    // A branch nobody waits for any more must not look like an unhandled rejection.
    promise.catch(() => {})
    Structure.#composites.set(promise, stop)
    return promise
  }
}

/** How the function of a scope is told to end, and whether it was. */
export class ScopeControl {
  isOver = false
  ended: Cancelled | Timeout | undefined
  error: CancelledError | undefined
  readonly #cancel: (error: CancelledError) => void

  constructor(cancel: (error: CancelledError) => void) {
    this.#cancel = cancel
  }

  end(how: Cancelled | Timeout, reason?: string): void {
    if (this.isOver || this.ended) return
    this.ended = how
    this.error = new CancelledError(reason ?? (how === TIMEOUT ? 'its time is over' : undefined))
    this.#cancel(this.error)
  }

  cancel(reason?: string): void {
    this.end(CANCELLED, reason)
  }
}

function stopAll(branches: readonly Branch[], error: CancelledError, except?: string): void {
  for (const branch of branches) if (branch.name !== except) branch.stop(error)
}

type Ended =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown }

async function settledOf(promise: Promise<unknown>): Promise<Ended> {
  try {
    return { ok: true, value: await promise }
  } catch (error) {
    return { ok: false, error }
  }
}

function tooMany(failed: number, of: number, cause: unknown): PawlError {
  const message = `${failed} of ${of} items failed, which is more than ctx.map was told to tolerate.`
  return new PawlError('TOO_MANY_FAILURES', message, { cause })
}

export interface MapSettings {
  readonly concurrency: number
  readonly key: ((item: unknown) => string) | undefined
  readonly tolerated: number | undefined
}

export function mapSettings(given: unknown, items: number): MapSettings {
  const {
    concurrency = items,
    key,
    tolerate,
  } = (given ?? {}) as {
    concurrency?: number
    key?: (item: unknown) => string
    tolerate?: number | string
  }
  if (concurrency !== items && !(Number.isInteger(concurrency) && concurrency > 0)) {
    throw new PawlError('INPUT_INVALID', "ctx.map's concurrency is a whole number above 0.")
  }
  return { concurrency: Math.max(1, concurrency), key, tolerated: toleratedOf(tolerate, items) }
}

function toleratedOf(tolerate: number | string | undefined, items: number): number | undefined {
  if (tolerate === undefined) return undefined
  const percent =
    typeof tolerate === 'string' ? /^(\d+(?:\.\d+)?)%$/.exec(tolerate)?.[1] : undefined
  const count = percent === undefined ? tolerate : Math.floor((Number(percent) / 100) * items)
  if (typeof count === 'number' && Number.isFinite(count) && count >= 0) return count
  throw new PawlError(
    'INPUT_INVALID',
    "ctx.map's tolerate is a number of items, or a share such as '5%'.",
  )
}
