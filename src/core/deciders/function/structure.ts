// Several things at once: races, joins, maps, and scopes that can be cancelled as a whole. Whoever loses is called off, and
// what comes of it later is dropped.

import { CancelledError, PawlError } from '../../base/errors.ts'
import { failureOf } from '../../base/failure.ts'
import { checkKnownName } from '../../base/names.ts'
import { CANCELLED, type Cancelled, TIMEOUT, type Timeout } from '../../definitions/context.ts'
import { escapeKey } from '../../kernel/key.ts'
import type { FunctionExecution } from './execution.ts'
import { misuse } from './misuse.ts'
import type { Scope } from './scope.ts'

export type Branches = Readonly<Record<string, unknown>>

/** A branch that was begun, and how to stop it. */
interface Branch {
  readonly name: string
  readonly promise: Promise<unknown>
  stop(error: CancelledError): void
}

/** Runs a function in a scope of its own. */
type OpenScope<Ctx> = (path: string, fn: (ctx: Ctx) => unknown, shield?: boolean) => OpenedScope

/** A scope, and what the function in it gives. */
export interface OpenedScope {
  readonly scope: Scope
  readonly promise: Promise<unknown>
}

export class Structure<Ctx> {
  readonly #execution: FunctionExecution
  readonly #open: OpenScope<Ctx>
  /** Promises that stand for several others. */
  static readonly #composites = new WeakMap<Promise<unknown>, (error: CancelledError) => void>()

  constructor(execution: FunctionExecution, open: OpenScope<Ctx>) {
    this.#execution = execution
    this.#open = open
  }

  race(segment: string, given: Branches): Promise<unknown> {
    const branches = this.#begin(segment, given, 'ctx.race')
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

  all(segment: string, given: Branches): Promise<unknown> {
    const branches = this.#begin(segment, given, 'ctx.all')
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
  map(segment: string, plan: MapPlan<Ctx>, surrounding: Scope): Promise<unknown> {
    const { items, keys, concurrency, tolerated, fn } = plan
    const begin = (index: number): OpenedScope =>
      this.#open(`${segment}[${escapeKey(keys[index] ?? '')}]/`, (ctx) =>
        fn(ctx, items[index], index),
      )
    const opened: OpenedScope[] = []
    const results: unknown[] = new Array(items.length)
    let next = 0
    let failed = 0
    const stop = (error: CancelledError): void => {
      next = items.length
      for (const { scope } of opened) this.#execution.cancel(scope, error)
    }
    const lane = async (): Promise<void> => {
      while (next < items.length) {
        const index = next++
        const item = begin(index)
        opened.push(item)
        const settled = await settledOf(item.promise)
        if (settled.ok) results[index] = tolerated === undefined ? settled.value : settled
        else {
          // A cancellation from outside is nobody's failure, and not to be tolerated.
          if (tolerated === undefined || surrounding.cancelled) throw settled.error
          if (++failed > tolerated) throw tooMany(failed, items.length, settled.error)
          results[index] = { ok: false, failure: failureOf(settled.error) }
        }
      }
    }
    const lanes = Array.from({ length: Math.min(concurrency, items.length) }, lane)
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
  shield(path: string, fn: (ctx: Ctx) => unknown): Promise<unknown> {
    return this.#composite(this.#open(path, fn, true).promise, () => {})
  }

  /** What stops it has it undo what it did. */
  saga(scope: Scope, promise: Promise<unknown>): Promise<unknown> {
    return this.#composite(promise, (error) => this.#execution.cancel(scope, error))
  }

  #begin(segment: string, branches: Branches, what: string): Branch[] {
    if (typeof branches !== 'object' || branches === null || Array.isArray(branches)) {
      throw misuse(`${what} takes an object with a branch under each name`, branches)
    }
    return Object.entries(branches).map(([name, branch]) => {
      if (typeof branch === 'function') {
        const path = `${segment}[${escapeKey(name)}]/`
        const { scope, promise } = this.#open(path, branch as (ctx: Ctx) => unknown)
        return { name, promise, stop: (error) => this.#execution.cancel(scope, error) }
      }
      if (!(branch instanceof Promise)) {
        throw misuse(`${what}: branch '${name}' must be a promise of ctx, or a function`, branch)
      }
      return { name, promise: branch, stop: this.#stopper(branch) }
    })
  }

  // What stops the promise of a durable call, or of several.
  #stopper(promise: Promise<unknown>): (error: CancelledError) => void {
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

/** What the function gives, or throws even before it gives anything. */
export async function begun(fn: () => unknown): Promise<unknown> {
  return fn()
}

export interface MapPlan<Ctx> {
  readonly items: readonly unknown[]
  readonly keys: readonly string[]
  readonly concurrency: number
  readonly tolerated: number | undefined
  readonly fn: (ctx: Ctx, item: unknown, index: number) => unknown
}

export function mapPlan<Ctx>(
  items: readonly unknown[],
  options: unknown,
  fn: unknown,
): MapPlan<Ctx> {
  if (!Array.isArray(items)) throw misuse('ctx.map takes an array', items)
  const { concurrency, key, tolerate } = (options ?? {}) as {
    concurrency?: number
    key?: (item: unknown) => string
    tolerate?: number | string
  }
  const keys = items.map((item: unknown, index) =>
    key ? checkKnownName(key(item), 'the key of an item') : String(index),
  )
  if (new Set(keys).size < keys.length) {
    throw new PawlError('DUPLICATE_STEP_KEY', 'ctx.map needs a key of its own for every item.')
  }
  const tolerated = toleratedOf(tolerate, items.length)
  return {
    items,
    keys,
    concurrency: concurrency ?? items.length,
    tolerated,
    fn: fn as MapPlan<Ctx>['fn'],
  }
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
