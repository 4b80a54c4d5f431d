// The operations of a handle, for every run that a filter finds.

import { checkOptions, type Described, text, whole } from '../base/described.ts'
import { PawlError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Signal } from '../definitions/context.ts'
import type { Args } from '../definitions/contract.ts'
import { checkPayload } from '../definitions/messages.ts'
import { SCHEDULE } from '../definitions/own-workflows.ts'
import type { Status } from '../kernel/run.ts'
import { type Page, queryOf, type RunFilter } from './filter.ts'
import { LIVE } from './recorded-runs.ts'
import { type Migration, migrationOptions, type RunHandle } from './run-handle.ts'

export const batchOptions = {
  /** At most this many runs; the rest is for another call. */
  limit: whole('At most this many runs; the rest is for another call.', [
    1,
    Number.MAX_SAFE_INTEGER,
  ]),
  reason: text('Why, for whoever reads the history.'),
} as const
/** How many runs a batch may touch. */
export interface BatchOptions extends Described<typeof batchOptions> {
  readonly limit: number
}

/** What came of a batch. */
export interface BatchOutcome {
  readonly matched: number
  readonly done: number
  /** What is no error of pawl's, as one of an interceptor, has its own code, or its name. */
  readonly failures: readonly { readonly runId: string; readonly code: string }[]
}

/** What a batch needs of its client. @internal */
export interface BatchHost {
  list(
    filter: RunFilter,
    page: { limit: number; cursor?: string },
  ): Promise<Page<{ readonly runId: string; readonly name: string }>>
  count(filter: RunFilter): Promise<number>
  get(runId: string): RunHandle<unknown>
}

/** What a filter finds, to be dealt with at once: made by `engine.batch`. */
export class Batch {
  readonly #host: BatchHost
  readonly #filter: RunFilter
  readonly #options: BatchOptions

  /** @internal */
  constructor(host: BatchHost, filter: RunFilter, options: BatchOptions) {
    checkOptions(batchOptions, options, { of: 'a batch' })
    if (options.limit === undefined)
      throw new PawlError('INPUT_INVALID', 'a batch has no `limit`: say how many runs at most.')
    queryOf(filter)
    this.#host = host
    this.#filter = filter
    this.#options = options
  }

  /** How many runs it would be about, without the limit. */
  async count(): Promise<number> {
    const filter = this.#among(LIVE)
    const all = await this.#host.count(filter)
    return filter.workflow === undefined
      ? all - (await this.#host.count({ ...filter, workflow: SCHEDULE }))
      : all
  }

  cancel(): Promise<BatchOutcome> {
    return this.#each(LIVE, (run) => run.cancel(this.#options.reason))
  }

  terminate(): Promise<BatchOutcome> {
    const { reason = 'terminated in a batch' } = this.#options
    return this.#each(LIVE, (run) => run.terminate(reason))
  }

  pause(): Promise<BatchOutcome> {
    return this.#each(LIVE, (run) => run.pause(this.#options.reason))
  }

  /** Of runs that are paused, unless the filter says otherwise. */
  resume(): Promise<BatchOutcome> {
    return this.#each(['paused'], (run) => run.resume())
  }

  /** Of runs that failed or were cancelled, unless the filter says otherwise. */
  retry(): Promise<BatchOutcome> {
    return this.#each(['failed', 'cancelled'], (run) => run.retry())
  }

  /** Of runs that are paused, unless the filter says otherwise. */
  async migrate(to: Migration): Promise<BatchOutcome> {
    checkOptions(migrationOptions, to, { of: 'migrate' })
    return this.#each(['paused'], (run) => run.migrate(to))
  }

  async signal<Payload>(
    signal: Signal<Payload>,
    ...args: Args<NoInfer<Payload>, never>
  ): Promise<BatchOutcome> {
    // What no run would be sent is refused as a whole.
    await checkPayload(signal, args[0])
    return this.#each(LIVE, (run) => run.signal(signal, ...args))
  }

  // Found first and then worked on: what is done to a run may change whether the filter finds it.
  async #each(
    among: readonly Status[],
    work: (run: RunHandle<unknown>) => Promise<void>,
  ): Promise<BatchOutcome> {
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

  // What an operation cannot be about is not looked for, unless somebody asked for it.
  #among(statuses: readonly Status[]): RunFilter {
    return { ...this.#filter, status: this.#filter.status ?? statuses }
  }

  // Schedules are runs, too; who says 'all runs' does not mean them.
  #isMeant({ name }: { readonly name: string }): boolean {
    return name !== SCHEDULE || this.#filter.workflow !== undefined
  }

  async #find(filter: RunFilter): Promise<string[]> {
    const { limit } = this.#options
    const found: string[] = []
    for (let cursor: string | undefined; found.length < limit; ) {
      const page = await this.#host.list(filter, {
        limit: Math.min(limits.listPageMax, limit - found.length),
        ...(cursor !== undefined && { cursor }),
      })
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
