// `ctx.race`, `ctx.all`, `ctx.map` and `ctx.scope`: several requests at once, cancelled as a whole. Losers are
// cancelled, and their later results are dropped.

import { shown } from '../../base/described.ts'
import { CancelledError, PawlError } from '../../base/errors.ts'
import { failureOf } from '../../base/failure.ts'
import { checkKnownName } from '../../base/names.ts'
import { CANCELLED, type Cancelled, TIMEOUT, type Timeout } from '../../definitions/context.ts'
import { escapeKey } from '../../kernel/ids.ts'
import type { FunctionExecution } from './execution.ts'
import { misuse } from './misuse.ts'
import type { Scope } from './scope.ts'

export type NamedBranches = Readonly<Record<string, unknown>>

/** A branch that has begun. */
interface BegunBranch {
  readonly name: string
  readonly promise: Promise<unknown>
  stop(error: CancelledError): void
}

/** Calls a function in a new scope. */
type OpenScope<Ctx> = (path: string, fn: (ctx: Ctx) => unknown, shield?: boolean) => OpenedScope

/** A scope, and the promise of the function that runs in it. */
export interface OpenedScope {
  readonly scope: Scope
  readonly promise: Promise<unknown>
}

export class Concurrency<Ctx> {
  readonly #execution: FunctionExecution
  readonly #open: OpenScope<Ctx>
  /** How to cancel promises that stand for several others. */
  static readonly #composites = new WeakMap<Promise<unknown>, (error: CancelledError) => void>()

  constructor(execution: FunctionExecution, open: OpenScope<Ctx>) {
    this.#execution = execution
    this.#open = open
  }

  race(segment: string, given: NamedBranches): Promise<unknown> {
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

  all(segment: string, given: NamedBranches): Promise<unknown> {
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

  /** Processes items in order, up to `concurrency` at once; up to `tolerated` of them may fail. */
  map(segment: string, plan: MapPlan<Ctx>, surrounding: Scope): Promise<unknown> {
    const { items, keys, concurrency, tolerated, fn } = plan
    const begin = (index: number): OpenedScope =>
      this.#open(`${segment}[${escapeKey(keys[index] ?? '')}]/`, (ctx) => fn(ctx, items[index], index))
    const opened: OpenedScope[] = []
    const results: unknown[] = new Array(items.length)
    let next = 0
    let failed = 0
    const stop = (error: CancelledError): void => {
      next = items.length
      for (const { scope } of opened) this.#execution.cancelScope(scope, error)
    }
    const lane = async (): Promise<void> => {
      while (next < items.length) {
        const index = next++
        const item = begin(index)
        opened.push(item)
        const settled = await settledOf(item.promise)
        if (settled.ok) results[index] = tolerated === undefined ? settled.value : settled
        else {
          // A cancellation from outside is not the failure of an item, so it is not tolerated.
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

  /** A scope ends with its function, by its own `cancel`, or when its timeout has passed. */
  scope(opened: OpenedScope, control: ScopeControl, timer: Promise<unknown> | undefined): Promise<unknown> {
    timer?.then(
      () => control.end(TIMEOUT),
      () => {},
    )
    const over = new CancelledError('the scope ended')
    const promise = opened.promise.then(
      (value) => {
        control.isOver = true
        if (timer) this.#execution.cancelRequest(timer, over)
        return value
      },
      (error: unknown) => {
        control.isOver = true
        if (timer) this.#execution.cancelRequest(timer, over)
        if (control.ended && error === control.error) return control.ended
        throw error
      },
    )
    return this.#composite(promise, (error) => {
      this.#execution.cancelScope(opened.scope, error)
      if (timer) this.#execution.cancelRequest(timer, error)
    })
  }

  /** A shield cannot be cancelled from outside. */
  shield(path: string, fn: (ctx: Ctx) => unknown): Promise<unknown> {
    return this.#composite(this.#open(path, fn, true).promise, () => {})
  }

  /** A saga that is cancelled compensates. */
  saga(scope: Scope, promise: Promise<unknown>): Promise<unknown> {
    return this.#composite(promise, (error) => this.#execution.cancelScope(scope, error))
  }

  #begin(segment: string, branches: NamedBranches, what: string): BegunBranch[] {
    if (typeof branches !== 'object' || branches === null || Array.isArray(branches)) {
      const example = `${what}({ a: ctx.run(…), b: (ctx) => … })`
      throw misuse(what, 'an object of named branches', branches, example)
    }
    return Object.entries(branches).map(([name, branch]) => {
      if (typeof branch === 'function') {
        const path = `${segment}[${escapeKey(name)}]/`
        const { scope, promise } = this.#open(path, branch as (ctx: Ctx) => unknown)
        return { name, promise, stop: (error) => this.#execution.cancelScope(scope, error) }
      }
      if (!(branch instanceof Promise)) {
        const expected = `a promise of ctx or a function as branch '${name}'`
        throw misuse(what, expected, branch, `${what}({ ${name}: ctx.run(…) })`)
      }
      return { name, promise: branch, stop: this.#stopper(branch) }
    })
  }

  #stopper(promise: Promise<unknown>): (error: CancelledError) => void {
    const composite = Concurrency.#composites.get(promise)
    return composite ?? ((error) => this.#execution.cancelRequest(promise, error))
  }

  #composite(promise: Promise<unknown>, stop: (error: CancelledError) => void): Promise<unknown> {
    // Without a handler, a branch that lost would count as an unhandled rejection.
    promise.catch(() => {})
    Concurrency.#composites.set(promise, stop)
    return promise
  }
}

/** Ends a scope early, and remembers why. */
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

function stopAll(branches: readonly BegunBranch[], error: CancelledError, except?: string): void {
  for (const branch of branches) if (branch.name !== except) branch.stop(error)
}

type BranchResult = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown }

async function settledOf(promise: Promise<unknown>): Promise<BranchResult> {
  try {
    return { ok: true, value: await promise }
  } catch (error) {
    return { ok: false, error }
  }
}

function tooMany(failed: number, of: number, cause: unknown): PawlError {
  const message = `${failed} of ${of} items failed, which is more than ctx.map may tolerate. See the cause for the last failure, or raise \`tolerate\`.`
  return new PawlError('TOO_MANY_FAILURES', message, { cause })
}

/** The promise of the function. What it throws before it returns a promise rejects this one. */
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

export function mapPlan<Ctx>(items: readonly unknown[], options: unknown, fn: unknown): MapPlan<Ctx> {
  if (!Array.isArray(items)) throw misuse('ctx.map', 'an array', items, 'ctx.map(items, (ctx, item) => …)')
  const { concurrency, key, tolerate } = (options ?? {}) as {
    concurrency?: number
    key?: (item: unknown) => string
    tolerate?: number | string
  }
  const keys = items.map((item: unknown, index) =>
    key ? checkKnownName(key(item), 'the key of an item') : String(index),
  )
  if (new Set(keys).size < keys.length) {
    const twice = keys.find((each, index) => keys.indexOf(each) < index)
    const message = `\`key\` of ctx.map gave '${twice}' for two items. Return another key for each item, for example its id.`
    throw new PawlError('DUPLICATE_STEP_KEY', message)
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
  const percent = typeof tolerate === 'string' ? /^(\d+(?:\.\d+)?)%$/.exec(tolerate)?.[1] : undefined
  const count = percent === undefined ? tolerate : Math.floor((Number(percent) / 100) * items)
  if (typeof count === 'number' && Number.isFinite(count) && count >= 0) return count
  const message = `\`tolerate\` of ctx.map is ${shown(tolerate)}; expected a number of items, or a share such as '5%'.`
  throw new PawlError('INPUT_INVALID', message)
}
