// Batches: the operations of a handle, for every run that matches a filter.

import { defined } from '../base/defined.ts'
import { checkOptions, type Described, text, whole } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Signal } from '../definitions/context.ts'
import type { Args } from '../definitions/contract.ts'
import { checkPayload } from '../definitions/messages.ts'
import { SCHEDULE } from '../definitions/own-workflows.ts'
import type { Status } from '../kernel/run.ts'
import { LIVE } from '../kernel/run.ts'
import { type Page, queryOf, type RunFilter } from './filter.ts'
import { type Migration, migrationOptions, type RunHandle } from './run-handle.ts'

export const batchOptions = {
  limit: whole('Maximum number of runs; call again for the rest.', [1, Number.MAX_SAFE_INTEGER]),
  /** The reason of `cancel` and `terminate` and the note of `pause`, for the history. */
  reason: text('The reason, for the history.'),
} as const
/** Options of a batch. */
export interface BatchOptions extends Described<typeof batchOptions> {
  /** Maximum number of runs. Call again for the rest. */
  readonly limit: number
}

/** The outcome of a batch. */
export interface BatchOutcome {
  /** How many runs matched, up to the limit. */
  readonly matched: number
  readonly done: number
  /** The runs whose operation failed. `code` is that of the `PawlError`; other errors have their code or name. */
  readonly failures: readonly { readonly runId: string; readonly code: string }[]
}

/** What a batch needs from its client. @internal */
export interface BatchHost {
  list(
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<Page<{ readonly runId: string; readonly name: string }>>
  count(filter: RunFilter): Promise<number>
  get(runId: string): RunHandle<unknown>
}

/** All runs that match a filter, to operate on together. `engine.batch(filter, options)` makes one. */
export class Batch {
  readonly #host: BatchHost
  readonly #filter: RunFilter
  readonly #options: BatchOptions

  /** @internal */
  constructor(host: BatchHost, filter: RunFilter, options: BatchOptions) {
    checkOptions(batchOptions, options, { of: 'a batch' })
    if (options.limit === undefined)
      throw new PawlError('INPUT_INVALID', 'a batch has no `limit`; expected the maximum number of runs.')
    queryOf(filter)
    this.#host = host
    this.#filter = filter
    this.#options = options
  }

  /** How many runs that have not ended match, without the limit. */
  async count(): Promise<number> {
    const filter = this.#among(LIVE)
    const all = await this.#host.count(filter)
    return filter.workflow === undefined ? all - (await this.#host.count({ ...filter, workflow: SCHEDULE })) : all
  }

  /** Cancels every matching run that has not ended. */
  cancel(): Promise<BatchOutcome> {
    return this.#each(LIVE, (run) => run.cancel(this.#options.reason))
  }

  /** Terminates every matching run that has not ended. */
  terminate(): Promise<BatchOutcome> {
    const { reason = 'terminated in a batch' } = this.#options
    return this.#each(LIVE, (run) => run.terminate(reason))
  }

  /** Pauses every matching run that has not ended. */
  pause(): Promise<BatchOutcome> {
    return this.#each(LIVE, (run) => run.pause(this.#options.reason))
  }

  /** Resumes every matching run that is paused, unless the filter has a status. */
  resume(): Promise<BatchOutcome> {
    return this.#each(['paused'], (run) => run.resume())
  }

  /** Retries every matching run that failed or was cancelled, unless the filter has a status. */
  retry(): Promise<BatchOutcome> {
    return this.#each(['failed', 'cancelled'], (run) => run.retry())
  }

  /** Migrates every matching run that is paused, unless the filter has a status. */
  async migrate(to: Migration): Promise<BatchOutcome> {
    checkOptions(migrationOptions, to, { of: 'migrate' })
    return this.#each(['paused'], (run) => run.migrate(to))
  }

  /** Sends a signal to every matching run that has not ended. */
  async signal<Payload>(signal: Signal<Payload>, ...args: Args<NoInfer<Payload>, never>): Promise<BatchOutcome> {
    // Checked once, so that a wrong payload throws instead of failing for every run.
    await checkPayload(signal, args[0])
    return this.#each(LIVE, (run) => run.signal(signal, ...args))
  }

  // Lists the runs before the first operation, because an operation may change whether a run matches.
  async #each(among: readonly Status[], work: (run: RunHandle<unknown>) => Promise<void>): Promise<BatchOutcome> {
    const runIds = await this.#find(this.#among(among))
    const failures: { runId: string; code: string }[] = []
    const left = runIds.values()
    const lane = async (): Promise<void> => {
      for (const runId of left) {
        try {
          await work(this.#host.get(runId))
        } catch (error) {
          failures.push({ runId, code: codeOf(error) })
        }
      }
    }
    await Promise.all(Array.from({ length: limits.batchLanes }, lane))
    return { matched: runIds.length, done: runIds.length - failures.length, failures }
  }

  // An operation only considers runs in states it applies to, unless the filter names a status.
  #among(statuses: readonly Status[]): RunFilter {
    return { ...this.#filter, status: this.#filter.status ?? statuses }
  }

  // Schedules are runs, too, but a filter includes them only if it names their workflow.
  #isMeant({ name }: { readonly name: string }): boolean {
    return name !== SCHEDULE || this.#filter.workflow !== undefined
  }

  async #find(filter: RunFilter): Promise<string[]> {
    const { limit } = this.#options
    const found: string[] = []
    for (let cursor: string | undefined; found.length < limit; ) {
      const most = Math.min(limits.listPageMax, limit - found.length)
      const page = await this.#host.list(filter, defined({ limit: most, cursor }))
      found.push(...page.items.filter((run) => this.#isMeant(run)).map(({ runId }) => runId))
      cursor = page.cursor
      if (cursor === undefined) break
    }
    return found
  }
}

function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  return String(code ?? name ?? error)
}
